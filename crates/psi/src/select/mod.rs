//! Numbers by group over hidden matches: circuit PSI, followed by sums whose parts neither party sees. Semi-honest.
//!
//! T is the party whose items lie in the cuckoo table of [circuit PSI](crate::circuit_psi) (its receiver), S the other.
//! After the three steps of circuit PSI the parties hold shares of a bit m_j for each bin, T knows its own numbers x_j
//! there, and S's numbers are y_j = v'_j + w_j, where T knows v' and S knows w. A bin without an item has x_j = 0 and
//! no match.
//!
//! 4. A product of numbers of both sides is x·y = x·v' + x·w. T knows the first part; shares of the second come from an
//!    OT for each bit of x ([`arithmetic`](vesica_circuit::arithmetic)).
//! 5. With a [`Lookup`], S has a position for each row of its items, and T a label, or none, for each position of each
//!    of its own. A row of a match counts only if T has a label at S's position: the parties get shares of bits m_j for
//!    each label and row, and run the next two steps once with each label, and with T's group for that label.
//! 6. One OT for each bin and direction gives additive shares of m_j times everything that one party knows there, all
//!    columns at once: the row z_j with the count and each [`Term`]. If items have several rows, there is one for each
//!    of them, and another for what counts once if any row does; z_j is their sum.
//! 7. With groups, T knows the label of each of its items. The rows are added up by label without S learning it
//!    ([`scatter`]); without groups, each party adds up its shares.
//! 8. The shares of the cells are opened to one party. If cells have a minimum, noise, or texts, a circuit adds the
//!    shares, draws the noise from random bits of both parties, compares the count with the minimum, and opens only
//!    what passes.
//!
//! If T's items belong to [people], the bits of each person are joined after step 3, and people count in place of
//! items.
//!
//! The party that learns the cells gets nothing else but the size of the other's set; the other party gets only that.
//! For sets in partitions, the parties run steps 1 to 7 on each partition, add up their shares over all of them, and
//! run step 8 once.
//!
//! Numbers are integers modulo 2^32, 2^64 or 2^128; [`Plan::check`] refuses a party's values if a sum could wrap.
//! Widths follow from the plan, never from the values.

mod cells;
mod cost;
mod lookup;
pub mod people;
mod share;
mod spread;

use rand::CryptoRng;
use vesica_circuit::{NumberField, Party as Role, RowLayout, scatter};
use vesica_net::Channel;
use vesica_params::{Failure, Laplace};
use vesica_primitives::declassify;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{
    Adversary, Cost, Error, Functionality, Items, Memory, Party, Result, Setting, Sizes,
    circuit_psi::{self, Construction, Masking, Opprf, ots, rs21::Silent},
};

use spread::Spread;

pub use cells::{OpenedCell, OpenedCells};
pub use lookup::Lookup;
pub use people::MAX_ITEMS_OF_PERSON;
pub use scatter::MAX_GROUPS;
pub use vesica_circuit::Width;

/// The maximum number of numbers in a cell.
pub const MAX_NUMBERS: usize = 256;

/// The adversary against which a run is secure, computed from its parts.
pub const ADVERSARY: Adversary = Adversary::weakest(&[
    <Silent as Construction>::Opprf::ADVERSARY,
    ots::ADVERSARY,
    Adversary::SemiHonest,
]);

/// One of the two parties, by its part in circuit PSI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// T, whose items lie in the table.
    Table,
    /// S.
    Other,
}

impl Owner {
    fn role(self) -> Role {
        match self {
            Self::Table => Role::Second,
            Self::Other => Role::First,
        }
    }
}

/// A column of numbers that a party has for its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The party.
    pub owner: Owner,
    /// The number of the column among the party's.
    pub index: usize,
}

/// A number that is added up over the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The column whose values are added up; `None` adds 1.
    pub column: Option<Column>,
    /// Another column with which each value is multiplied first, or the same for squares.
    pub times: Option<Column>,
    /// Whether it is added for each item that has a row that counts, with S's values in the first row, instead of for
    /// each row that counts.
    pub is_of_item: bool,
    /// The width of the sum.
    pub width: Width,
    /// Noise that is added to the sum.
    pub noise: Option<Laplace>,
}

