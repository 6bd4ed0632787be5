//! The language of queries: a strict subset of SQL over two tables whose matching rows nobody sees.
//!
//! A [`Select`] is parsed from one string and displayed as its canonical form, which parses to the same query. Each
//! side declares its columns ([`Declared`]), and [`Select::check`] returns the [`Shape`] of a query that fits: the sums
//! that an engine computes for each group, with their widths. Everything else of SQL is refused by name.
//!
//! ```
//! use vesica_select::{Declared, Keys, Select};
//!
//! let query: Select = "select b.campaign, count(*), sum(a.spend) from a join b using (key) \
//!     where a.country = 'DE' group by b.campaign having count(*) >= 50".parse()?;
//! let a = Declared::parse(&["spend:decimal(2)[0..500]", "country:text"], Keys::Unique)?;
//! let b = Declared::parse(&["campaign:label<=64"], Keys::Unique)?;
//! let shape = query.check(&a, &b)?;
//! assert_eq!((shape.groups, shape.sums.len()), (64, 2));
//! assert_eq!(
//!     query.phrases("shop", "bank", Some(&shape))[0],
//!     "the number of shared keys and the sum of shop's `spend`, for each of at most 64 values of \
//!      bank's `campaign` with at least 50 shared keys"
//! );
//! # Ok::<(), vesica_select::Error>(())
//! ```
//!
//! # Meaning
//!
//! A query means what it means in SQL, with these differences:
//!
//! - `HAVING count(*) >= N` counts distinct keys, even if a side has several rows with one key. Groups with fewer keys
//!   are suppressed; `WITH REMAINDER` adds one row for all of them together, if they have `N` keys.
//! - `bucket(x.col, e1, ..., en)` is the number of edges that are at most the value: 0 below `e1`, `n` from `en` on.
//! - `avg` and `var_samp` are decimals with six more places than the column, rounded half to even.
//! - `FROM a ASOF JOIN b ON a.key = b.key AND a.ordered_at >= b.shown_at` joins each row of `a` with the latest row of
//!   `b` that is not after it, by days. `WHERE` begins with the bound on the days between them:
//!   `a.ordered_at - b.shown_at <= 14`. Keys are counted as `count(DISTINCT a.key)`. If `a` repeats keys, its column of
//!   dates says how often: `date[2026-10-01..2026-11-30]/4`. Bounds then hold for each row.
//! - Text is compared byte by byte. Numbers are exact decimals.
//!
//! **Must never import** any other crate of Vesica, nor know how a query is answered.

mod as_of;
mod column;
mod date;
mod declaration;
mod error;
mod fixed_point;
mod lexer;
mod parser;
mod predicate;
mod query;
mod refusals;
mod shape;
mod words;

pub use self::{
    as_of::{AsOf, MAX_WITHIN},
    column::{ColumnRef, Side},
    date::{Date, MAX_DAYS, Period},
    declaration::{ColumnKind, Declaration, Declared, Keys, MAX_PER_KEY, MAX_ROWS_OF_KEY, Range},
    error::Error,
    fixed_point::{FixedPoint, MORE_PLACES, mean, variance},
    parser::MAX_BYTES,
    predicate::{Comparator, Datum, Literal, Predicate},
    query::{Aggregate, CELL, ColumnUse, Label, Select, SelectItem},
    shape::{
        CellSum, Factor, Formula, LabelShape, LabelValues, Latest, MAX_GROUPS, Shape, Summand,
        Width,
    },
};
