//! The acceptance tests: each is a command line, typed at a real server unless it says otherwise.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod auth;
mod check;
mod cuts;
mod factors;
mod honest;
mod hops;
mod host_key;
mod keys;
mod layers;
mod limits;
mod modes;
mod others;
mod outcome;
mod reach;
mod readme;
mod retry;
mod rig;
mod rig_itself;
mod scp_cases;
mod scp_cut;
mod scp_hostile;
mod scp_legacy;
mod scp_modes;
mod scp_trees;
mod scp_usage;
mod script;
mod shells;
mod stdin;
mod streams;
mod su;
mod sudo;
mod sudo_refused;
mod usage;