/// A query whose answer is a table of numbers, one row for each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The sizes of the two sets, or of one partition of each: S is the sender, T the receiver.
    pub sizes: Sizes,
    /// The number of partitions in which the sets are compared; 1 for whole sets.
    pub partitions: usize,
    /// Bits of T's values in each of its columns that is multiplied with one of S's, in two's complement. Each costs an
    /// OT for each bin.
    pub factor_bits: u32,
    /// The sums.
    pub terms: Vec<Term>,
    /// The number of T's groups. With several, T has a label for each of its items.
    pub groups: usize,
    /// The number of S's groups. With several, S has a label for each of its items. There are 1 to [`MAX_GROUPS`]
    /// cells, one for each pair of groups, ordered by T's label first.
    pub other_groups: usize,
    /// A look-up on which it depends whether a match counts, and for which of T's labels.
    pub lookup: Option<Lookup>,
    /// The most items of one of T's [people], if its items belong to people.
    pub people: Option<usize>,
    /// The cells, and what of them is shown.
    pub cells: Cells,
}

/// The part of the cells that is shown, and the party that sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cells {
    /// The party that learns the cells.
    pub learner: Owner,
    /// The least number of matches in a cell that is shown; 0 shows all. With noise on the count, the noisy count is
    /// compared.
    pub least: u64,
    /// Whether the number of matches is shown.
    pub shows_count: bool,
    /// Shows only whether there are at least this many matches.
    pub threshold: Option<u64>,
    /// Noise that is added to the number of matches.
    pub count_noise: Option<Laplace>,
    /// Whether all cells with too few matches are added up to one more cell.
    pub remainder: bool,
    /// Bytes of a text that T has for each cell, which S learns of the cells that are shown; 0 for none.
    pub text_len: usize,
}

impl Default for Cells {
    /// All cells with their counts, shown to T.
    fn default() -> Self {
        Self {
            learner: Owner::Table,
            least: 0,
            shows_count: true,
            threshold: None,
            count_noise: None,
            remainder: false,
            text_len: 0,
        }
    }
}

impl Cells {
    /// Whether a circuit decides what is shown.
    fn is_judged(&self) -> bool {
        self.least > 0
            || self.threshold.is_some()
            || self.count_noise.is_some()
            || self.text_len > 0
    }
}

/// A party's distinct items, with the numbers that the plan takes.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The items.
    pub items: Items<'a>,
    /// Whether each item counts; `None` if all do. The other party does not learn how many do.
    pub counted: Option<&'a [bool]>,
    /// The party's columns, with a value for each item, and of S with one for each row of each item.
    pub columns: &'a [&'a [i64]],
    /// S's position of each row of each item, if the plan has a look-up.
    pub positions: &'a [u32],
    /// For each of T's items and each position, if the plan has a look-up: 0 for no label, i for the item's i-th.
    pub choices: &'a [u8],
    /// The party's label of each item, if it has several groups; with a look-up, all of T's labels of each item.
    pub labels: &'a [u32],
    /// The person of each of T's items, if the plan has people; numbers and labels of a person's items are the same. An
    /// item of nobody does not count.
    pub people: &'a [Option<u32>],
    /// T's texts of all cells, one after another, if the plan has texts.
    pub texts: &'a [u8],
}

impl<'a> Input<'a> {
    /// Items without numbers. All count.
    pub fn new(items: Items<'a>) -> Self {
        Self {
            items,
            counted: None,
            columns: &[],
            positions: &[],
            choices: &[],
            labels: &[],
            people: &[],
            texts: &[],
        }
    }
}

/// A party's share of all cells. A cell is the sum of both parties' shares, number by number.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct CellShares {
    cells: Vec<u8>,
}

