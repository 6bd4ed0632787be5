//! The parts of a request that may be at fault.

/// The part of a request that contradicts another part, or that nothing can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// An argument of an interface, such as a number out of its range.
    Argument,
    /// The key: its columns, or their normalisation.
    Key,
    /// Several identifiers of a row.
    Identifiers,
    /// The values that count as empty.
    NullValues,
    /// The input: its format, or a query for its rows.
    Input,
    /// A database as an input or an output.
    Database,
    /// The place of a result.
    Output,
    /// The query, or who learns its answer.
    Query,
    /// The noise in a number.
    Noise,
    /// The columns that are sent or received.
    Columns,
    /// A join.
    Join,
    /// The common order of matches.
    Order,
    /// The protocol, or the security required of it.
    Protocol,
    /// The memory limit of a run.
    Memory,
    /// A run that resumes after an interruption.
    Resume,
    /// The parties of a run among several, and their places.
    Parties,
    /// An agreement, an invitation or a reply.
    Agreement,
    /// A rule of an agreement or of this side.
    Policy,
    /// The name of an agreement or a job.
    Name,
    /// An address of the other side or of a list.
    Address,
    /// A published list.
    List,
    /// A cluster, or its gateway.
    Cluster,
}
