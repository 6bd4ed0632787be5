//! Shares for a later computation: the hidden matches of circuit PSI, which neither party sees. Semi-honest.
//!
//! After the three steps of [circuit PSI](crate::circuit_psi) the parties hold XOR shares of a bit m_j for
//! each bin of R's table.
//!
//! 4. If items have values, a circuit of one level multiplies them with m_j: R's value x_j, which is 0 in a bin
//!    without an item and has S's share 0, and S's value y_j = v'_j ⊕ w_j. The result is fresh shares of the
//!    values at matches, and of 0 everywhere else.
//!
//! If R's items belong to [people](crate::select::people), the bits of each person are joined before step 4, so that
//! there are positions in place of bins: at a person's first position is whether any of its items matches, at all
//! others 0. S has no values then, because a person may match several of its items.
//!
//! Each party keeps its shares. It learns the size of the other's set and nothing else: on their own, its
//! shares are uniform. Only R knows which of its items, or people, is in which bin.

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Party as Role, Values as _, WireBits,
    gadgets::{select::keep, wires},
    gmw::{self, Gmw},
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_params::Failure;
use zeroize::Zeroizing;

use super::{Valued, circuit::RS21};
use crate::{
    Adversary, Cost, Functionality, Leakage, Memory, Party, Result, Setting, Sizes, Status,
    circuit_psi::{
        Construction, Masking, Parameters, ReceiverBins, Receiving, SenderBins, Sending,
        TRIPLE_ROUNDS, memory, offline_bytes,
        ots::{self, OtReceiver, OtSender},
        people::{Joined, Joining},
        rs21::Silent,
    },
    select::MAX_ITEMS_OF_PERSON,
};

/// The values that are to be shared, with the parameters that both parties know beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// The sizes of the two sets, or of one partition of each.
    pub sizes: Sizes,
    /// The number of partitions in which the sets are compared; 1 for whole sets.
    pub partitions: usize,
    /// Whether the sender's items have values.
    pub of_sender: bool,
    /// Whether the receiver's items have values.
    pub of_receiver: bool,
    /// The most items of one of the receiver's people, if its items belong to people.
    pub people: Option<usize>,
}

/// One party's shares of the bins of the receiver's table, or of the positions of its people: XORed with the other
/// party's, one by one, they are the secret.
pub struct Shares {
    /// Whether the bin's item, or any item of the person, is in both sets.
    pub members: Zeroizing<Vec<bool>>,
    /// The sender's value of that item, or 0 if it is not in both sets; `None` without such values.
    pub of_sender: Option<Zeroizing<Vec<u64>>>,
    /// The receiver's value of that item, in the same way.
    pub of_receiver: Option<Zeroizing<Vec<u64>>>,
    /// The receiver's: the position of each bin's item, or of an item of the person, among its items; `None` in a bin
    /// without one.
    pub items: Option<Vec<Option<u32>>>,
}

/// The only method for shares.
#[derive(Debug, Clone, Copy)]
pub struct Sharing {
    /// Its name everywhere.
    pub key: &'static str,
    /// The uses that it is fit for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// Its leakage to each party.
    pub learns: Leakage,
}

/// The sharing with the construction of `rs21-circuit`.
pub static SHARING: Sharing = Sharing {
    key: RS21.key,
    status: RS21.status,
    adversary: RS21.adversary,
    learns: Leakage {
        receiver: "the size of the sender's set",
        sender: "the size of the receiver's set",
    },
};

/// Bits of a value.
const VALUE_BITS: usize = 64;

impl Outline {
    fn plan(&self) -> Parameters {
        let setting = Setting::from(self.sizes).one_of(self.partitions);
        Parameters::new(setting, self.of_sender.then_some(Masking::Xor(size_of::<u64>())))
    }

    fn joining(&self) -> Option<Joining> {
        self.people.map(|most| Joining { bins: self.bins(), most, clears: true })
    }

