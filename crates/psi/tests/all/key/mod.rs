//! An RSA key for all tests of a file, since each takes some tenths of a second to make.

#![allow(dead_code)] // Each file of tests uses some of this.

use std::sync::{Arc, LazyLock};

use rand::{SeedableRng, rngs::StdRng};
use vesica_primitives::rsa::Key;
use vesica_psi::{Parties, Protocol, protocols::blind_rsa};

static KEY: LazyLock<Arc<Key>> =
    LazyLock::new(|| Arc::new(Key::generate(&mut StdRng::seed_from_u64(1))));

/// The key.
pub fn key() -> Arc<Key> {
    KEY.clone()
}

/// The protocol, except that each sender has that key.
pub static BLIND_RSA: Protocol = Protocol {
    parties: Parties::Plain {
        sender: |setting, channel, _| {
            channel.phase("key");
            blind_rsa::sender_with(key(), setting, channel)
        },
        receiver: |setting, channel, rng| blind_rsa::PROTOCOL.receiver(setting, channel, rng),
    },
    ..blind_rsa::PROTOCOL
};
