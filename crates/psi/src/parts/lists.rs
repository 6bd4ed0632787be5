//! The common end of protocols with hash bins: bins → OPRF → a list of tags for each hash function → comparison.
//!
//! KKRT16, PSZ14, PSSZ15 and PRTY19 end in the same way. S has put each item into all of its bins and knows the OPRF's
//! value there; R has put each of its own into one bin and knows that value. Each hash function has its own list. R
//! looks for an item on the list of the function that led it to its bin. Every list has all of S's items, so nothing
//! shows how many items used which function.

use vesica_net::Channel;
use vesica_oprf::Values;
use vesica_primitives::Block;
use vesica_structures::bins::{self, Entry, Hashed, Table};

use super::tags::{Tagged, Tags};
use crate::{Error, Items, Result, Setting};

/// Every item in all of its bins.
///
/// # Errors
/// [`Error::DuplicateItem`].
pub(crate) fn all_bins<const H: usize>(items: &impl Hashed<H>) -> Result<Table> {
    let table = Table::simple(items);
    match table.duplicate(items) {
        Some((first, second)) => Err(Error::DuplicateItem { first, second }),
        None => Ok(table),
    }
}

/// The word for an item in the bin of its `hash`-th hash function, if different functions may lead different
/// items to the same bin.
pub(crate) fn word(item: Block, hash: usize) -> Block {
    item ^ Block(hash as u128)
}

/// The values of S's items in the bins to which a hash function leads them.
pub(crate) fn of_hash(table: &Table, values: &[Block], hash: usize) -> Values {
    let of_hash = table.entries().iter().zip(values).filter(|(entry, _)| entry.hash() == hash);
    let (positions, values) = of_hash.map(|(e, value)| (e.position() as u32, *value)).unzip();
    Values { positions, values }
}

/// For the hash function of each label, R's items that are in a bin by this function, with their values.
pub(crate) fn seated_by<'a>(
    labels: &'a [&'static str],
    seated: impl Iterator<Item = (Entry, Block)> + Clone + 'a,
) -> impl Iterator<Item = (&'static str, Values)> + 'a {
    labels.iter().enumerate().map(move |(hash, label)| {
        let of_hash = seated.clone().filter(|(entry, _)| entry.hash() == hash);
        let (positions, values) = of_hash.map(|(e, value)| (e.position() as u32, value)).unzip();
        (*label, Values { positions, values })
    })
}

/// Sends, for the hash function of each label, the sorted list of the values of S's items in the bins of that
/// function. `values` has one for each entry of the table.
pub(crate) fn send(
    labels: &[&'static str],
    table: &Table,
    values: &[Block],
    items: Items<'_>,
    setting: Setting,
    channel: &mut Channel,
) -> Result<()> {
    let tags = Tags::new(setting);
    for (hash, label) in labels.iter().enumerate() {
        let mut list = Vec::with_capacity(items.len());
        let of_hash = table.entries().iter().zip(values).filter(|(e, _)| e.hash() == hash);
        list.extend(of_hash.map(|(_, value)| tags.of(*value)));
        tags.send_list(label, list, items, channel)?;
        channel.flush()?;
    }
    Ok(())
}

/// The positions, in ascending order, of R's items whose values are on the lists of their own hash functions.
/// `seated` provides each of R's items that is in a bin, with its value.
pub(crate) fn receive(
    labels: &[&'static str],
    seated: impl Iterator<Item = (Entry, Block)> + Clone,
    items: Items<'_>,
    setting: Setting,
    channel: &mut Channel,
) -> Result<Vec<u32>> {
    let tags = Tags::new(setting);
    let mine = labels.iter().enumerate().map(|(hash, label)| {
        let of_hash = seated.clone().filter(|(entry, _)| entry.hash() == hash);
        (*label, of_hash.map(|(entry, value)| tags.tagged(value, entry.position())).collect())
    });
    receive_each(mine, items, setting, channel)
}

/// Like [`receive`], for lists that do not correspond to hash functions: `mine` has a label for each list, and the
/// values that R looks for on it.
pub(crate) fn receive_each(
    mine: impl Iterator<Item = (&'static str, Vec<Tagged>)>,
    items: Items<'_>,
    setting: Setting,
    channel: &mut Channel,
) -> Result<Vec<u32>> {
    let tags = Tags::new(setting);
    let mut matches = Vec::new();
    for (label, mine) in mine {
        matches.extend(tags.recv_matches(label, setting.sizes.sender, mine, items, channel)?);
    }
    matches.sort_unstable();
    Ok(matches)
}

impl From<bins::Error> for Error {
    fn from(error: bins::Error) -> Self {
        match error {
            bins::Error::NoTable => Self::HashingFailure,
            bins::Error::Duplicate { first, second } => Self::DuplicateItem { first, second },
        }
    }
}
