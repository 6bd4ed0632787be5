//! Dialling out through a proxy: HTTP's CONNECT (RFC 9110, section 9.3.6) and SOCKS5 (RFC 1928, with RFC 1929 for names
//! and passwords). Names of hosts are resolved by the proxy.
//!
//! Implemented here, because each takes a dozen bytes each way, and every step must obey the same deadline and
//! cancellation as the rest of dialling.

use std::{
    fmt,
    io::{self, Read, Write},
    str::FromStr,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{is_blocked, tcp::Tcp};
use crate::{CancelToken, Error, Result, meter::CONNECT};

/// The longest answer of an HTTP proxy that is read, in bytes.
const LONGEST: usize = 1 << 13;

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: Kind,
    address: String,
    login: Option<(String, Zeroizing<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

/// Shows neither name nor password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({:?}, {})", self.kind, self.address)
    }
}

impl FromStr for Proxy {
    type Err = &'static str;

    /// Reads `http://HOST:PORT` or `socks5://HOST:PORT`, with `NAME:PASSWORD@` before the host if the proxy requires a
    /// login.
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const FORMS: &str = "a proxy is http://HOST:PORT or socks5://HOST:PORT, with NAME:PASSWORD@ before the host \
            if it requires a login";
        let (scheme, rest) = text.split_once("://").ok_or(FORMS)?;
        let kind = match scheme {
            "http" => Kind::Http,
            "socks5" | "socks5h" => Kind::Socks5,
            _ => return Err(FORMS),
        };
        let (login, address) = match rest.rsplit_once('@') {
            Some((login, address)) => (Some(login), address),
            None => (None, rest),
        };
        let login = match login.map(|login| login.split_once(':').ok_or(FORMS)).transpose()? {
            Some((name, password))
                if name.len() > 255 || password.len() > 255 || name.is_empty() =>
            {
                return Err(FORMS);
            }
            login => login.map(|(name, word)| (name.to_owned(), Zeroizing::new(word.to_owned()))),
        };
        let address = address.trim_end_matches('/');
        let is_one = address.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !is_one || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(FORMS);
        }
        Ok(Self { kind, address: address.to_owned(), login })
    }
}

impl Proxy {
    /// Returns its address.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Asks the connected proxy for a connection to `address`.
    ///
    /// # Errors
    /// [`Error::Proxy`] with its reason, and errors of a connection.
    pub(crate) fn ask(
        &self,
        tcp: &mut Tcp,
        address: &str,
        patience: Duration,
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut steps = Steps { tcp, until: Instant::now() + patience, patience, cancel };
        let asked = match self.kind {
            Kind::Http => self.connect(&mut steps, address),
            Kind::Socks5 => self.socks5(&mut steps, address),
        };
        asked?.map_err(|why| Error::Proxy { address: self.address.clone(), why })
    }

