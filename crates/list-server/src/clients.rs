//! Clients, identified by token or by address.

use std::{collections::HashMap, fs, io, net::IpAddr, path::Path};

use hyper::{HeaderMap, header::AUTHORIZATION};
use sha2::{Digest, Sha256};

/// A client, as identified for limits and the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// The number of its line in the file of tokens.
    Named(u32),
    /// An IPv4 address, or the first 64 bits of an IPv6 address, which providers assign to one customer.
    Address([u8; 8]),
}

impl Client {
    /// Returns the client at an address.
    pub(crate) fn at(address: IpAddr) -> Self {
        let mut bytes = [0; 8];
        match address.to_canonical() {
            IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes.copy_from_slice(&address.octets()[..8]),
        }
        // No assigned IPv6 prefix begins like this, because 0000::/8 is reserved.
        if matches!(address.to_canonical(), IpAddr::V4(_)) {
            bytes.rotate_right(4);
        }
        Self::Address(bytes)
    }
}

/// The SHA-256 hashes of the clients' tokens. An empty set admits nobody.
#[derive(Debug, Clone)]
pub struct Tokens(HashMap<[u8; 32], u32>);

/// The reason why a file of tokens cannot be used.
#[derive(Debug)]
pub enum ClientsError {
    /// The file cannot be read.
    Read(io::Error),
    /// A line, counted from 1, does not consist of a name, a blank, and the SHA-256 of a token in hexadecimal digits.
    Line(usize),
}

impl std::fmt::Display for ClientsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(error) => write!(f, "the file of clients cannot be read: {error}"),
            Self::Line(line) => write!(
                f,
                "line {line} of the file of clients is not a name, a blank and the SHA-256 of a token in 64 small \
                 hexadecimal digits"
            ),
        }
    }
}

impl Tokens {
    /// Reads a file with one line for each client: a name and the SHA-256 of its token. Lines that begin with # are
    /// comments.
    ///
    /// # Errors
    /// Any [`ClientsError`].
    pub fn read(path: &Path) -> Result<Self, ClientsError> {
        let text = fs::read_to_string(path).map_err(ClientsError::Read)?;
        let mut tokens = HashMap::new();
        for (nth, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let hash = line.split_once(' ').and_then(|(name, hash)| {
                let hash = vesica_list::hex::Hex::try_from(hash.trim().to_owned()).ok()?;
                (!name.is_empty()).then_some(hash)
            });
            tokens.insert(hash.ok_or(ClientsError::Line(nth))?.0, nth as u32);
        }
        Ok(Self(tokens))
    }

    /// Returns the client whose token a request contains. It compares hashes, so its running time reveals nothing about
    /// a token.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Option<Client> {
        let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.0.get(&hash).map(|nth| Client::Named(*nth))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn an_address_of_one_kind_is_none_of_the_other() {
        let v4 = Client::at(Ipv4Addr::new(1, 2, 3, 4).into());
        assert_eq!(v4, Client::at(Ipv4Addr::new(1, 2, 3, 4).to_ipv6_mapped().into()));
        assert_ne!(v4, Client::at(Ipv4Addr::new(1, 2, 3, 5).into()));
        let v6 = |last| Client::at(Ipv6Addr::new(0x2001, 2, 3, last, 5, 6, 7, 8).into());
        assert_eq!(v6(4), Client::at(Ipv6Addr::new(0x2001, 2, 3, 4, 0, 0, 0, 1).into()));
        assert_ne!(v6(4), v6(5));
    }
}
