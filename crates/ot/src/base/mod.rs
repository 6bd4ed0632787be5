//! Base OTs: random OTs of one seed each, by public-key cryptography.

pub mod mr19;
