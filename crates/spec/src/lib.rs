//! The specification of what Vesica does: a [`Job`], a [`Project`] of jobs, a [`List`] to publish, a [`Service`] and so
//! on.
//!
//! Every option is defined once, in a table such as [`Terms`]: its name, its documentation, the [`Form`] of its values
//! and its default. The flags of the program, the keys of `vesica.toml`, the arguments of the Python package and the
//! JSON Schemas in `docs` come from these tables, so that a job is the same value in every notation:
//!
//! ```
//! use vesica_spec::{Given, Job, Options};
//!
//! let json: Job = serde_json::from_str(r#"{"key": ["first", "last"], "memory": "2G", "wait": 30}"#)?;
//! let toml: Job = toml::from_str("key = [\"first\", \"last\"]\nmemory = 2147483648\nwait = 30.0\n")?;
//! let flags = [("key", "first,last"), ("memory", "2G"), ("wait", "30")];
//! let flags = Job::of(Given::flags(flags))?;
//! assert!(json == toml && json == flags);
//! assert_eq!(json.resources.memory, Some(2 << 30));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A service over HTTP or a binding to another language takes a job in JSON, and turns it into a run with
//! [`Job::to_run`]. A [`Fault`] names the options that it is about.
//!
//! **Must never import** a terminal or a language's runtime. No error repeats the value of an option.

mod acceptance;
mod among;
mod check;
mod error;
mod fault;
mod form;
mod gateway;
mod job;
mod keys;
mod linked;
mod list;
mod lookup;
mod names;
mod numbers;
mod options;
mod planned;
mod project;
mod quality;
mod rules;
mod selection;
mod service;
mod stamp;
mod to_run;

pub use self::{
    acceptance::{Acceptance, Confirmation, Invited, InvitedParties, JobTable, PartnerJob},
    check::{Check, CheckedTable, KeyTerms, MemoryLimit},
    error::{Error, Result},
    fault::Fault,
    form::{
        Form, Kind,
        basic::{
            Amount, AmountFrom, Count, Decimal, File, Flag, Items, Maybe, Mbits, Parsed, Seconds,
            Text, Whole, Word, Words,
        },
        domain::{
            Answer, AnswerForm, Columns, Declarations, Join, KeyForm, NullValuesForm, Profiles,
            Progress, ProtocolForm, ProxyForm, QueryForm, Repeats, RepeatsForm, TableFile,
        },
        linked::{FieldForm, RuleForm},
        members::MembersForm,
    },
    gateway::Gateway,
    job::{Connection, Job, Limits, Messages, Outputs, Parties, Resources, Table, Terms, WAYS},
    linked::FieldColumn,
    list::{List, PlainName, Validity},
    lookup::{Lookup, PublishMessages},
    names::names,
    numbers::{amount, whole},
    options::{Described, Given, Options, is_file},
    planned::Planned,
    project::{IDENTITY, Project},
    quality::Judged,
    service::{ListService, LogForm, Service},
    stamp::Stamp,
    to_run::{Around, LEDGER, identifiers, profiles, read_agreement},
};
