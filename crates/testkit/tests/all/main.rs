//! One test program, because compiling and linking many takes as long as running them.

mod deviations;
mod statistics;
mod suites_can_fail;
