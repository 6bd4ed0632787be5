//! Asks for the values of keys, as fast as the publisher allows.
//!
//! The client asks for one element per row, which is random for a row without a key and for a repeated key. It asks all
//! questions before it looks anything up. Questions therefore reveal the number of rows, and nothing else.

use std::{path::Path, time::Duration};

use rand::CryptoRng;
use vesica_core::{
    error::Result,
    observe::{Observer, Progress, Unit},
};
use vesica_list::{
    exchange::{MAX_QUESTION, Question},
    head::Head,
    lookup::{List, Match},
    part::Stored,
    value::{Value, item},
};
use vesica_normalize::digest::Digest;

use super::{
    answered::Answered,
    origin::{Asked, Origin},
};

/// Maximum time that a client waits for its next answer.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Interval between reports that the client is waiting.
const STEP: Duration = Duration::from_secs(1);

/// The keys of a lookup.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Distinct keys.
    pub keys: &'a [Digest],
    /// Rows of the table.
    pub rows: u64,
    /// Maximum number of items in a question.
    pub batch: usize,
    /// The directory that stores answers until all have arrived.
    pub kept: &'a Path,
}

/// Asks for keys. Returns which of them are in the list, and the file that stores the answers.
///
/// # Errors
/// [`Error::List`](vesica_core::error::Error::List), and errors of the origin and of the directory.
pub fn ask<S: Stored>(
    origin: &mut dyn Origin,
    list: &List<S>,
    asking: Asking<'_>,
    observer: &dyn Observer,
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<Option<Match>>, Answered)> {
    let head = list.head();
    // Sorted, so that a lookup can resume even if the rows are in another order.
    let items = asking.keys.iter().map(|key| item(key.as_bytes(), &head.public_key.0));
    let mut items: Vec<_> = items.zip(0..).collect();
    items.sort_unstable();
    let (items, places): (Vec<[u8; 32]>, Vec<usize>) = items.into_iter().unzip();
    let (answered, values) = Answered::open(asking.kept, head.epoch, &items)?;
    let mut collected = Collected { answered, values };
    answers(origin, head, &items, asking, &mut collected, observer, rng)?;
    let Collected { answered, mut values } = collected;
    values.truncate(items.len());
    let found = list.look_up(&values)?;
    let mut in_order = vec![None; items.len()];
    places.into_iter().zip(found).for_each(|(place, found)| in_order[place] = found);
    Ok((in_order, answered))
}

/// The values so far, in memory and in the file for resumption.
struct Collected {
    answered: Answered,
    values: Vec<Value>,
}

/// Asks until there is a value for each row.
fn answers(
    origin: &mut dyn Origin,
    head: &Head,
    items: &[[u8; 32]],
    asking: Asking<'_>,
    Collected { answered, values }: &mut Collected,
    observer: &dyn Observer,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    observer.phase("ask");
    let total = items.len().max(usize::try_from(asking.rows).unwrap_or(usize::MAX));
    let mut batch = asking.batch.clamp(1, MAX_QUESTION);
    loop {
        observer.progress(Progress::of(values.len() as u64, total as u64, Unit::Rows));
        let left = total.saturating_sub(values.len());
        if left == 0 {
            return Ok(());
        }
        let mut asked: Vec<_> = items.iter().skip(values.len()).take(batch).copied().collect();
        asked.resize_with(batch.min(left), || {
            let mut random = [0; 32];
            rng.fill_bytes(&mut random);
            random
        });
        let question = Question::new(asked, head, rng)?;
        match patiently(origin, head.epoch, &question, observer)? {
            Asked::Answer(answer) => {
                let new = question.finish(&answer)?;
                answered.add(values.len(), &new)?;
                values.extend(new);
            }
            Asked::Fewer(_) if batch > 1 => batch = batch.min(left).div_ceil(2),
            Asked::Fewer(error) | Asked::Later(_, error) => return Err(error),
        }
    }
}

/// Asks until there is an answer, or the wait would be too long.
fn patiently(
    origin: &mut dyn Origin,
    epoch: u64,
    question: &Question,
    observer: &dyn Observer,
) -> Result<Asked> {
    let bytes = question.bytes();
    let mut waited = Duration::ZERO;
    loop {
        let asked = origin.ask(epoch, &bytes, question.answer_bytes())?;
        let Asked::Later(mut time, error) = asked else { return Ok(asked) };
        if waited.saturating_add(time) > PATIENCE {
            return Ok(Asked::Later(time, error));
        }
        // Wait between attempts even if the server allows an immediate retry.
        time = time.max(STEP);
        while !time.is_zero() {
            observer.waiting("ask", waited);
            let step = time.min(STEP);
            origin.pause(step)?;
            (time, waited) = (time - step, waited + step);
        }
    }
}
