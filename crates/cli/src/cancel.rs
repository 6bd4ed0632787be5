//! Ctrl-C and SIGTERM: the first asks the program to end in order, and ends it if that takes too long; the second
//! ends it at once.

use std::{process, thread, time::Duration};

use vesica_net::CancelToken;

use crate::exit::{CANCELLED, Failure};

/// The time in which the program must end in order. Code that waits for the other side or computes looks at the token
/// more often than that; a system call that does not return, for example on a file system that is gone, must not keep
/// the program running forever.
const ENDING: Duration = Duration::from_secs(10);

/// Returns a token that is cancelled when the user or the system asks this process to stop.
pub fn on_signal() -> Result<CancelToken, Failure> {
    on_signal_within(Duration::ZERO)
}

/// Returns such a token for a program that gives its own work this long to end.
pub fn on_signal_within(grace: Duration) -> Result<CancelToken, Failure> {
    ends_within(grace.saturating_add(ENDING))
}

fn ends_within(ending: Duration) -> Result<CancelToken, Failure> {
    let token = CancelToken::default();
    let asked = token.clone();
    let handler = move || {
        if asked.is_cancelled() {
            process::exit(CANCELLED.into());
        }
        asked.cancel();
        // Not on this thread, which hears the second signal.
        let watchdog = thread::Builder::new().name("vesica-ending".to_owned()).spawn(move || {
            thread::sleep(ending);
            process::exit(CANCELLED.into());
        });
        if watchdog.is_err() {
            process::exit(CANCELLED.into());
        }
    };
    ctrlc::set_handler(handler).map_err(|_| Failure::bug("signals cannot be handled"))?;
    Ok(token)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        fs,
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    use super::*;

    const PIPE: &str = "VESICA_TEST_PIPE";

    /// Blocks, in the process that the next test starts.
    #[test]
    #[ignore = "started by one_signal_ends_a_program_that_is_blocked: it never ends"]
    fn blocked_until_it_is_ended() {
        ends_within(Duration::ZERO).unwrap();
        println!("ready");
        // Nobody ever writes into it, and a signal does not end the wait.
        let _ = fs::File::open(std::env::var_os(PIPE).unwrap());
    }

    #[test]
    fn one_signal_ends_a_program_that_is_blocked() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let arguments =
            ["--ignored", "--exact", "--nocapture", "cancel::tests::blocked_until_it_is_ended"];
        let mut started = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .env(PIPE, &pipe)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(started.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("ready")));
        let process = started.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &process]).status().unwrap().success());
        assert_eq!(started.wait().unwrap().code(), Some(CANCELLED.into()));
    }
}