    fn connect(
        &self,
        steps: &mut Steps<'_>,
        address: &str,
    ) -> Result<std::result::Result<(), String>> {
        let login = self.login.as_ref().map(|(name, password)| {
            let login = Zeroizing::new(format!("{name}:{}", **password));
            let login = Zeroizing::new(STANDARD.encode(login.as_bytes()));
            Zeroizing::new(format!("Proxy-Authorization: Basic {}\r\n", *login))
        });
        let login = login.as_ref().map_or("", |login| login.as_str());
        let request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{login}\r\n");
        steps.write(Zeroizing::new(request).as_bytes())?;
        let mut answer = Vec::new();
        // Byte by byte: the bytes after the answer are not the proxy's.
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            steps.read(&mut byte)?;
            answer.push(byte[0]);
            if answer.len() > LONGEST {
                return Ok(Err("it does not speak HTTP".to_owned()));
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        Ok(match status.and_then(|status| status.parse::<u16>().ok()) {
            Some(200..=299) => Ok(()),
            Some(407) => Err("it asks for a name and a password (407)".to_owned()),
            Some(status) => Err(format!("it refuses to connect to {address} (status {status})")),
            None => Err("it does not speak HTTP".to_owned()),
        })
    }

    fn socks5(
        &self,
        steps: &mut Steps<'_>,
        address: &str,
    ) -> Result<std::result::Result<(), String>> {
        const NO_LOGIN: u8 = 0;
        const LOGIN: u8 = 2;
        let other = || Ok(Err("it does not speak SOCKS5".to_owned()));
        let methods: &[u8] = if self.login.is_some() { &[NO_LOGIN, LOGIN] } else { &[NO_LOGIN] };
        steps.write(&[&[5, methods.len() as u8], methods].concat())?;
        let mut chosen = [0; 2];
        steps.read(&mut chosen)?;
        match (chosen, &self.login) {
            ([5, NO_LOGIN], _) => {}
            ([5, LOGIN], Some((name, password))) => {
                let (name, password) = (name.as_bytes(), password.as_bytes());
                let login =
                    [&[1, name.len() as u8], name, &[password.len() as u8], password].concat();
                steps.write(&Zeroizing::new(login))?;
                let mut accepted = [0; 2];
                steps.read(&mut accepted)?;
                if accepted[1] != 0 {
                    return Ok(Err("it does not accept the name and the password".to_owned()));
                }
            }
            ([5, _], _) => return Ok(Err("it asks for a name and a password".to_owned())),
            _ => return other(),
        }
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let host = host.trim_matches(['[', ']']);
        let (Ok(len), Ok(port)) = (u8::try_from(host.len()), port.parse::<u16>()) else {
            return Ok(Err(format!("{address} is not a host and a port")));
        };
        steps.write(&[&[5, 1, 0, 3, len], host.as_bytes(), &port.to_be_bytes()].concat())?;
        let mut head = [0; 4];
        steps.read(&mut head)?;
        if head[0] != 5 {
            return other();
        }
        if head[1] != 0 {
            const REASONS: [&str; 8] = [
                "it failed",
                "its rules do not allow it",
                "the network is unreachable",
                "the host is unreachable",
                "the connection was refused",
                "the time to live expired",
                "it does not support connections",
                "it does not support this kind of address",
            ];
            let reason = REASONS.get(usize::from(head[1]) - 1).unwrap_or(&"for an unknown reason");
            return Ok(Err(format!("it did not connect to {address}: {reason}")));
        }
        let rest = match head[3] {
            1 => 4,
            4 => 16,
            3 => {
                let mut len = [0];
                steps.read(&mut len)?;
                usize::from(len[0])
            }
            _ => return other(),
        };
        steps.read(&mut vec![0; rest + 2])?;
        Ok(Ok(()))
    }
}

/// Reads and writes within a time.
struct Steps<'a> {
    tcp: &'a mut Tcp,
    until: Instant,
    patience: Duration,
    cancel: &'a CancelToken,
}

