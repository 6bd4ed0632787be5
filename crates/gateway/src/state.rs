//! The state of a gateway's cluster.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use vesica_core::error::Class;
use vesica_net::{Fingerprint, connect::Connection};
use vesica_run::{
    permits::{Prepared, Slots},
    standing::Standing,
};

use super::message::{Counted, TICKET, Work};

/// The messages of the driver and the tasks, and the progress of the run.
#[derive(Default)]
pub(super) struct State {
    pub(super) counted: Option<Counted>,
    pub(super) work: Option<Work>,
    pub(super) slots: Option<Arc<Slots>>,
    /// The limits of the run.
    pub(super) standing: Option<Standing>,
    /// Whether all partitions are done.
    pub(super) compared: bool,
    /// Whether the driver has stored all results.
    pub(super) staged: bool,
    /// The time of the driver's last request.
    pub(super) heard: Option<Instant>,
    /// The partitions assigned to slots.
    pub(super) assigned: BTreeMap<u32, u32>,
    pub(super) tasks: BTreeMap<u32, Task>,
    pub(super) tickets: BTreeMap<[u8; TICKET], Connection>,
    /// The reason why the cluster cannot continue.
    pub(super) stopped: Option<String>,
    /// The end of the run, and whether the driver knows it.
    pub(super) ended: Option<(End, bool)>,
}

/// The end of a run.
pub(super) enum End {
    Succeeded { report: String, record: Option<String>, shortfalls: Vec<String> },
    Failed { class: Class, reason: String, report: String },
}

/// The task that is ready for a partition, or that compares it.
pub(super) struct Task {
    pub(super) prepared: Prepared,
    pub(super) asked: Instant,
    pub(super) begun: Option<(u8, Fingerprint, [u8; TICKET])>,
    /// Whether its attempt is being relayed.
    pub(super) joined: bool,
    /// Whether it may send the message from which the other side learns.
    pub(super) reveals: bool,
    pub(super) found: bool,
}
