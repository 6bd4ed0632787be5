//! Communication between two parties: one [`Channel`] over any [`Transport`].
//!
//! A protocol above this crate is a straight-line program that sends and receives labelled messages on a [`Channel`].
//! The channel exposes the mistakes of such programs. A receive flushes all earlier messages, so a forgotten flush
//! cannot hang. [`Channel::exchange`] moves both directions at once, so two large writes cannot block each other. Every
//! message carries the label of its step, so a confused peer causes an error that names both steps. A length from the
//! peer is checked against a bound before anything is allocated. A peer that falls silent is abandoned after a stall
//! timeout. A party that stops can give its reason, and the other receives it even in the middle of a message. Bytes,
//! flights and seconds are metered by named phase.
//!
//! [`connect`] lets the two parties find each other: one dials and the other listens, or both use a directory.
//!
//! The transports: [`transport::tcp`]; [`transport::tls`] over any other transport, with both parties
//! authenticated by an [`Identity`] of their own and the [`Fingerprint`] of the other's; [`transport::files`]
//! for parties who can only exchange files; [`transport::memory`] within one process; and
//! [`transport::shaper`], which gives any of them a bandwidth and a round-trip time.
//!
//! **Must never import** any other crate of the project: this crate contains no cryptography except TLS, and
//! knows nothing about the meaning of messages.

pub mod cancel;
mod certificate;
pub mod channel;
pub mod clock;
pub mod connect;
mod early;
pub mod error;
mod exchange;
mod gate;
pub mod identity;
pub mod mesh;
pub mod meter;
mod pace;
mod patience;
pub mod phase;
mod places;
pub mod relay;
mod session;
pub mod transport;
mod turns;
mod watch;

pub use cancel::CancelToken;
pub use certificate::Certificate;
pub use channel::Channel;
pub use clock::Clock;
pub use error::{AbortReason, Deviation, Error, Result};
pub use gate::Gate;
pub use identity::{Fingerprint, FingerprintError, Identity, IdentityError};
pub use mesh::{Mesh, PartialMesh};
pub use meter::{Meter, Phase};
pub use pace::Pace;
pub use patience::Patience;
pub use session::SessionId;
pub use transport::{
    Transport,
    files::{self, Files},
    memory,
    proxy::Proxy,
    shaper::{self, Link, Shaped},
    tcp::{self, Tcp},
    tls::{self, Tls},
};
pub use turns::{Turn, Turns};
pub use watch::Activity;
