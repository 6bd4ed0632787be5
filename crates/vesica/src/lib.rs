//! Find the rows that two tables share, without either side revealing anything else.
//!
//! # A first run
//!
//! A [`Job`] is one side's part in a run: its table, its key columns, the destination of its result, and an [`Offer`]
//! with the [`Query`] and the side that learns the answer. A [`Runner`] carries it out with the other side over a
//! [`Channel`](vesica_net::Channel) and returns a [`Report`]. Here are both sides in one process:
//!
//! ```
//! use std::{fs, path::Path, thread};
//! use vesica::{Job, Learns, Normalize, Offer, Report, Role, Runner, Source};
//! use vesica_net::{Channel, transport::memory};
//!
//! fn side(role: Role, table: &str, output: &Path, end: memory::Memory) -> vesica::Result<Report> {
//!     let offer = Offer::new(vec![Normalize::EMAIL], Learns::Both);
//!     let input = Source::Memory { name: "customers".into(), bytes: table.into() };
//!     let job = Job { output: Some(output.into()), ..Job::new(input, ["email"], offer) };
//!     Ok(Runner::new(job, role).run(&mut Channel::new(end))?.report)
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
//! Over a network, `vesica_net::connect` returns the channel and the two fingerprints, which
//! [`Runner::between`] takes.
//!
//! # Next steps
//!
//! | to | see |
//! |---|---|
//! | look at a table before a run | [`check()`] |
//! | predict the time and the price of a run | [`plan()`] and [`planning`] |
//! | read other formats, stage results, resume | [`files`] |
//! | show progress, read a report | [`Observer`], [`report`] |
//! | distinguish errors | [`Error`], its [`Class`] and its [`Misuse`] |
//! | run repeatedly with a partner, under rules | [`partnership`] |
//! | run among three and more parties | [`joint`] |
//! | query or publish a list | [`lists`] |
//! | compare partitions in a cluster | [`cluster`] |
//! | take jobs from JSON or TOML, for a service of your own | [`spec`] |
//!
//! **Must never import** the command line: there are no flags and no terminal here. No value of a table ever gets into
//! an error, a report or an observer.

mod check;
#[doc(hidden)]
pub mod decoders;
mod figures;
mod identity;
mod plan;
mod quality;
mod runner;

#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod vectors;

pub use vesica_agree::offer::{Offer, WIRE_VERSION};
pub use vesica_core::{
    error::{Class, Error, Misuse, Result},
    observe::{NoObserver, Observer},
    parties::{Learns, Parties, Role, Security},
    random::system_rng,
};

pub use vesica_linkage::Rules;
pub use vesica_normalize::normalize::Normalize;
pub use vesica_run::{
    job::{Job, Ready, run},
    meet::{Way, to_bind},
    report::Report,
    shortfall::Shortfall,
};
pub use vesica_table::source::Source;
pub use vesica_task::{
    noise::{Epsilon, Noise},
    query::Query,
};

pub use self::{
    check::{CheckedKeys, check},
    plan::{plan, plan_among},
    quality::match_quality,
    runner::{Finished, Runner},
};

pub use vesica_spec as spec;

/// The input of a job, the parameters of a plan, and files that appear whole or not at all.
pub mod files {
    pub use vesica_core::host::budget as memory_budget;

    pub use crate::{
        figures::{figures, figures_file},
        identity::{create_identity, generate_identity, is_shared, load_identity},
    };
    pub use vesica_agree::choice::PlannerInputs;
    pub use vesica_keyset::key::{Duplicates, KeyColumn, Nulls};
    pub use vesica_normalize::null_values::NullValues;
    pub use vesica_run::journal::{Interrupted, JournalSecret, Resume};
    pub use vesica_table::{
        arrow::memory::ArrowTable,
        destination::{Destination, MatchedTable},
        format::Format,
        formulas::Formulas,
        guard::is_guarded,
        output::{Access, Output, Shown, Staged},
        sent_columns::{DEFAULT_BYTES, SentColumns},
        source::{Delimiter, Dialect},
        target::{Protected, check as check_results},
    };
}

/// Runs among three and more parties.
pub mod joint {
    pub use vesica_agree::joint::{Cast, NamedParty};
    pub use vesica_run::{
        joint::{Met, ServedParties, Venue, run},
        report::{PartiesReport, PartyReport},
        seat::Seat,
    };
}

