//! OT extension: millions of OTs from the base OTs, with symmetric cryptography only.

pub mod alsz13;
pub mod checked;
pub mod columns;
pub mod silent;
pub mod softspoken;
