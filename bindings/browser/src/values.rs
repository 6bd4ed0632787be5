//! The values in answers, before they are looked up.

use vesica_list::value::Value;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

/// The values of the keys of a question, one for each.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct KeyValues {
    pub(crate) values: Vec<Value>,
    /// Whether each key is valid. An invalid one has a random value.
    pub(crate) are_keys: Vec<bool>,
}
