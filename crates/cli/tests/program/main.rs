//! Runs the real program, as two processes with real files and sockets. One test program, because linking many takes as
//! long as running them.

#![allow(clippy::unwrap_used)]

mod answers;
mod assessment;
mod attribution;
#[cfg(unix)]
mod broken;
#[cfg(unix)]
mod changes;
#[cfg(target_os = "linux")]
mod claims;
mod commands;
mod consent;
#[cfg(all(feature = "databases", unix))]
mod databases;
#[cfg(unix)]
mod endings;
mod faults;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod gateway;
#[cfg(unix)]
mod gateway_hostile;
mod harness;
mod hostile;
mod joins;
mod joint_agreement;
mod judged;
mod kept_files;
mod linked;
mod linked_agreement;
mod linked_join;
mod linked_numbers;
mod linked_queries;
mod linked_rows;
#[cfg(unix)]
mod losses;
mod meeting;
mod oracle;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod partitions;
mod partners;
mod pipelines;
mod plan;
#[cfg(unix)]
mod publishing;
mod queries;
mod report;
mod results;
#[cfg(unix)]
mod resume;
mod run_report;
#[cfg(unix)]
mod serving;
mod serving_several;
mod several;
#[cfg(unix)]
mod several_resume;
mod shown_texts;
#[cfg(feature = "stores")]
mod stores;
#[cfg(unix)]
mod tables;
#[cfg(unix)]
mod tutorial;
#[cfg(unix)]
mod typed;