impl CellShares {
    /// Adds the share of another partition's cells.
    ///
    /// # Panics
    /// If it is one of another plan.
    pub fn add(&mut self, plan: &Plan, other: &Self) {
        plan.layout().0.add_all(&mut self.cells, &other.cells);
    }

    /// The bytes of the share, for a party to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.cells
    }

    /// The share with these bytes; `None` if they are too few or too many for the plan.
    pub fn from_bytes(plan: &Plan, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == plan.cell_count() * plan.layout().0.len())
            .then(|| Self { cells: bytes.to_vec() })
    }

    /// The share of the only cell with these numbers: the count, if the plan counts, and the sums.
    pub(crate) fn of_numbers(plan: &Plan, numbers: &[u128]) -> Self {
        let (layout, fields) = plan.layout();
        let mut cells = vec![0; layout.len()];
        fields.iter().zip(numbers).for_each(|(field, number)| field.set(&mut cells, *number));
        Self { cells }
    }

    /// The numbers of the only cell.
    pub(crate) fn numbers(&self, plan: &Plan) -> Vec<u128> {
        plan.layout().1.iter().map(|field| field.get(&self.cells)).collect()
    }
}

/// A party that computes its share of the cells of one partition, or of whole sets.
pub type Sharer = dyn for<'a> Party<Input<'a>, CellShares>;

/// A party that computes the cells; the one that learns them gets them.
pub type Selector = dyn for<'a> Party<Input<'a>, Option<OpenedCells>>;

/// The computation of a plan on whole sets.
pub type Selection = Functionality<Selector, Selector, Plan>;

/// The computation of shares for one partition.
pub type PartialSelection = Functionality<Sharer, Sharer, Plan>;

impl Plan {
    /// Whether matches are counted.
    fn counts(&self) -> bool {
        let Cells { shows_count, least, threshold, count_noise, .. } = self.cells;
        shows_count || least > 0 || threshold.is_some() || count_noise.is_some()
    }

    /// The width of a count: 64 bits only if all partitions together could have 2^31 matches.
    fn count_width(&self) -> Width {
        let Sizes { sender, receiver } = self.sizes;
        match sender.min(receiver).saturating_mul(self.partitions) {
            ..0x8000_0000 => Width::Bits32,
            _ => Width::Bits64,
        }
    }

    /// The numbers of a cell: the count, if there is one, and the sums.
    fn layout(&self) -> (RowLayout, Vec<NumberField>) {
        let count = self.counts().then(|| self.count_width());
        let terms = self.terms.iter().map(|term| term.width);
        RowLayout::new(&count.into_iter().chain(terms).collect::<Vec<_>>())
    }

    /// The numbers of S that travel with its items.
    fn carried(&self) -> Vec<Carried> {
        let rows = 0..self.rows_of_item();
        let of_row = |row| {
            let carried = (0..).zip(&self.terms).filter(move |(_, term)| {
                let is_there = row == 0 || !term.is_of_item;
                is_there && matches!(term.kind(), TermKind::Other | TermKind::Mixed)
            });
            carried.map(move |(term, _)| Carried { term, row })
        };
        rows.flat_map(of_row).collect()
    }

    /// The layout of the numbers of S that travel with its items.
    fn payload(&self) -> (RowLayout, Vec<NumberField>) {
        let carried = self.carried();
        RowLayout::new(&carried.iter().map(|one| self.terms[one.term].width).collect::<Vec<_>>())
    }

    /// S's values that travel with its items: the numbers, and the position of each row, if there is a look-up.
    fn masking(&self) -> Masking {
        let (numbers, _) = self.payload();
        let bytes = if self.lookup.is_some() { self.rows_of_item() } else { 0 };
        Masking::Sum { numbers, bytes }
    }

    fn circuit_psi(&self) -> circuit_psi::Parameters {
        let setting = Setting::from(self.sizes).one_of(self.partitions);
        let values = Some(self.masking()).filter(|values| values.len() > 0);
        circuit_psi::Parameters::new(setting, values)
    }

