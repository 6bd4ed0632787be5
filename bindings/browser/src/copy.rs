//! A copy of a list stored by the page. Because the page reads its storage by callbacks, this module returns the ranges
//! it needs, and the page provides them.

use std::{cell::RefCell, collections::BTreeMap, io, ops::Range, rc::Rc};

use serde_json::{Value as Json, json};
use vesica_list::{
    Error,
    head::Head,
    lookup::{List, Match},
    part::Stored,
};
use vesica_normalize::{normalize::Normalize, null_values::NullValues};
use vesica_structures::packed;
#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{accepted::AcceptedHead, refusal::Refusal, values::KeyValues};

/// The provided bytes of a part's file, by offset, and the missing ranges.
#[derive(Default)]
struct CopyPieces {
    provided: BTreeMap<u64, Vec<u8>>,
    missing: Option<Range<u64>>,
}

/// Reads the provided bytes, and records the missing ones.
#[derive(Clone, Default)]
struct Provided(Rc<RefCell<CopyPieces>>);

impl Stored for Provided {
    fn read(&self, range: Range<u64>) -> vesica_list::Result<Vec<u8>> {
        let mut pieces = self.0.borrow_mut();
        let length = (range.end - range.start) as usize;
        let piece = pieces.provided.get(&range.start).filter(|piece| piece.len() == length);
        if let Some(piece) = piece {
            return Ok(piece.clone());
        }
        pieces.missing = Some(range);
        Err(Error::Read(io::ErrorKind::WouldBlock))
    }
}

/// A list whose parts are all stored by the page.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct ListCopy {
    pub(crate) head: Head,
    pub(crate) profiles: Vec<Normalize>,
    pub(crate) null_values: NullValues,
    parts: Vec<Provided>,
    list: Option<List<Provided>>,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl ListCopy {
    /// Creates a copy with this head.
    pub fn new(head: &AcceptedHead) -> Self {
        let AcceptedHead { head, profiles, null_values } = head;
        let parts = head.parts.iter().map(|_| Provided::default()).collect();
        let (profiles, null_values) = (profiles.clone(), null_values.clone());
        Self { head: head.clone(), profiles, null_values, parts, list: None }
    }

    /// Returns the bytes to provide next before the list is open, as three numbers: the index of the part, and the
    /// beginning and the end of the bytes in its file. Returns nothing once the list is open.
    ///
    /// # Errors
    /// A [`Refusal`] if a part is malformed.
    pub fn open(&mut self) -> Result<Vec<f64>, Refusal> {
        if self.list.is_some() {
            return Ok(Vec::new());
        }
        match List::open(self.head.clone(), self.parts.iter().cloned()) {
            Ok(list) => {
                self.list = Some(list);
                self.forget();
                Ok(Vec::new())
            }
            Err(Error::Read(io::ErrorKind::WouldBlock)) => {
                let missing = self.parts.iter().enumerate().find_map(|(part, provided)| {
                    Some((part, provided.0.borrow_mut().missing.take()?))
                });
                Ok(missing
                    .map(|(part, range)| numbers(part, &range))
                    .ok_or_else(Refusal::misuse)?
                    .to_vec())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Provides the requested bytes of a part, from this offset on.
    ///
    /// # Errors
    /// A [`Refusal`] if there is no such part.
    pub fn provide(&mut self, part: usize, from: f64, bytes: Vec<u8>) -> Result<(), Refusal> {
        let provided = self.parts.get(part).ok_or_else(Refusal::misuse)?;
        provided.0.borrow_mut().provided.insert(from as u64, bytes);
        Ok(())
    }

    /// Returns the bytes to provide before these values are looked up: three numbers for each range, as for
    /// [`ListCopy::open`].
    ///
    /// # Errors
    /// A [`Refusal`] if the list is not open.
    pub fn wanted(&self, values: &KeyValues) -> Result<Vec<f64>, Refusal> {
        let list = self.list.as_ref().ok_or_else(Refusal::misuse)?;
        Ok(list
            .ranges(&values.values)
            .into_iter()
            .flat_map(|(part, range)| numbers(part, &range))
            .collect())
    }

    /// Looks up values, and drops the provided bytes. The answer is JSON: for each key whether it is valid, whether it
    /// is in the list, and the values of its labels. An unreadable label counts as missing and is not an error, because
    /// a publisher that deliberately seals such a label for a key must not see this in the page's behaviour.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn look_up(&mut self, values: &KeyValues) -> Result<String, Refusal> {
        let list = self.list.as_ref().ok_or_else(Refusal::misuse)?;
        let found = list.look_up(&values.values);
        self.forget();
        let found = found?;
        let answers = values.are_keys.iter().zip(&found);
        let answers = answers.map(|(is_key, found)| self.answer(*is_key, found.as_ref()));
        Ok(Json::from_iter(answers).to_string())
    }
}

impl ListCopy {
    fn answer(&self, is_key: bool, found: Option<&Match>) -> Json {
        let columns = self.head.labels.as_ref().map_or(0, |labels| labels.columns.len());
        // The value for an invalid key is random.
        let found = found.filter(|_| is_key);
        let labels = found.and_then(|found| packed::read(found.label.as_ref()?, columns));
        json!({ "valid": is_key, "member": found.is_some(), "labels": labels })
    }

    fn forget(&self) {
        self.parts.iter().for_each(|part| part.0.borrow_mut().provided.clear());
    }
}

fn numbers(part: usize, range: &Range<u64>) -> [f64; 3] {
    [part as f64, range.start as f64, range.end as f64]
}
