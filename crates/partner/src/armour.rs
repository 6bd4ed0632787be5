//! Signed documents as text that survives mail and chat: PEM around the compressed envelope.

use std::io::Read;

use super::signed::{Document, LONGEST, Signed, SignedError};

/// Returns the document as lines of text between a first and a last line that name it.
pub(crate) fn wrap<D: Document>(label: &str, signed: &Signed<D>) -> String {
    const LEVEL: i32 = 19;
    let text = signed.to_json();
    // Compression into memory does not fail; uncompressed text is read as well.
    let packed = zstd::bulk::compress(text.as_bytes(), LEVEL).unwrap_or_default();
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(label, packed), config)
}

/// Returns whether a text has lines of such a document.
pub(crate) fn is_in(label: &str, text: &str) -> bool {
    text.contains(&format!("-----BEGIN {label}-----"))
}

/// Reads the document from a text that may have other words around it, and quotation marks before each line.
///
/// # Errors
/// As [`Signed::from_json`].
pub(crate) fn unwrap<D: Document>(label: &str, text: &str) -> Result<Signed<D>, SignedError> {
    let malformed = || SignedError::Malformed(D::NAME);
    if text.len() > 4 * LONGEST {
        return Err(malformed());
    }
    let lines = text.lines().map(|line| line.trim_start_matches(['>', ' ', '\t', '|']).trim_end());
    let unquoted = lines.collect::<Vec<_>>().join("\n");
    let found = pem::parse_many(unquoted).map_err(|_| malformed())?;
    let found = found.into_iter().find(|found| found.tag() == label).ok_or_else(malformed)?;
    let packed = zstd::Decoder::new(found.contents()).map_err(|_| malformed())?;
    let mut json = String::new();
    let most = LONGEST as u64 + 1;
    packed.take(most).read_to_string(&mut json).map_err(|_| malformed())?;
    Signed::from_json(&json)
}