/// Internals that tests examine: the conversion of tables to keys, and every call on a file. This module is not part of
/// the interface and may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use vesica_keyset::{keyset::KeySet, reading::Reading};
    pub use vesica_normalize::digest::Digest;
    pub use vesica_table::{
        disk::{Call, watch_calls},
        input::Columns,
    };
}

/// The parts of a plan, made by [`plan()`].
pub mod planning {
    pub use vesica_table::rows::MAX_ROWS;

    pub use crate::plan::{
        ChoicePlan, JointPlans, JointProspect, ListPlan, Plan, PredictedCost, Prospect, money,
    };
}

/// Runs whose partitions are compared by tasks of a cluster: the gateway, its driver and its tasks.
pub mod cluster {
    pub use vesica_gateway::{
        ClusterResult, Ended, Failed, Gateway, GatewayEvent, Here, Keys, Serving, Sketched, Tasks,
        Token,
    };
}

/// Published lists, which clients query repeatedly.
pub mod lists {
    pub use vesica_list::{
        exchange::{DEFAULT_QUESTION, MAX_QUESTION},
        head::{DEFAULT_LAMBDA, DEFAULT_QUERIES},
    };
    #[cfg(feature = "http")]
    pub use vesica_list_store::http::{ListOrigin, Remote};
    pub use vesica_list_store::{
        answered::Answered,
        ask::{Asking, ask},
        fetch::{Fetching, fetch, lists_cache},
        look_up::{Found, LookUp, Subscription, look_up},
        merge::Changes,
        origin::{Asked, FromDirectory, Origin},
        publish::{Publication, Published, publish},
        serving::Served,
        stored::StoredFile,
    };
}

/// Agreements with partners: invitations, policies, ledgers and records.
pub mod partnership {
    pub use vesica_core::{of_others::OfOthers, refusal::Refusal};

    pub use vesica_core::moment::{Day, Hours, Moment};
    pub use vesica_partner::{
        agreement::{Agreement, Invitation, MeetingPlace, Proposal, check_name},
        any_agreement::AnyAgreement,
        entry::{Entry, KeptSet, LedgerEvent, LedgerHead},
        joint::{
            JointAgreement, JointInvitation, JointParts, JointProposal, JointReply, Part, confirm,
            invitation::Inviting,
        },
        ledger::Ledger,
        outlook::{Next, Outlook},
        page::{of as page, of_joint as joint_page, of_ledger as ledger_page},
        partnership::Partnership,
        party::Party,
        policy::Policy,
        record::{AnyRecord, Record, Statement, joint::JointRecord},
        signed::{Document, Signed, SignedError},
        summary::Summary,
    };
}

/// Queries over both tables, and the columns that a side declares for them.
pub mod queries {
    pub use vesica_select::{Declaration, Declared, Keys, Select, Side};
    pub use vesica_task::select::{QueryTable, Selection};
}

/// The parts of reports, errors and progress messages, and the form of numbers in them.
pub mod report {
    pub use vesica_core::{
        difference::Difference,
        error::{InputFault, Place},
        observe::{Progress, Unit},
        words::{bytes, counted, grouped},
    };

    pub use crate::{
        check::{Check, CheckedRule},
        quality::{GreedyStep, Interval, MatchQuality, Quality, RuleQuality},
    };
    pub use vesica_agree::terms::Terms;
    pub use vesica_keyset::{
        counts::RowCounts,
        findings::{Findings, FrequentKey},
        oddities::Oddity,
        rule_findings::{FalseMatches, RuleFindings},
        survey::ColumnFindings,
    };
    pub use vesica_normalize::shown::shown;
    pub use vesica_partner::account::LedgerLine;
    pub use vesica_run::{
        phases::{described, waited_for},
        report::{
            FailureReason, Fingerprints, PhaseReport, Program, REPORT_VERSION, RuleOfRun,
            SecurityOfRun, Status,
        },
    };
    pub use vesica_table::{digest::InputDigest, formulas::ColumnFormulas};
    pub use vesica_task::{
        disclosure::{
            Answer, Assumption, Disclosure, Fact, Measure, Secret,
            words::{Learned, Names, Tense},
        },
        outcome::{Decimal, Outcome, QueryResult},
        query::ResultForm,
    };
}
