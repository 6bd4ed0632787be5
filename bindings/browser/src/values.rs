//! What answers give, before it is looked up.

use vesica_list::value::Value;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

/// The values of the keys of a question.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct Values {
    pub(crate) values: Vec<Value>,
    /// For each key the number of its value; nothing where it is no key.
    pub(crate) places: Vec<Option<usize>>,
}
