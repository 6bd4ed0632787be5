//! Elements of groups, scalars, and values under public keys, as received from the other side.

use vesica_primitives::{
    group::{Ffdhe3072, Ristretto, Scalars},
    paillier, rsa,
};

use crate::{Valid, bytes::Bytes};

/// An element is refused, or it is in the group and encodes to the bytes that were read.
pub fn group(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (name, is_read) = match bytes.byte() % 2 {
        0 => ("ristretto255", element::<Ristretto>(bytes)),
        _ => ("ffdhe3072", element::<Ffdhe3072>(bytes)),
    };
    valid.note_if(is_read, name);
}

/// Returns whether there was an element.
fn element<G: Scalars>(mut bytes: Bytes<'_>) -> bool {
    let mut encoded = <G::Encoded as bytemuck::Zeroable>::zeroed();
    fill(&mut bytes, bytemuck::bytes_of_mut(&mut encoded));
    let decoded = G::decode(&encoded);
    if let Some(element) = &decoded {
        assert!(G::encode(element) == encoded, "one element has one encoding");
        let nothing = G::sub(element, element);
        assert!(G::add(element, &nothing) == *element);
        let twice = G::add(element, element);
        assert!(G::decode(&G::encode(&twice)) == Some(twice), "a sum is an element");
    }
    let mut wide = <G::WideScalar as bytemuck::Zeroable>::zeroed();
    fill(&mut bytes, bytemuck::bytes_of_mut(&mut wide));
    let encoded = G::encode_scalar(&G::reduce(&wide));
    let short = bytemuck::bytes_of(&encoded);
    let mut again = <G::WideScalar as bytemuck::Zeroable>::zeroed();
    bytemuck::bytes_of_mut(&mut again)[..short.len()].copy_from_slice(short);
    let reduced = G::encode_scalar(&G::reduce(&again));
    assert_eq!(bytemuck::bytes_of(&reduced), short, "a scalar is reduced already");
    decoded.is_some()
}

/// A key of RSA or of Paillier, and a value under it, are refused, or they encode to the bytes that were read.
pub fn public_key(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (kind, mask) = (bytes.byte() % 2, bytes.byte());
    let mut modulus = [0; rsa::ENCODED];
    fill(&mut bytes, &mut modulus);
    // Give most inputs the length and the parity of a modulus.
    if mask != 0 {
        modulus[0] |= 0x80;
        modulus[rsa::ENCODED - 1] |= 1;
    }
    match kind {
        0 => rsa_values(bytes, &modulus, valid),
        _ => paillier_values(bytes, &modulus, valid),
    }
}

fn rsa_values(mut bytes: Bytes<'_>, modulus: &[u8; rsa::ENCODED], valid: &mut Valid) {
    let Some(key) = rsa::PublicKey::decode(modulus) else { return };
    assert_eq!(key.encode(), *modulus);
    let value = bytes.array();
    let Some(residue) = key.decode_residue(&value) else { return };
    assert_eq!(residue.encode(), value);
    valid.note("residue");
    if let Some(inverse) = key.invert(&residue) {
        let one = key.multiply(&residue, &inverse).encode();
        assert!(
            one[..rsa::ENCODED - 1].iter().all(|byte| *byte == 0) && one[rsa::ENCODED - 1] == 1
        );
    }
}

fn paillier_values(mut bytes: Bytes<'_>, modulus: &[u8; paillier::PLAIN], valid: &mut Valid) {
    let Some(key) = paillier::PublicKey::decode(modulus) else { return };
    assert_eq!(key.encode(), *modulus);
    let number = i64::from_le_bytes(bytes.array());
    assert_eq!(key.integer(&key.plain(number)), Some(number));
    let value = bytes.array();
    if let Some(plain) = key.decode_plain(&value) {
        assert_eq!(plain.encode(), value);
        valid.note("plaintext");
    }
    let value = bytes.array();
    let Some(ciphertext) = key.decode_ciphertext(&value) else { return };
    assert_eq!(ciphertext.encode(), value);
    valid.note("ciphertext");
}

fn fill(bytes: &mut Bytes<'_>, to: &mut [u8]) {
    let from = bytes.take(to.len());
    to[..from.len()].copy_from_slice(from);
}
