//! Numbers about an intersection, without its items.
//!
//! What most people who ask for an intersection want is a number: how many items are shared, what the values
//! of the shared ones add up to, whether there are at least so many. A [`Method`] answers such a [`Question`]
//! to the receiver; the sender learns no more than from an intersection, which is the size of the receiver's
//! set, unless the method says otherwise. [`METHODS`] lists them all.
//!
//! A number can give a row away: the sum over an intersection of one item is that item's value. A question
//! may therefore come with a *minimum*: of an intersection with fewer items nothing is told except that it is
//! smaller. Methods that show the receiver the size itself cannot withhold it, and do not take a minimum.
//!
//! To compute something else, use [`shares`]: it tells nobody a number, but provides the input of another
//! two-party computation.
//!
//! Values are signed integers of 64 bits, one per item. A party whose values have magnitudes that add up to
//! 2^63 or more is refused before the run ([`Error::SumTooLarge`]). A sum of values therefore fits 64 bits, and
//! a sum of products, whose magnitude is below 2^126, fits 128. No sum wraps.

pub mod circuit;
pub mod dh;
pub mod dh_sum;
pub mod shares;

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{
    Adversary, Cost, Error, Items, Leakage, Memory, Result, Sizes, Status,
    parts::session::{agree, bind},
};

/// What the receiver wants to know of the intersection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// How many items it has.
    Count,
    /// What the sender's values of its items add up to.
    SumOfSender,
    /// What the receiver's values of its items add up to.
    SumOfReceiver,
    /// What the products of both parties' values of its items add up to.
    Products,
    /// Whether it has at least so many items.
    AtLeast(u64),
}

impl Question {
    /// Whether the sender brings a value for each item.
    pub fn takes_senders_values(self) -> bool {
        matches!(self, Self::SumOfSender | Self::Products)
    }

    /// Whether the receiver brings a value for each item.
    pub fn takes_receivers_values(self) -> bool {
        matches!(self, Self::SumOfReceiver | Self::Products)
    }

    /// Number and parameter, for the parties to compare.
    fn to_bytes(self) -> [u8; 9] {
        let (number, parameter) = match self {
            Self::Count => (0, 0),
            Self::SumOfSender => (1, 0),
            Self::SumOfReceiver => (2, 0),
            Self::Products => (3, 0),
            Self::AtLeast(least) => (4, least),
        };
        let mut bytes = [number; 9];
        bytes[1..].copy_from_slice(&parameter.to_le_bytes());
        bytes
    }
}

/// A question, and what both parties know of it beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inquiry {
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// What is asked.
    pub question: Question,
    /// Of an intersection with fewer items than this nothing else is told.
    pub minimum: u64,
}

impl Inquiry {
    /// A hash that names the question, its minimum and the method that answers it.
    fn name(&self, method: &Method) -> blake3::Hash {
        let Self { question, minimum, .. } = *self;
        assert!((method.answers)(question, minimum), "{} does not answer this", method.key);
        let mut name = blake3::Hasher::new_derive_key("vesica psi inquiry v1");
        name.update(&question.to_bytes()).update(&minimum.to_le_bytes());
        name.update(method.key.as_bytes()).finalize()
    }
}

/// What the receiver gets to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// To [`Question::Count`].
    Count(u64),
    /// To a question for a sum. Products can add up to anything between −2^126 and 2^126.
    Sum(i128),
    /// To [`Question::AtLeast`].
    AtLeast(bool),
    /// There are fewer items than the minimum.
    TooFew,
}

/// The party that helps to find the answer, ready for its input.
pub trait Helper: Send {
    /// The part that needs the items, and their values where the question takes the sender's; otherwise
    /// `values` is empty.
    ///
    /// # Errors
    /// As [`Sender::send`](crate::Sender::send).
    fn help(
        self: Box<Self>,
        items: Items<'_>,
        values: &[i64],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()>;
}

/// The party that learns the answer, ready for its input.
pub trait Asker: Send {
    /// The part that needs the items, and their values where the question takes the receiver's; otherwise
    /// `values` is empty.
    ///
    /// # Errors
    /// As [`Receiver::receive`](crate::Receiver::receive).
    fn ask(
        self: Box<Self>,
        items: Items<'_>,
        values: &[i64],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Answer>;
}

/// The part of a method that needs no input but the inquiry; it makes a party that is ready for its input.
pub type Prepare<Party> = fn(Inquiry, &mut Channel, &mut dyn CryptoRng) -> Result<Box<Party>>;

/// One way to an answer.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name everywhere.
    pub key: &'static str,
    /// One line on what it is made of.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// What it may be used for.
    pub status: Status,
    /// Against whom it keeps its promise, computed from its parts.
    pub adversary: Adversary,
    /// Whether a party gets to know the size of the intersection where it was not asked for. Such a method is for
    /// parties that both know of it.
    pub tells_size: bool,
    /// Whether it answers a question with this minimum.
    pub answers: fn(Question, minimum: u64) -> bool,
    /// Who learns what.
    pub learns: fn(Question) -> Leakage,
    /// Predicted cost.
    pub cost: fn(Inquiry) -> Cost,
    /// The most memory that each party is predicted to hold, its values included.
    pub memory: fn(Inquiry) -> Memory,
    /// Prepares a helper.
    pub helper: Prepare<dyn Helper>,
    /// Prepares an asker.
    pub asker: Prepare<dyn Asker>,
}

const TOLD: &str = "answer/told";

/// Every method there is, the one that is to be preferred first.
pub static METHODS: &[&Method] = &[&circuit::RS21, &dh::COUNT, &dh_sum::SUM];

/// The method with this key.
pub fn find(key: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.key == key)
}

