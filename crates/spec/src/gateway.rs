//! The specification of a gateway for a cluster.

use std::time::Duration;

use crate::{
    form::basic::{Amount, File, Maybe, Seconds, Text, Word},
    job::{Connection, Limits, Messages, Parties, Resources, Table},
    options::{options, sections},
    selection::selection,
    service::LogForm,
};

sections! {
    /// This party's side of a run whose partitions a cluster compares, as `vesica gateway` takes it.
    pub struct Gateway {
        /// The parties, and the agreement between them.
        parties: GatewayParties,
        /// The cluster.
        cluster: Cluster,
        /// The way to the other side.
        connection: GatewayConnection,
        /// The time to wait for the other side.
        patience: GatewayPatience,
        /// This side's table.
        table: ClusterTable,
        /// This side's own limits.
        limits: Limits,
        /// The partitions.
        resources: ClusterPartitions,
        /// The report.
        report: GatewayReport,
        /// The log.
        log: ServiceLog,
    }
}

selection! {
    /// The parties of a gateway's run, and the agreement between them.
    pub struct GatewayParties of Parties { "identity", "agreement", "ledger", "record" }
}

options! {
    /// The cluster of this side.
    pub struct Cluster in "Cluster" {
        /// Listen for this side's cluster at this address, as in 0.0.0.0:7790.
        "ADDR" cluster: Maybe<Text> = None;
        /// The file of the token that admits the cluster.
        ///
        /// It is created if it does not exist. Anyone who has the token can take part in the run for this side.
        "FILE" token: Maybe<File> = None;
        /// Note in this file how far the run is.
        ///
        /// After an interruption the same command continues the run. The file is encrypted for this identity, and
        /// removed when both sides have their results. The other side keeps a journal as well (`vesica run --resume`).
        "FILE" journal: Maybe<File> = None;
        /// The memory that a task of the cluster may use, as in 1G.
        ///
        /// The number of partitions is chosen so that each fits.
        "SIZE" task_memory: Amount = 1 << 30;
    }
}

selection! {
    /// The way from a gateway to the other side.
    pub struct GatewayConnection of Connection {
        "listen", "connect", "bandwidth", "stall-timeout", "deadline", "proxy",
    }
}

options! {
    /// The time that a gateway waits.
    pub struct GatewayPatience in "Connection" {
        /// Wait this long for the other side, also after it was lost.
        "SECONDS" wait: Seconds = Duration::from_secs(3600);
    }
}

selection! {
    /// The table of a cluster.
    pub struct ClusterTable of Table { "allow-empty" }
}

selection! {
    /// The partitions of a run. Each is a task of the cluster.
    pub struct ClusterPartitions of Resources { "partitions" }
}

selection! {
    /// The report about a gateway's run.
    pub struct GatewayReport of Messages { "report" }
}

options! {
    /// The log of a service.
    pub struct ServiceLog in "Reports and messages" {
        /// The form of the log on standard error: text or json.
        ///
        /// Each event has a line.
        "FORM" log: Word<LogForm> = LogForm::Text;
    }
}