    /// The hash by which parties compare what they are about to run.
    fn name(&self, context: &str) -> blake3::Hash {
        let noise = |noise: Option<Laplace>| {
            noise.map_or([0; 3], |noise| [1, noise.epsilon().into(), noise.sensitivity()])
        };
        let column = |column: Column| [column.owner.role() as u64, column.index as u64];
        let Cells { learner, least, shows_count, threshold, count_noise, remainder, text_len } =
            self.cells;
        let mut numbers = vec![self.partitions as u64, self.factor_bits.into(), self.groups as u64];
        numbers.push(self.other_groups as u64);
        numbers.extend([learner.role() as u64, least, shows_count.into(), remainder.into()]);
        numbers.extend([threshold.is_some().into(), threshold.unwrap_or(0), text_len as u64]);
        numbers.extend(noise(count_noise));
        numbers.push(self.terms.len() as u64);
        for term in &self.terms {
            numbers.extend(term.column.map_or([2, 0], column));
            numbers.extend(term.times.map_or([2, 0], column));
            numbers.extend([term.width.bits() as u64, term.is_of_item.into()]);
            numbers.extend(noise(term.noise));
        }
        let of_lookup = |Lookup { positions, labels, rows }| [positions, labels, rows];
        numbers.extend(self.lookup.into_iter().flat_map(of_lookup).map(|number| number as u64));
        numbers.extend(self.people.map(|most| most as u64));
        let mut name = blake3::Hasher::new_derive_key(context);
        for number in numbers {
            name.update(&number.to_le_bytes());
        }
        name.finalize()
    }

    /// Checks that the plan makes sense.
    ///
    /// # Panics
    /// If it does not: a bound is exceeded, T has no text for S to learn, noise or a threshold stands beside a
    /// remainder, a remainder has no minimum, or an item may count in several cells, in spite of noise or a remainder.
    fn assert_sound(&self) {
        let Cells { learner, least, threshold, count_noise, remainder, text_len, .. } = self.cells;
        assert!((1..=MAX_GROUPS).contains(&self.cell_count()), "1 to {MAX_GROUPS} cells");
        assert!((1..=64).contains(&self.factor_bits), "factors of 1 to 64 bits");
        assert!(self.partitions > 0, "sets have a partition");
        self.lookup.into_iter().for_each(Lookup::assert_sound);
        let fits = |most: usize| (1..=MAX_ITEMS_OF_PERSON).contains(&most);
        assert!(self.people.is_none_or(fits), "a person has 1 to {MAX_ITEMS_OF_PERSON} items");
        self.assert_people();
        let numbers = usize::from(self.counts()) + self.terms.len();
        let numbers = numbers * self.other_groups;
        assert!((1..=MAX_NUMBERS).contains(&numbers), "1 to {MAX_NUMBERS} numbers");
        let is_one = |term: &Term| term.column.is_some() || term.times.is_none();
        assert!(self.terms.iter().all(is_one), "only a column is multiplied");
        let is_square = |term: &Term| term.kind() == TermKind::Table && term.times.is_some();
        let squares = self.other_groups > 1 && self.terms.iter().any(is_square);
        assert!(!squares, "a product of two numbers of T's is not multiplied with S's labels");
        let fits = |term: &Term| (self.factor_bits as usize) < term.width.bits();
        let mut mixed = self.terms.iter().filter(|term| term.kind() == TermKind::Mixed);
        assert!(mixed.all(fits), "products are wider than their factors");
        assert!(text_len == 0 || learner == Owner::Other, "T knows its own texts");
        assert!(text_len == 0 || least > 0, "a text is shown of a cell with enough matches");
        let is_alone = self.terms.is_empty() && text_len == 0;
        assert!(threshold.is_none() || is_alone, "a threshold is all that is shown");
        // A number without noise would show what the noise of another hides.
        let count = self.counts().then_some(count_noise);
        let mut noises = self.terms.iter().map(|term| term.noise).chain(count);
        let some = noises.clone().any(|noise| noise.is_some());
        assert!(!some || noises.all(|noise| noise.is_some()), "noise on every number, or on none");
        assert!(!some || text_len == 0, "that a text is shown is a fact without noise");
        let is_plain = least > 0 && !some && threshold.is_none();
        assert!(!remainder || is_plain, "a remainder of cells with a minimum, and without noise");
        let is_in_several = self.rows_of_item() > 1 && self.labels_of_match() > 1;
        assert!(!is_in_several || !remainder && !some, "items in several cells are not added up");
    }