    /// Checks that the receiver's items can belong to people, if they do.
    ///
    /// # Panics
    /// If they cannot: a person may have too many items, the sender has values, or the sets are in partitions, in which
    /// a person's items lie in several.
    fn assert_people(&self) {
        let Some(most) = self.people else { return };
        let fits = (1..=MAX_ITEMS_OF_PERSON).contains(&most);
        assert!(fits, "a person has 1 to {MAX_ITEMS_OF_PERSON} items");
        assert!(!self.of_sender && self.partitions == 1, "values of people, in whole sets");
    }

    /// Step 4 for one bin: from m, R's value and S's value, if they exist.
    fn selection(&self) -> Option<Circuit> {
        let bits = VALUE_BITS * (usize::from(self.of_receiver) + usize::from(self.of_sender));
        let mut builder = Builder::new(1 + bits);
        let kept = keep(&mut builder, 0, &wires(1, bits));
        (bits > 0).then(|| builder.finish(kept))
    }

    fn demand(&self) -> Demand {
        let plan = self.plan();
        let selected = self.selection().map(|c| Demand::of_products(&c, plan.bins()));
        plan.demand::<Silent>() + selected.unwrap_or_default()
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        self.plan().bins()
    }

    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub fn failures(&self) -> Vec<Failure> {
        self.plan().failures::<Silent>()
    }

    /// Predicted cost.
    pub fn cost(&self) -> Cost {
        let plan = self.plan();
        let selection = self.selection();
        let selected = selection.as_ref().map_or(0, |c| gmw::bytes(c, plan.bins(), true));
        let mut bytes = plan.bytes::<Silent>() + offline_bytes::<Silent>(&self.demand());
        let joining = self.joining();
        if let Some(joining) = joining {
            bytes = bytes + ots::setup_bytes() + joining.bytes();
        }
        // For a selection, the rounds of triples and one of products.
        let of_selection = selection.map_or(0, |_| TRIPLE_ROUNDS + 1);
        let of_people = joining.map_or(0, |joining| ots::SETUP_ROUNDS + joining.rounds());
        Cost {
            bytes_to_sender: (bytes.to_sender + selected) as f64,
            bytes_to_receiver: (bytes.to_receiver + selected) as f64,
            rounds: Silent::ROUNDS + of_selection + of_people,
        }
    }

    /// The predicted peak memory of each party, its values and its shares included.
    pub fn memory(&self) -> Memory {
        let more = self.joining().map_or(0, Joining::memory) as f64;
        memory::<Silent>(&self.plan()).and(more, more)
    }

    /// The sharing that both parties run.
    ///
    /// # Panics
    /// If there are people with more than [`MAX_ITEMS_OF_PERSON`] items, values of the sender, or in partitions.
    pub fn functionality(&self) -> SharingOn {
        self.assert_people();
        let mut name = blake3::Hasher::new_derive_key("vesica psi shares v1");
        name.update(&[self.of_sender.into(), self.of_receiver.into()]);
        if let Some(most) = self.people {
            name.update(b"+people").update(&(most as u64).to_le_bytes());
        }
        Functionality {
            name: name.update(SHARING.key.as_bytes()).finalize(),
            sizes: self.sizes,
            known: *self,
            sender: |outline, channel, rng| {
                let party = Sending::prepare(outline.plan(), &outline.demand(), channel, rng)?;
                let ot = outline.people.map(|_| ots::sender(channel, rng)).transpose()?;
                Ok(Box::new(Sender { outline, party, ot }))
            },
            receiver: |outline, channel, rng| {
                let party = Receiving::prepare(outline.plan(), &outline.demand(), channel, rng)?;
                let ot = outline.people.map(|_| ots::receiver(channel, rng)).transpose()?;
                Ok(Box::new(Receiver { outline, party, ot }))
            },
        }
    }
}

/// A party that gets shares for its items and values.
pub type Sharer = dyn for<'a> Party<Valued<'a>, Shares>;

/// The sharing that an outline states.
pub type SharingOn = Functionality<Sharer, Sharer, Outline>;

/// The sender, ready for its items.
struct Sender {
    outline: Outline,
    party: Sending<Silent>,
    /// For people.
    ot: Option<OtSender>,
}

