//! The specification of a plan.

use vesica_core::parties::Learns;
use vesica_planner::prices::Machines;

use crate::{
    check::MemoryLimit,
    form::{
        basic::{Decimal, File, Flag, Items, KeyCounts, Maybe, Mbits, Parsed, Whole, Word},
        domain::Declarations,
    },
    job::Terms,
    options::{options, sections},
    selection::selection,
};

sections! {
    /// A plan: the estimated cost of each protocol, as `vesica plan` shows it.
    pub struct Planned {
        /// The sizes and the link.
        run: PlannedRun,
        /// The terms of the run.
        terms: PlannedTerms,
        /// The prices.
        prices: PlannedPrices,
        /// The memory of both sides.
        resources: MemoryLimit,
        /// The form of the plan.
        shown: PlanShown,
    }
}

options! {
    /// The sizes of a run, and its link.
    pub struct PlannedRun in "Sizes and link" {
        /// Keys of this side: 1000, 100,000, 2M or 2^20.
        "N" mine: Maybe<Whole> = None;
        /// Keys of the other side.
        "N" theirs: Maybe<Whole> = None;
        /// In place of both: the keys of three or more parties, as in 1M,100k,10k.
        ///
        /// The plan compares the choices of leader and pivot.
        "N,N,N" parties: KeyCounts = Vec::new();
        /// The number of runs while the larger set hardly changes.
        ///
        /// Each run takes as long as the first. A published list, with which plans for unequal sizes are compared, is
        /// made and downloaded once.
        "N" runs: Whole<u64, 1> = 1;
        /// The bandwidth of the link in each direction, in Mbit/s.
        ///
        /// [default: 1000 if the round trip is below 2 ms, else 100]
        "MBIT" bandwidth: Maybe<Mbits> = None;
        /// The round-trip time in milliseconds.
        "MS" rtt: Decimal = 20.0;
        /// The side that learns the result: me, peer, both or nobody.
        "WHO" learns: Word<Learns> = Learns::Me;
        /// In a query: a column of the other side, with its type.
        "NAME:TYPE" their_column: Declarations = Vec::new();
    }
}

selection! {
    /// The terms of a run that is planned.
    pub struct PlannedTerms of Terms {
        "answer", "query", "query-file", "query-side", "column", "repeated-keys", "minimum", "epsilon", "security",
    }
}

options! {
    /// The prices of machines and traffic. With prices, the cheapest protocol is chosen instead of the fastest.
    pub struct PlannedPrices in "Prices" {
        /// The cloud region of this side, and after a comma the other's.
        ///
        /// The other side's region is named if its machine is paid for too: Virginia, Ohio, Oregon, Paris or Sydney,
        /// with the prices in USD that CM20 gives for m5.large machines in 2020. With prices, the cheapest protocol is
        /// chosen instead of the fastest.
        "REGION" prices: Maybe<Parsed<Machines>> = None;
        /// The price of all machines together per hour.
        ///
        /// It is in any currency, and takes the place of the regions' price.
        "PRICE" price_per_hour: Maybe<Decimal> = None;
        /// The price of 10^9 bytes between the parties, in either direction.
        ///
        /// It is in any currency, and takes the place of the regions' price.
        "PRICE" price_per_gb: Maybe<Decimal> = None;
    }
}

options! {
    /// The form of a plan.
    pub struct PlanShown in "Output" {
        /// Show every protocol that fits, not only recommended ones.
        "" all: Flag = false;
        /// Instead of planning, compare predictions with runs in these files.
        ///
        /// `vesica bench --results` keeps the runs.
        "FILE" check: Items<File> = Vec::new();
        /// Print JSON.
        "" json: Flag = false;
    }
}
