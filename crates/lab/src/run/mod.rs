//! Timed runs, and their evaluation for a machine and for the planner.

pub mod accuracy;
pub mod answer;
pub mod bench;
pub mod calibrate;
mod in_process;
pub mod joint;
pub mod ot;
pub mod protocol;
pub mod structures;
pub mod work;
