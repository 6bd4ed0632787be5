//! Exit codes, and which error has which.

use vesica::{Class, Shortfall, spec};

/// The meaning of each code, for `--help`.
pub const CODES: &str = "\
Exit codes:
    0  success: the results of both sides are in place
    2  usage: the options contradict each other, or request something unsupported
    3  input: a file of this side cannot be read, understood or written
    4  network: the other side cannot be reached, has another identity, was lost, or stopped
    5  terms: the two sides do not agree on what to run
    6  peer: the other side broke the protocol
    7  unconfirmed: this side's result is complete and in place, but its report could not be
       written, or the other side did not confirm that its own result is in place
    8  policy: a policy of either side refuses the run or its result
    9  too few: fewer keys are shared than the minimum, so there is no result
   70  bug: a defect of this program
  130  stopped on request, by Ctrl-C or SIGTERM; the other side was informed
With any other code than 0 and 7, no output file was written or changed; the report (--report) says what
happened.";

pub const USAGE: u8 = 2;
pub const INPUT: u8 = 3;
pub const NETWORK: u8 = 4;
pub const TERMS: u8 = 5;
pub const PEER: u8 = 6;
pub const UNCONFIRMED: u8 = 7;
pub const POLICY: u8 = 8;
pub const TOO_FEW: u8 = 9;
pub const BUG: u8 = 70;
pub const CANCELLED: u8 = 130;

/// The reason why the program ends, in words and as a code.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
    /// A next step for the user, in a line of its own.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    pub fn input(message: impl Into<String>) -> Self {
        Self::new(INPUT, message)
    }

    pub fn unconfirmed(shortfalls: &[Shortfall]) -> Self {
        let all: Vec<_> = shortfalls.iter().map(ToString::to_string).collect();
        Self::new(UNCONFIRMED, all.join("; "))
    }

    /// Returns the failure of a run that succeeds without an answer. Its report and record say so too.
    pub fn too_few() -> Self {
        let message = "no answer: there are fewer matches than the minimum".to_owned();
        Self::new(TOO_FEW, message)
    }

    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(BUG, message)
    }

    /// Returns whose fault it is.
    pub fn class(&self) -> Class {
        match self.code {
            USAGE => Class::Usage,
            INPUT => Class::Input,
            NETWORK => Class::Network,
            TERMS => Class::Terms,
            PEER => Class::Peer,
            POLICY | TOO_FEW => Class::Policy,
            CANCELLED => Class::Cancelled,
            _ => Class::Bug,
        }
    }

    /// Returns the failure of a command whose question was answered with no.
    pub fn declined() -> Self {
        Self::new(CANCELLED, "declined; nothing was written")
    }

    pub fn cancelled() -> Self {
        Self::new(CANCELLED, "stopped on request")
    }
}

impl From<vesica::Error> for Failure {
    fn from(error: vesica::Error) -> Self {
        let code = match error.class() {
            _ if error.is_too_few() => TOO_FEW,
            Class::Usage => USAGE,
            Class::Input => INPUT,
            Class::Network => NETWORK,
            Class::Terms => TERMS,
            Class::Peer => PEER,
            Class::Policy => POLICY,
            Class::Cancelled => CANCELLED,
            Class::Bug => BUG,
        };
        Self::new(code, error.to_string())
    }
}

impl From<spec::Fault> for Failure {
    fn from(fault: spec::Fault) -> Self {
        Self::usage(fault.to_string())
    }
}

impl From<spec::Error> for Failure {
    fn from(error: spec::Error) -> Self {
        match error {
            spec::Error::Run(error) => error.into(),
            error if error.class() == Class::Input => Self::input(error.to_string()),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<vesica_net::Error> for Failure {
    fn from(error: vesica_net::Error) -> Self {
        vesica::Error::from(error).into()
    }
}
