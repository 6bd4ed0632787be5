//! How a run shows that it gets on.

/// Is shown what a run is doing. Every method may be called from another thread than the run's, and
/// should return quickly.
pub trait Observer: Send + Sync {
    /// A phase begins.
    fn phase(&self, _name: &'static str) {}

    /// So many rows have been read.
    fn rows(&self, _read: u64) {}

    /// Something the user should know; the run goes on.
    fn warning(&self, _text: &str) {}
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
