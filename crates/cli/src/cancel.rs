//! Ctrl-C and SIGTERM: the first asks the run to end in order, the second ends it.

use vesica_net::CancelToken;

use crate::exit::{CANCELLED, Failure};

/// A token that is cancelled when the user or the system asks this process to stop.
pub fn on_signal() -> Result<CancelToken, Failure> {
    let token = CancelToken::default();
    let asked = token.clone();
    let handler = move || {
        if asked.is_cancelled() {
            std::process::exit(CANCELLED.into());
        }
        asked.cancel();
    };
    ctrlc::set_handler(handler).map_err(|_| Failure::bug("signals cannot be handled"))?;
    Ok(token)
}
