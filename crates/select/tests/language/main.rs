//! Queries from their texts to their meaning.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accepted;
mod as_of;
mod canonical;
mod clear;
mod duckdb;
mod oracle;
mod random;
mod refused;
mod tables;
