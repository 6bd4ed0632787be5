//! The address of a client behind a proxy.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;

use crate::refused::Refused;

/// Returns the client's address that a proxy forwards: the last address of the last field, which the proxy added. The
/// client may have invented all others. An address may include a port, and an IPv6 address may be in brackets.
///
/// Returns `None` without such a field.
///
/// # Errors
/// [`Refused::Forwarded`] if the field does not end with an address.
pub(crate) fn forwarded(headers: &HeaderMap) -> Result<Option<IpAddr>, Refused> {
    let Some(field) = headers.get_all("x-forwarded-for").iter().next_back() else {
        return Ok(None);
    };
    let last = field.to_str().ok().and_then(|field| field.rsplit(',').next()).map(str::trim);
    let address = |text: &str| {
        let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
        let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
        text.parse().ok().or_else(with_port).or_else(bare)
    };
    last.and_then(address).map(Some).ok_or(Refused::Forwarded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_says_last_for_whom_it_asks() {
        let four: IpAddr = [203, 0, 113, 7].into();
        let six: IpAddr = "2001:db8::7".parse().unwrap();
        for (fields, expected) in [
            (&[][..], Ok(None)),
            (&["203.0.113.7"], Ok(Some(four))),
            (&["10.0.0.1, 203.0.113.7"], Ok(Some(four))),
            // A proxy that adds its own field keeps the client's before it.
            (&["10.0.0.1", "203.0.113.7"], Ok(Some(four))),
            (&["10.0.0.1, 10.0.0.2", "10.0.0.3,\t203.0.113.7 "], Ok(Some(four))),
            (&["203.0.113.7:40312"], Ok(Some(four))),
            (&["2001:db8::7"], Ok(Some(six))),
            (&["[2001:db8::7]"], Ok(Some(six))),
            (&["[2001:db8::7]:40312"], Ok(Some(six))),
            (&["unknown"], Err(Refused::Forwarded)),
            (&["203.0.113.7", ""], Err(Refused::Forwarded)),
            (&["203.0.113.7,"], Err(Refused::Forwarded)),
            (&["203.0.113.7:"], Err(Refused::Forwarded)),
            (&["203.0.113.7:65536"], Err(Refused::Forwarded)),
            (&["[203.0.113.7]"], Err(Refused::Forwarded)),
            (&["[2001:db8::7"], Err(Refused::Forwarded)),
            (&["203.0.113.7 for you"], Err(Refused::Forwarded)),
        ] {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append("x-forwarded-for", field.parse().unwrap());
            }
            assert_eq!(forwarded(&headers), expected, "{fields:?}");
        }
    }
}
