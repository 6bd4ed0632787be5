//! One test program, because compiling and linking many takes as long as running them.

mod bins;
mod filter;
mod okvs;
mod polynomial;
