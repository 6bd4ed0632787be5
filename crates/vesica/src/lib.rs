//! Find what two tables have in common, without either side showing the other anything else.
//!
//! A [`Job`] says what one side brings to a run: its table, its key columns, where its result goes, and an [`Offer`] of
//! what to find out ([`Query`]) and who learns it. [`run()`] carries it out with the other side over a
//! [`Channel`](vesica_net::Channel) and fills in a [`Report`]. Here are both sides in one process:
//!
//! ```
//! use std::{fs, path::Path, sync::Arc, thread};
//! use rand::{SeedableRng, rngs::StdRng};
//! use vesica::{Job, Learns, NoObserver, Normalize, Offer, Parties, Report, Role, Source};
//! use vesica_net::{Channel, transport::memory};
//!
//! fn side(role: Role, table: &str, output: &Path, end: memory::Memory) -> vesica::Result<Report> {
//!     let offer = Offer::new(vec![Normalize::Email], Learns::Both);
//!     let input = Source::Memory { name: "customers".into(), bytes: table.into() };
//!     let job = Job { output: Some(output.into()), ..Job::new(input, ["email"], offer) };
//!     // Over a network, `vesica_net::connect` makes the channel and tells the two fingerprints.
//!     let parties = Parties { role, me: format!("{role:?}"), peer: format!("{:?}", role.other()) };
//!     let (mut channel, mut report) = (Channel::new(end), Report::begin());
//!     let mut rng = StdRng::try_from_rng(&mut rand::rngs::SysRng).expect("the system has randomness");
//!     vesica::run(job.prepare()?, &parties, &mut channel, Arc::new(NoObserver), &mut rng, &mut report)?;
//!     Ok(report)
//! }
//!
//! # let scratch = tempfile::tempdir().unwrap();
//! # let (of_a, of_b) = (&scratch.path().join("a.csv"), &scratch.path().join("b.csv"));
//! let (left, right) = memory::pair();
//! let report = thread::scope(|scope| {
//!     scope.spawn(|| side(Role::B, "email,city\nbob@example.org,Oslo\n", of_b, right));
//!     side(Role::A, "id,email\n1,Ann@example.org\n2,Bob@example.org\n", of_a, left)
//! })?;
//! assert_eq!(report.outcome.matches, Some(1));
//! assert_eq!(fs::read_to_string(of_a).unwrap(), "id,email\n2,Bob@example.org\n");
//! # Ok::<(), vesica::Error>(())
//! ```
//!
//! [`check()`] reads one table alone and says what a run would make of it. [`files`] has what concerns reading and
//! writing files, [`report`] the parts of a report and of progress messages.
//!
//! **Must never import** the command line: there are no flags and no terminal here. No value of a table ever gets into
//! an error, a report or an observer.

mod agree;
mod check;
#[doc(hidden)]
pub mod decoders;
mod disclosure;
mod figures;
mod gateway;
mod identity;
mod keys;
mod partner;
mod plan;
mod published;
mod run;
mod table;
mod task;
#[cfg(test)]
mod vectors;

pub use vesica_core::{
    error::{Class, Error, Result},
    observe::{NoObserver, Observer},
    parties::{Learns, Parties, Role, Security},
};

pub use self::{
    agree::offer::{Offer, WIRE_VERSION},
    check::check,
    keys::normalize::Normalize,
    plan::plan,
    run::{
        job::{Job, Ready, Shortfall, run},
        meet::{Way, to_bind},
        report::Report,
    },
    table::source::Source,
    task::{
        noise::{Epsilon, Noise},
        query::Query,
    },
};

/// How a job reads its table, what it plans with, and files that appear whole or not at all.
pub mod files {
    pub use vesica_core::host::budget as memory_budget;

    pub use crate::{
        agree::choice::PlannerInputs,
        figures::{figures, figures_file},
        identity::{create_identity, generate_identity, is_shared, load_identity},
        keys::{
            key::{Duplicates, KeyColumn, Nulls},
            null_values::NullValues,
        },
        run::journal::{Interrupted, JournalSecret, Resume},
        table::{
            arrow::memory::ArrowTable,
            destination::{Destination, MatchedTable},
            format::Format,
            formulas::Formulas,
            guard::is_guarded,
            output::{Access, Output, Shown, Staged},
            sent_columns::{DEFAULT_BYTES, SentColumns},
            source::{Delimiter, Dialect},
            target::{Protected, check as check_results},
        },
    };
}

/// What tests look at beneath a run: how tables become keys, and every call on a file. It is no part of the interface and may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use crate::{
        keys::{digest::Digest, keyset::KeySet, reading::Reading},
        table::{
            disk::{Call, watch_calls},
            input::Columns,
        },
    };
}

/// The parts of a plan, made by [`plan()`].
pub mod planning {
    pub use crate::plan::{ListPlan, Plan, PredictedCost, Prospect, money};
}

/// Runs whose partitions are compared by tasks of a cluster: the gateway, and what its driver and tasks do.
pub mod cluster {
    pub use crate::gateway::{
        ClusterResult, Ended, Event, Failed, Gateway, Here, Keys, Serving, Sketched, Tasks, Token,
    };
}

/// Published lists, which are asked again and again.
pub mod lists {
    pub use crate::published::{
        answered::Answered,
        ask::{Asking, ask},
        fetch::{Fetching, fetch, lists_cache},
        look_up::{Found, LookUp, look_up},
        merge::Changes,
        origin::{Asked, FromDirectory, Origin},
        publish::{Publication, Published, publish},
        serving::Served,
        stored::StoredFile,
    };
    pub use vesica_list::{
        exchange::{DEFAULT_QUESTION, MAX_QUESTION},
        head::{DEFAULT_LAMBDA, DEFAULT_QUERIES},
    };
}

/// Agreements with partners: invitations, policies, ledgers and records.
pub mod partnership {
    pub use vesica_core::refusal::Refusal;

    pub use crate::partner::{
        agreement::{Agreement, Invitation, Place, Proposal, check_name},
        entry::{Entry, Event, Head, KeptSet},
        ledger::Ledger,
        moment::{Day, Hours, Moment},
        outlook::{Next, Outlook},
        page::{of as page, of_ledger as ledger_page},
        partnership::Partnership,
        party::Party,
        policy::Policy,
        record::{Record, Statement},
        signed::{Document, Signed, SignedError},
        summary::Summary,
    };
}

/// The parts of reports, of errors and of progress messages, and how numbers are written in them.
pub mod report {
    pub use vesica_core::{
        difference::Difference,
        error::{InputFault, Place},
        observe::{Progress, Unit},
        words::{bytes, counted, grouped},
    };

    pub use crate::{
        agree::terms::Terms,
        check::Check,
        disclosure::{
            Answer, Assumption, Disclosure, Fact, Measure, Secret,
            words::{Learned, Names, Tense},
        },
        keys::{
            counts::RowCounts,
            findings::{Findings, FrequentKey},
            oddities::Oddity,
            survey::ColumnFindings,
        },
        run::{
            phases::{described, waited_for},
            report::{
                Failure, Fingerprints, LedgerLine, PhaseReport, Program, REPORT_VERSION,
                SecurityOfRun, Status,
            },
        },
        table::{digest::InputDigest, formulas::ColumnFormulas},
        task::{
            outcome::{Decimal, Outcome, QueryResult},
            query::ResultForm,
        },
    };
    pub use vesica_keys::shown::shown;
}