/// Prepares the helper for a set of so many items, with the sizes and the question agreed on before.
///
/// # Errors
/// A deviation where the peer says otherwise, and what a method's preparation can meet.
///
/// # Panics
/// Where the method does not answer the question.
pub fn prepare_helper(
    method: &Method,
    inquiry: Inquiry,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Helper>> {
    let Sizes { sender, receiver } = inquiry.sizes;
    agree(&inquiry.name(method), sender, receiver..=receiver, channel)?;
    helper_for(method, inquiry, channel, rng)
}

/// As [`prepare_helper`], for parties that have agreed on the method and the inquiry already.
///
/// # Errors
/// What a method's preparation can meet.
///
/// # Panics
/// As [`prepare_helper`].
pub fn helper_for(
    method: &Method,
    inquiry: Inquiry,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Helper>> {
    bind(&inquiry.name(method), inquiry.sizes, channel);
    (method.helper)(inquiry, channel, rng)
}

/// Prepares the asker; see [`prepare_helper`].
///
/// # Errors
/// As [`prepare_helper`].
///
/// # Panics
/// As [`prepare_helper`].
pub fn prepare_asker(
    method: &Method,
    inquiry: Inquiry,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Asker>> {
    let Sizes { sender, receiver } = inquiry.sizes;
    agree(&inquiry.name(method), receiver, sender..=sender, channel)?;
    asker_for(method, inquiry, channel, rng)
}

/// As [`prepare_asker`], for parties that have agreed on the method and the inquiry already.
///
/// # Errors
/// As [`helper_for`].
///
/// # Panics
/// As [`prepare_helper`].
pub fn asker_for(
    method: &Method,
    inquiry: Inquiry,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Asker>> {
    bind(&inquiry.name(method), inquiry.sizes, channel);
    (method.asker)(inquiry, channel, rng)
}

/// Runs the helper's side on a set of distinct items.
///
/// # Errors
/// As [`crate::send`], and [`Error::SumTooLarge`].
///
/// # Panics
/// Where there is not a value for each item of a question that takes them.
pub fn help(
    method: &Method,
    inquiry: Inquiry,
    items: Items<'_>,
    values: &[i64],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    check_values(inquiry.question.takes_senders_values(), items, values)?;
    let helper = prepare_helper(method, inquiry, channel, rng)?;
    helper.help(items, values, channel, rng)?;
    Ok(channel.flush()?)
}

/// Runs the asker's side on a set of distinct items.
///
/// # Errors
/// As [`help`].
///
/// # Panics
/// As [`help`].
pub fn ask(
    method: &Method,
    inquiry: Inquiry,
    items: Items<'_>,
    values: &[i64],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Answer> {
    check_values(inquiry.question.takes_receivers_values(), items, values)?;
    prepare_asker(method, inquiry, channel, rng)?.ask(items, values, channel, rng)
}

/// Tells the helper the answer too.
///
/// # Errors
/// Whatever the connection makes go wrong.
pub fn tell(answer: Answer, channel: &mut Channel) -> Result<()> {
    channel.phase("reveal");
    let (kind, number) = match answer {
        Answer::Count(count) => (0, count.into()),
        Answer::Sum(sum) => (1, sum as u128),
        Answer::AtLeast(is) => (2, is.into()),
        Answer::TooFew => (3, 0),
    };
    let mut bytes = [kind; 17];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    channel.send(TOLD, &bytes)?;
    Ok(channel.flush()?)
}

/// The helper's side of [`tell`]. A malicious asker can say what it likes.
///
/// # Errors
/// A deviation where what was told is no answer to the question.
pub fn learn(question: Question, channel: &mut Channel) -> Result<Answer> {
    channel.phase("reveal");
    let mut bytes = [0; 17];
    channel.recv_into(TOLD, &mut bytes)?;
    let (kind, number) = bytes.split_first_chunk::<1>().expect("seventeen bytes");
    let number = u128::from_le_bytes(number.try_into().expect("sixteen bytes"));
    let answer = match (kind[0], question) {
        (0, Question::Count) => u64::try_from(number).ok().map(Answer::Count),
        (1, Question::SumOfSender | Question::SumOfReceiver | Question::Products) => {
            Some(Answer::Sum(number as i128))
        }
        (2, Question::AtLeast(_)) if number <= 1 => Some(Answer::AtLeast(number == 1)),
        (3, _) => Some(Answer::TooFew),
        _ => None,
    };
    Ok(answer.ok_or_else(|| channel.malformed(TOLD, "no answer to the question"))?)
}

/// Refuses values whose magnitudes add up to 2^63 or more, and with which a sum could wrap.
///
/// # Errors
/// [`Error::SumTooLarge`].
///
/// # Panics
/// Where `wanted` values are not one an item.
pub fn check_values(wanted: bool, items: Items<'_>, values: &[i64]) -> Result<()> {
    assert_eq!(values.len(), if wanted { items.len() } else { 0 }, "a value for each item");
    let magnitudes = values.iter().map(|value| u128::from(value.unsigned_abs()));
    if magnitudes.sum::<u128>() > i64::MAX as u128 {
        return Err(Error::SumTooLarge);
    }
    Ok(())
}
