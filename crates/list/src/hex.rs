//! Hashes and keys in text.

use serde::{Deserialize, Serialize};

/// 256 bits, encoded as hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex(pub [u8; 32]);

impl From<Hex> for String {
    fn from(hex: Hex) -> Self {
        hex.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from(*self))
    }
}

impl TryFrom<String> for Hex {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err("not 64 hexadecimal digits");
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = digit(*high).zip(digit(*low)).ok_or("not hexadecimal digits")?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}
