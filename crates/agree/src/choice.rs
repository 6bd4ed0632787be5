//! The choice of a method where neither side names one.
//!
//! Both sides know the sizes and what the terms allow, but not how fast the other's machine is. So the connecting side
//! chooses: it measures the link's round trip, asks the planner with its own machine's figures, and names its choice. The
//! other side accepts any method that the terms allow.

use std::time::{Duration, Instant};

use vesica_core::{
    error::{Error, Result},
    parties::Role,
};
use vesica_net::Channel;
use vesica_planner::{Candidate, Figures, Planner, assumed_link};

const ECHO: &str = "vesica/echo";
const CHOICE: &str = "vesica/choice";

/// The longest name of a method, in bytes.
const MAX_NAME: usize = 32;

/// What the planner knows of a side's machine and link.
#[derive(Debug, Clone, Default)]
pub struct PlannerInputs {
    /// Measured runs on this machine; empty if it was not calibrated.
    pub figures: Figures,
    /// The most memory that a run may use on this side, in bytes; by default three quarters of what this process may
    /// use.
    pub memory: Option<u64>,
    /// The least number of partitions in which the sets are compared; more are taken if memory requires it. 0 is the same as
    /// 1: as a whole.
    pub partitions: u32,
    /// The link's bandwidth; by default it is guessed from the round trip.
    pub bits_per_second: Option<u64>,
}

/// The measurement of the round trip, between the two sides' messages on [memory](super::memory).
pub struct Echo {
    role: Role,
    started: Instant,
}

impl Echo {
    /// The connecting side begins it.
    ///
    /// # Errors
    /// What any send can meet.
    pub fn send(role: Role, channel: &mut Channel) -> Result<Self> {
        if role == Role::A {
            channel.send(ECHO, &[])?;
        }
        Ok(Self { role, started: Instant::now() })
    }

    /// The other side answers, and the connecting side knows how long that took.
    ///
    /// # Errors
    /// What any exchange can meet.
    pub fn finish(self, channel: &mut Channel) -> Result<Option<Duration>> {
        channel.recv_into(ECHO, &mut [])?;
        if self.role == Role::A {
            return Ok(Some(self.started.elapsed()));
        }
        channel.send(ECHO, &[])?;
        channel.flush()?;
        Ok(None)
    }
}

/// Agrees with the other side on one of `candidates`, which are the same on both and at least one, and
/// returns its key. The connecting side knows the round trip.
///
/// # Errors
/// A peer that chose something else, and what any exchange can meet.
pub fn agree(
    candidates: &[Candidate],
    round_trip: Option<Duration>,
    inputs: &PlannerInputs,
    channel: &mut Channel,
) -> Result<&'static str> {
    if let [only] = candidates {
        return Ok(only.key);
    }
    let Some(round_trip) = round_trip else {
        let name = channel.recv_len(CHOICE, MAX_NAME)?;
        let chosen = candidates.iter().find(|candidate| candidate.key.as_bytes() == name);
        let not_allowed = "a protocol that the terms do not allow";
        return Ok(chosen.ok_or_else(|| channel.malformed(CHOICE, not_allowed))?.key);
    };
    let link = assumed_link(round_trip, inputs.bits_per_second);
    let figures = inputs.figures.clone();
    let planner = Planner { figures, ..Planner::new(Some(link)) };
    let ranked = planner.rank(candidates);
    // One that was never measured is better than none.
    let first = ranked.first().map(|best| best.candidate.key);
    let chosen = first.or_else(|| candidates.first().map(|any| any.key));
    let key = chosen.ok_or(Error::bug("there is nothing to choose from"))?;
    channel.send(CHOICE, key.as_bytes())?;
    channel.flush()?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use vesica_core::error::Class;
    use vesica_net::transport::{
        memory,
        shaper::{Link, Shaped},
    };
    use vesica_psi::{Adversary, Sizes};

    use super::*;

    const SIZES: Sizes = Sizes { sender: 1 << 20, receiver: 1 << 20 };

    /// What both sides choose over this link, by what the connecting one measured on its machine.
    fn chosen(link: Link, adversary: Adversary, figures: &Figures) -> &'static str {
        let (a, b) = memory::pair();
        let candidates = Candidate::protocols(SIZES, adversary);
        let side = |role, end| {
            let mut channel = Channel::new(Shaped::new(end, link));
            let round_trip = Echo::send(role, &mut channel).unwrap().finish(&mut channel).unwrap();
            let inputs = PlannerInputs { figures: figures.clone(), ..PlannerInputs::default() };
            agree(&candidates, round_trip, &inputs, &mut channel).unwrap()
        };
        let side = &side;
        thread::scope(|scope| {
            let there = scope.spawn(move || side(Role::B, b));
            let here = side(Role::A, a);
            assert_eq!(here, there.join().unwrap());
            here
        })
    }

    #[test]
    fn both_sides_come_to_what_the_planner_says() {
        let far = Link { bits_per_second: 1 << 40, round_trip: Duration::from_millis(80) };
        for adversary in [Adversary::SemiHonest, Adversary::Malicious] {
            let key = chosen(far, adversary, &Figures::default());
            let entry = vesica_psi::find(key).unwrap();
            assert!(entry.adversary >= adversary);
            let planner = Planner::new(Some(assumed_link(Duration::from_millis(80), None)));
            let ranked = planner.rank(&Candidate::protocols(SIZES, adversary));
            assert_eq!(ranked[0].candidate.key, key);
        }
    }

    #[test]
    fn what_is_slow_on_this_machine_is_not_chosen() {
        let near = Link { bits_per_second: 1 << 40, round_trip: Duration::ZERO };
        let usual = chosen(near, Adversary::SemiHonest, &Figures::default());
        let entry = vesica_psi::find(usual).unwrap();
        let mut figures = Figures::default();
        let run = vesica_planner::Run { items: SIZES.sender, seconds: 3600.0, memory_bytes: None };
        figures.insert(entry.key, run);
        // From that one alone, the planner would take the whole machine to be slow.
        for (name, run) in Figures::reference().iter().filter(|(name, _)| *name != entry.key) {
            figures.insert(name, run);
        }
        assert_ne!(chosen(near, Adversary::SemiHonest, &figures), usual);
    }

    #[test]
    fn the_choice_of_what_the_terms_do_not_allow_is_refused() {
        for name in ["rr22", "naive", "rr99", ""] {
            let (a, b) = memory::pair();
            let error = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut channel = Channel::new(a);
                    channel.send(CHOICE, name.as_bytes()).unwrap();
                    channel.flush().unwrap();
                });
                let candidates = Candidate::protocols(SIZES, Adversary::Malicious);
                let mut channel = Channel::new(b);
                agree(&candidates, None, &PlannerInputs::default(), &mut channel).unwrap_err()
            });
            assert_eq!(error.class(), Class::Peer, "{name}: {error}");
            assert!(error.to_string().contains("do not allow"), "{error}");
        }
    }

    #[test]
    fn the_round_trip_is_that_of_the_line() {
        let link = Link { bits_per_second: 1 << 40, round_trip: Duration::from_millis(30) };
        let (a, b) = memory::pair();
        let measure = |role, end| {
            let mut channel = Channel::new(Shaped::new(end, link));
            Echo::send(role, &mut channel).unwrap().finish(&mut channel).unwrap()
        };
        let measured = thread::scope(|scope| {
            scope.spawn(move || measure(Role::B, b));
            measure(Role::A, a).unwrap()
        });
        assert!(measured >= link.round_trip, "{measured:?}");
    }
}