impl Party<Valued<'_>, Shares> for Sender {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Shares> {
        let Self { outline, party, ot } = *self;
        let Valued { items, values, .. } = check(outline.of_sender, false, input);
        let values: Zeroizing<Vec<u8>> =
            Zeroizing::new(values.iter().flat_map(|value| value.to_le_bytes()).collect());
        let SenderBins { mut matches, masks, triples } =
            party.bins(items, &values, channel, rng)?;
        if let Some((joining, mut ot)) = outline.joining().zip(ot) {
            matches = joining.hidden(&matches, &mut ot, channel, rng)?;
        }
        let masks = numbers(&masks);
        // 4.
        let mine =
            Zeroizing::new(vec![0; if outline.of_receiver { matches.instances() } else { 0 }]);
        conclude(&outline, Role::First, &matches, [mine, masks], triples, channel)
    }
}

/// The receiver, ready for its items.
struct Receiver {
    outline: Outline,
    party: Receiving<Silent>,
    /// For people.
    ot: Option<OtReceiver>,
}

impl Party<Valued<'_>, Shares> for Receiver {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Shares> {
        let Self { outline, party, ot } = *self;
        let Valued { items, values, people } =
            check(outline.of_receiver, outline.people.is_some(), input);
        let ReceiverBins { mut matches, values: theirs, mut items, triples } =
            party.bins(items, channel, rng)?;
        if let Some((joining, mut ot)) = outline.joining().zip(ot) {
            Joined { matches, items } =
                joining.known(&matches, &items, people, &mut ot, channel, rng)?;
        }
        let theirs = numbers(&theirs);
        // 4.
        let mut mine = Zeroizing::new(Vec::new());
        if outline.of_receiver {
            let value = |item: &Option<u32>| item.map_or(0, |item| values[item as usize] as u64);
            mine.extend(items.iter().map(value));
        }
        let shares = conclude(&outline, Role::Second, &matches, [mine, theirs], triples, channel)?;
        Ok(Shares { items: Some(items), ..shares })
    }
}

/// The numbers with these bytes.
fn numbers(bytes: &[u8]) -> Zeroizing<Vec<u64>> {
    let (numbers, _) = bytes.as_chunks();
    Zeroizing::new(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

fn check(has_values: bool, has_people: bool, input: Valued<'_>) -> Valued<'_> {
    let expected = |wanted| if wanted { input.items.len() } else { 0 };
    assert_eq!(input.values.len(), expected(has_values), "a value for each item");
    assert_eq!(input.people.len(), expected(has_people), "a person, or none, of each item");
    input
}

/// Step 4: this party's shares of the matches, of R's values and of S's values, if they exist.
fn conclude(
    outline: &Outline,
    role: Role,
    matches: &WireBits,
    values: [Zeroizing<Vec<u64>>; 2],
    triples: Triples,
    channel: &mut Channel,
) -> Result<Shares> {
    channel.phase("values");
    let bins = matches.instances();
    let mut kept = WireBits::zeros(0, bins);
    if let Some(selection) = outline.selection() {
        let present = values.iter().zip([outline.of_receiver, outline.of_sender]);
        let present = present.filter(|(_, is)| *is);
        let values: Vec<WireBits> =
            present.map(|(values, _)| WireBits::from_items(values, VALUE_BITS)).collect();
        let inputs =
            WireBits::stack(&[&[matches], &values.iter().collect::<Vec<_>>()[..]].concat());
        kept = Gmw::new(role, triples, channel).run(&selection, &inputs)?;
    }
    channel.flush()?;
    let mut next = 0;
    let mut take = |is: bool| {
        is.then(|| {
            next += VALUE_BITS;
            Zeroizing::new(kept.rows(next - VALUE_BITS..next).to_items())
        })
    };
    let [of_receiver, of_sender] = [take(outline.of_receiver), take(outline.of_sender)];
    let members = Zeroizing::new((0..bins).map(|bin| matches.get(0, bin)).collect());
    Ok(Shares { members, of_sender, of_receiver, items: None })
}