    /// The computation on whole sets.
    ///
    /// # Panics
    /// If a bound of the plan is exceeded.
    pub fn on_sets(&self) -> Selection {
        self.assert_sound();
        assert_eq!(self.partitions, 1, "whole sets");
        Functionality {
            name: self.name("vesica psi select v1"),
            sizes: self.sizes,
            known: self.clone(),
            sender: |plan, channel, rng| {
                Ok(match plan.other_groups {
                    1 => Box::new(share::CellSharing::<_, true>::sender(plan, channel, rng)?),
                    _ => Box::new(Spread::prepare(plan, Owner::Other, channel, rng)?),
                })
            },
            receiver: |plan, channel, rng| {
                Ok(match plan.other_groups {
                    1 => Box::new(share::CellSharing::<_, true>::receiver(plan, channel, rng)?),
                    _ => Box::new(Spread::prepare(plan, Owner::Table, channel, rng)?),
                })
            },
        }
    }

    /// The computation of shares for one partition.
    ///
    /// # Panics
    /// Same as [`on_sets`](Self::on_sets).
    pub fn on_partition(&self) -> PartialSelection {
        self.assert_sound();
        Functionality {
            name: self.name("vesica psi select partition v1"),
            sizes: self.sizes,
            known: self.clone(),
            sender: |plan, channel, rng| sharer(plan, Owner::Other, channel, rng),
            receiver: |plan, channel, rng| sharer(plan, Owner::Table, channel, rng),
        }
    }

    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub fn failures(&self) -> Vec<Failure> {
        self.spread().circuit_psi().failures::<Silent>()
    }

    /// Predicted cost, for sets whose messages are sent in one piece.
    pub fn cost(&self) -> Cost {
        cost::cost(self)
    }

    /// The predicted peak memory of each party, its values included.
    pub fn memory(&self) -> Memory {
        cost::memory(self)
    }

    /// Checks the number of marks, values, positions and labels, and that positions and labels are in range.
    fn assert_shapes(&self, owner: Owner, input: Input<'_>) {
        let Input { items, counted, columns, positions, choices, labels, people, .. } = input;
        let n = items.len();
        assert!(counted.is_none_or(|counted| counted.len() == n), "a mark for each item");
        let rows = n * self.rows_of(owner);
        assert!(columns.iter().all(|column| column.len() == rows), "a value for each row");
        let (groups, of_item) = match (owner, self.lookup) {
            (Owner::Table, Some(lookup)) => (self.groups, lookup.labels),
            (Owner::Table, None) => (self.groups, 1),
            (Owner::Other, _) => (self.other_groups, 1),
        };
        let labelled = if groups > 1 { n * of_item } else { 0 };
        assert_eq!(labels.len(), labelled, "labels for each item");
        self.assert_positions(owner, n, positions, choices);
        self.assert_persons(owner, n, people);
        let outside = labels.iter().fold(false, |some, label| some | (*label as usize >= groups));
        assert!(declassify(u8::from(outside)) == 0, "labels are below the number of groups");
    }

