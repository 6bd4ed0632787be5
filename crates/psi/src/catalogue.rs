//! The list of all protocols. The command line, documents, planner and lab are generated from it.

use crate::{
    Protocol, circuit_psi,
    protocols::{
        blind_rsa, cm20, dcw13, dh, hl08, kkrt16, naive, prty19, prty20, pssz15, psz14, rr16, rr17,
        rr22, rs21, scs,
    },
};

/// All protocols.
pub static CATALOGUE: &[&Protocol] = &[
    &blind_rsa::PROTOCOL,
    &cm20::SEMI_HONEST,
    &cm20::MALICIOUS_SENDER,
    &dcw13::PROTOCOL,
    &dh::UNBLINDING,
    &dh::CLASSIC,
    &dh::FINITE_FIELD,
    &hl08::RISTRETTO,
    &hl08::FINITE_FIELD,
    &kkrt16::PROTOCOL,
    &naive::PROTOCOL,
    &prty19::FAST,
    &prty19::LOW,
    &prty20::CLUSTERED,
    &prty20::MALICIOUS,
    &prty20::MALICIOUS_WITH_PAXOS,
    &prty20::WITH_PAXOS,
    &pssz15::PROTOCOL,
    &circuit_psi::psty19::PROTOCOL,
    &psz14::CUCKOO,
    &psz14::BALANCED,
    &psz14::gbf::PUBLISHED,
    &psz14::gbf::LIANG,
    &psz14::NONE,
    &psz14::SIMPLE,
    &rr16::PROTOCOL,
    &rr17::DUAL_EXECUTION,
    &rr17::ENCODE_COMMIT,
    &rr22::FAST,
    &rr22::LOW,
    &rr22::MALICIOUS,
    &rr22::MALICIOUS_LOW,
    &rs21::SEMI_HONEST,
    &circuit_psi::rs21::SILENT,
    &circuit_psi::rs21::IKNP,
    &rs21::LOW,
    &rs21::MALICIOUS,
    &scs::GMW,
    &scs::GMW_VECTOR,
    &scs::YAO,
];

/// The protocol with this key.
pub fn find(key: &str) -> Option<&'static Protocol> {
    CATALOGUE.iter().copied().find(|protocol| protocol.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, MAX_ITEMS, Sizes};

    fn limit(key: &str, sender: usize, receiver: usize) -> Option<Limit> {
        let protocol = find(key).expect("of the catalogue");
        (protocol.limits)(Sizes { sender, receiver }).err()
    }

    #[test]
    fn unsupported_sizes_are_refused_with_the_limit() {
        for (key, within, beyond, said) in [
            ("dcw13", [(1 << 24) - 1, 1], [1 << 24, 1], "16777216 items of both sets together"),
            ("psz14-none", [1 << 13, 1 << 13], [9000, 9000], "7456 items of the sender beside"),
            (
                "psz14-gbf",
                [MAX_ITEMS, 1 << 24],
                [1, (1 << 24) + 1],
                "16777216 items of the receiver",
            ),
            ("rr16", [MAX_ITEMS, 1 << 20], [1, (1 << 20) + 1], "1048576 items of the receiver"),
            ("rr22", [MAX_ITEMS; 2], [MAX_ITEMS + 1, 1], "268435456 items of the sender"),
        ] {
            assert_eq!(limit(key, within[0], within[1]), None, "{key}");
            let message = limit(key, beyond[0], beyond[1]).expect("beyond it").to_string();
            assert!(message.contains(said), "{key}: {message}");
        }
    }

    /// Both parties compute predictions before they know whether the sizes are supported.
    #[test]
    fn predictions_of_the_largest_sizes_are_numbers() {
        for protocol in CATALOGUE {
            for (sender, receiver) in [(MAX_ITEMS, MAX_ITEMS), (1, MAX_ITEMS), (MAX_ITEMS, 1)] {
                let sizes = Sizes { sender, receiver };
                if (protocol.limits)(sizes).is_ok() {
                    let bytes = protocol.cost(sizes).bytes();
                    assert!(bytes.is_finite() && bytes > 0.0, "{}", protocol.key);
                }
                let memory = protocol.memory(sizes);
                assert!(memory.most().is_finite(), "{}", protocol.key);
                assert!(memory.sender > 16.0 * sender as f64, "{}", protocol.key);
                assert!(memory.receiver > 16.0 * receiver as f64, "{}", protocol.key);
            }
        }
    }
}