impl Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            done += self.step(|tcp| tcp.write(&bytes[done..]))?;
        }
        Ok(())
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < buf.len() {
            done += self.step(|tcp| tcp.read(&mut buf[done..]))?;
        }
        Ok(())
    }

    fn step(&mut self, mut move_some: impl FnMut(&mut Tcp) -> io::Result<usize>) -> Result<usize> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: CONNECT });
            }
            match move_some(self.tcp) {
                Ok(0) => return Err(Error::Closed { phase: CONNECT }),
                Ok(moved) => return Ok(moved),
                Err(error) if !is_blocked(&error) => return Err(Error::from_io(error, CONNECT)),
                Err(_) if Instant::now() < self.until => {}
                Err(_) => return Err(Error::Stalled { phase: CONNECT, after: self.patience }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        thread,
    };

    use super::*;
    use crate::transport::tcp;

    #[test]
    fn proxies_by_table() {
        for text in ["http://p.example:3128", "socks5://p:1080/", "http://me:se:cret@[::1]:8080"] {
            let proxy: Proxy = text.parse().unwrap();
            assert!(!format!("{proxy:?}").contains("cret"), "{proxy:?}");
        }
        for text in [
            "p:1",
            "ftp://p:1",
            "http://p",
            "http://:1",
            "http://p:0",
            "http://me@p:1",
            "http://p:1 x:1",
        ] {
            assert!(text.parse::<Proxy>().is_err(), "{text}");
        }
    }

    /// Starts a proxy that expects these requests and sends these answers, one after the other.
    fn script(steps: Vec<(Vec<u8>, Vec<u8>)>) -> (String, thread::JoinHandle<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let proxy = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for (expected, answer) in steps {
                let mut asked = vec![0; expected.len()];
                stream.read_exact(&mut asked).unwrap();
                assert_eq!(asked, expected);
                stream.write_all(&answer).unwrap();
            }
            stream
        });
        (address, proxy)
    }

    fn asked(kind: &str, steps: Vec<(Vec<u8>, Vec<u8>)>) -> std::result::Result<Vec<u8>, String> {
        let (address, there) = script(steps);
        let (scheme, login) = kind.split_once(' ').unwrap_or((kind, ""));
        let proxy: Proxy = format!("{scheme}://{login}{address}").parse().unwrap();
        let (patience, cancel) = (Duration::from_secs(10), CancelToken::default());
        let mut tcp = tcp::attempt(proxy.address(), patience, &cancel).unwrap();
        proxy.ask(&mut tcp, "b.example:7788", patience, &cancel).map_err(|e| e.to_string())?;
        there.join().unwrap().write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        Steps { tcp: &mut tcp, until: Instant::now() + patience, patience, cancel: &cancel }
            .read(&mut heard)
            .unwrap();
        Ok(heard.to_vec())
    }

    #[test]
    fn connections_are_asked_for_as_the_standards_say() {
        let request = "CONNECT b.example:7788 HTTP/1.1\r\nHost: b.example:7788\r\n";
        let plain = format!("{request}\r\n").into_bytes();
        let ok = b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\n".to_vec();
        assert_eq!(asked("http", vec![(plain.clone(), ok.clone())]).unwrap(), b"hello");
        let login = format!("{request}Proxy-Authorization: Basic bWU6cHc=\r\n\r\n").into_bytes();
        assert_eq!(asked("http me:pw@", vec![(login, ok)]).unwrap(), b"hello");
        for (answer, said) in [
            ("HTTP/1.1 407 x\r\n\r\n", "asks for a name and a password"),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "status 403"),
            ("SSH-2.0\r\n\r\n", "does not speak HTTP"),
        ] {
            let error = asked("http", vec![(plain.clone(), answer.into())]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }

        let target = [&[5, 1, 0, 3, 9][..], b"b.example", &7788u16.to_be_bytes()].concat();
        let done = vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let free = (vec![5, 1, 0], vec![5, 0]);
        let steps = vec![free.clone(), (target.clone(), done.clone())];
        assert_eq!(asked("socks5", steps).unwrap(), b"hello");
        let login = (b"\x01\x02me\x02pw".to_vec(), vec![1, 0]);
        let named = vec![5, 0, 0, 3, 1, b'x', 0, 0];
        let steps = vec![(vec![5, 2, 0, 2], vec![5, 2]), login, (target.clone(), named)];
        assert_eq!(asked("socks5 me:pw@", steps).unwrap(), b"hello");
        for (steps, said) in [
            (vec![(vec![5, 1, 0], vec![5, 0xff])], "asks for a name"),
            (vec![(vec![5, 1, 0], vec![4, 0])], "does not speak SOCKS5"),
            (vec![free, (target, vec![5, 5, 0, 1])], "the connection was refused"),
        ] {
            let error = asked("socks5", steps).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
