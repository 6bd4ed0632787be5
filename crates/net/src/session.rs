//! The identifier of a session, which binds proofs and hashes to one connection.

use sha2::{Digest, Sha256};

/// The identifier of one session: a hash chain over everything on which both parties have agreed in it, in
/// order.
///
/// The default identifies a session in which nothing has been agreed yet. Both ends of a channel hold the same
/// identifier as long as they bind the same facts in the same order; protocols hash it into everything that a
/// third party could otherwise carry from one session into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// The identifier as bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Appends a fact that both parties know, under a label that separates it from others.
    pub(crate) fn bind(&mut self, label: &str, fact: &[u8]) {
        let mut hasher = Sha256::new();
        hasher.update(b"vesica session v1");
        hasher.update(self.0);
        hasher.update((label.len() as u64).to_le_bytes());
        hasher.update(label);
        hasher.update(fact);
        self.0 = hasher.finalize().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(facts: &[(&str, &[u8])]) -> SessionId {
        let mut id = SessionId::default();
        facts.iter().for_each(|(label, fact)| id.bind(label, fact));
        id
    }

    #[test]
    fn every_fact_its_label_and_the_order_count() {
        let id = bound(&[("terms", b"1"), ("sizes", b"2")]);
        assert_eq!(id, bound(&[("terms", b"1"), ("sizes", b"2")]));
        for other in [
            bound(&[]),
            bound(&[("terms", b"1")]),
            bound(&[("sizes", b"2"), ("terms", b"1")]),
            bound(&[("terms", b"1"), ("size", b"s2")]),
            bound(&[("terms", b"1"), ("sizes", b"3")]),
        ] {
            assert_ne!(id, other);
        }
    }
}
