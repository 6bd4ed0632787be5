//! One test program, because compiling and linking many takes as long as running them.

mod adversaries;
mod answers;
mod blind_rsa;
mod bounds;
mod claims;
mod cm20;
mod conformance;
mod confused_peer;
mod deviating_peer;
mod effective_inputs;
mod gate;
mod holders;
mod joint;
mod joint_malicious;
mod key;
mod mutations;
mod noise;
mod payloads;
mod prty20_malicious;
mod reveal;
mod rr17;
mod rs21;
mod runs;
mod select;
mod shares;
mod transcripts;