    /// Refuses a party's values if a sum of them could wrap, or if a factor of T's has more bits than the plan says.
    /// Runs on whole sets check their input. For sets in partitions, the caller sees to it that no sum of all items can
    /// wrap, and with labels of S that T's numbers have no more bits than factors.
    ///
    /// # Errors
    /// [`Error::SumTooLarge`].
    ///
    /// # Panics
    /// If there is not a value, label, mark, position or table for each item, a column is missing, or a label or a
    /// position is out of range.
    pub fn check(&self, owner: Owner, input: Input<'_>) -> Result<()> {
        self.assert_shapes(owner, input);
        let Input { items, columns, .. } = input;
        let n = items.len() * self.rows_of(owner);
        // Each row of S's may count once more what T has.
        let times_rows = (self.rows_of_item() / self.rows_of(owner)) as u128;
        let (mut too_large, weights) = (false, self.weights(input));
        for term in &self.terms {
            let value = |column: Column, i: usize| {
                let weight = weights.get(i).unwrap_or(&1);
                u128::from(columns[column.index][i].unsigned_abs()) * weight
            };
            let sum = |column: Column| times_rows * (0..n).map(|i| value(column, i)).sum::<u128>();
            let [first, times] = [term.column, term.times];
            let own = |column: Option<Column>| column.filter(|column| column.owner == owner);
            // Noise on the widest sums takes one more bit.
            let is_full = term.width == Width::Bits128 && term.noise.is_some();
            let wide = term.width.bits() as u32 - u32::from(is_full);
            too_large |= match (own(first), own(times), times) {
                (Some(column), None, None) => sum(column) >> (wide - 1) > 0,
                (Some(a), Some(b), _) => {
                    let products = (0..n).map(|i| value(a, i) * value(b, i));
                    let products = products.fold(0, u128::saturating_add);
                    products.saturating_mul(times_rows) >> (wide - 1) > 0
                }
                (Some(factor), None, Some(_)) | (None, Some(factor), _) => match owner {
                    Owner::Table => {
                        let least = -(1_i128 << (self.factor_bits - 1));
                        let values = columns[factor.index].iter().map(|value| i128::from(*value));
                        values.fold(false, |some, x| some | (x < least) | (x >= -least))
                    }
                    Owner::Other => sum(factor) >> (wide - self.factor_bits) > 0,
                },
                (None, None, _) => false,
            };
        }
        if declassify(u8::from(too_large)) == 1 {
            return Err(Error::SumTooLarge);
        }
        Ok(())
    }

    /// Step 8 on the shares of all partitions together; the party that learns the cells gets them. `texts` are T's, one
    /// for each cell, if the plan has texts and this party is T. The first generator is fresh. The second makes this
    /// party's part of the noise: with the same one, a repeated opening gives the same numbers.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn open(
        &self,
        party: Owner,
        share: &CellShares,
        texts: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        noise: &mut dyn CryptoRng,
    ) -> Result<Option<OpenedCells>> {
        let plan = self.joint();
        let triples = Silent::TRIPLES.make(party.role(), &cells::demand(&plan), channel, rng)?;
        cells::open(&plan, party, share, texts, triples, channel, noise)
    }
}

/// Prepares a party that computes its share of the cells of one partition.
fn sharer(
    plan: Plan,
    me: Owner,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<Sharer>> {
    match plan.other_groups {
        1 => share::prepare(plan, me, channel, rng),
        _ => Ok(Box::new(Spread::prepare(plan, me, channel, rng)?)),
    }
}

/// A number of S that travels with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Carried {
    /// The number of the term.
    term: usize,
    /// The row of the item.
    row: usize,
}

/// The parties whose numbers make up a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TermKind {
    /// Neither's.
    One,
    Table,
    Other,
    /// A product of a factor of each.
    Mixed,
}

impl Term {
    fn kind(&self) -> TermKind {
        let Self { column, times, .. } = *self;
        match (column.map(|column| column.owner), times) {
            (None, _) => TermKind::One,
            (Some(owner), Some(times)) if times.owner != owner => TermKind::Mixed,
            (Some(Owner::Table), _) => TermKind::Table,
            (Some(Owner::Other), _) => TermKind::Other,
        }
    }

    /// The value of an item, or of a row of it, of the only party that has columns of the term, or its factor of it.
    fn value(&self, owner: Owner, columns: &[&[i64]], at: usize) -> i128 {
        let value = |column: Column| i128::from(columns[column.index][at]);
        let own = [self.column, self.times].into_iter().flatten();
        own.filter(|column| column.owner == owner).map(value).product()
    }
}
