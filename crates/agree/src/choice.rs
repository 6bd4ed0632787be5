//! The choice of a method if neither side names one.
//!
//! Both sides know the sizes and the terms, but not the speed of the other's machine. So the connecting side chooses:
//! it measures the link's round trip, runs the planner with its own machine's figures, and names its choice. The other
//! side accepts any method that the terms allow.

use std::time::{Duration, Instant};

use vesica_core::{
    error::{Error, Result},
    parties::Role,
};
use vesica_net::Channel;
use vesica_planner::{Candidate, Figures, Planner, assumed_link};

const ECHO: &str = "vesica/echo";
const CHOICE: &str = "vesica/choice";

/// The maximum length of a method's name, in bytes.
const MAX_NAME: usize = 32;

/// The maximum number of further measurements of the round trip.
const REPETITIONS: usize = 3;

/// The planner's knowledge of a side's machine and link.
#[derive(Debug, Clone, Default)]
pub struct PlannerInputs {
    /// Measured runs on this machine; empty if it was not calibrated.
    pub figures: Figures,
    /// The maximum memory of a run on this side, in bytes; by default three quarters of the memory that this process
    /// may use.
    pub memory: Option<u64>,
    /// Whether this is a part of the memory of a process, in which other runs have parts of their own.
    pub is_part: bool,
    /// The minimum number of partitions in which the sets are compared; more are used if memory requires it. Both 0 and
    /// 1 mean as a whole.
    pub partitions: u32,
    /// The link's bandwidth; by default it is estimated from the round trip.
    pub bits_per_second: Option<u64>,
}

/// The measurement of the round trip, between the two sides' messages on [memory](super::memory).
pub struct Echo {
    role: Role,
    started: Instant,
}

impl Echo {
    /// Sends the request, on the connecting side.
    ///
    /// # Errors
    /// Every error of a send.
    pub fn send(role: Role, channel: &mut Channel) -> Result<Self> {
        if role == Role::A {
            channel.send(ECHO, &[])?;
        }
        Ok(Self { role, started: Instant::now() })
    }

    /// Answers the request; on the connecting side, receives the answer and returns the round trip.
    ///
    /// # Errors
    /// Every error of an exchange.
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

/// Agrees with the other side on one of `candidates`, and returns it. The candidates are the same on both sides, and at
/// least one. The connecting side knows the round trip.
///
/// # Errors
/// A peer that chose a method that the terms do not allow, and every error of an exchange.
pub fn agree(
    candidates: &[Candidate],
    round_trip: Option<Duration>,
    inputs: &PlannerInputs,
    channel: &mut Channel,
) -> Result<Candidate> {
    if let [only] = candidates {
        return Ok(*only);
    }
    match round_trip {
        Some(round_trip) => choose(candidates, round_trip, inputs, channel),
        None => await_choice(candidates, channel),
    }
}

/// Chooses a candidate and sends its name.
///
/// The first echo may have waited for a busy peer. If the choice would be worse over a shorter link, by more time than
/// another echo takes, the round trip is measured again.
fn choose(
    candidates: &[Candidate],
    mut round_trip: Duration,
    inputs: &PlannerInputs,
    channel: &mut Channel,
) -> Result<Candidate> {
    let planner = |round_trip| {
        let link = assumed_link(round_trip, inputs.bits_per_second);
        Planner { figures: inputs.figures.clone(), ..Planner::new(Some(link)) }
    };
    let best = |planner: &Planner| planner.rank(candidates).first().map(|best| best.candidate);
    let nearest = planner(Duration::ZERO);
    let quickest = best(&nearest);
    let mut repetitions = REPETITIONS;
    let chosen = loop {
        let Some((chosen, quickest)) = best(&planner(round_trip)).zip(quickest) else {
            // Without measurements, the first candidate is better than none.
            break candidates.first().copied();
        };
        let seconds = |way| nearest.predict(way).map_or(0.0, |predicted| predicted.seconds);
        let lost = seconds(&chosen) - seconds(&quickest);
        if repetitions == 0 || lost <= round_trip.as_secs_f64() {
            break Some(chosen);
        }
        channel.send(CHOICE, &[])?;
        channel.flush()?;
        let started = Instant::now();
        channel.recv_into(ECHO, &mut [])?;
        let again = started.elapsed();
        // About the same once more is the link.
        repetitions = if again * 10 > round_trip * 9 { 0 } else { repetitions - 1 };
        round_trip = round_trip.min(again);
    };
    let chosen = chosen.ok_or(Error::bug("there is a candidate to choose"))?;
    channel.send(CHOICE, chosen.key.as_bytes())?;
    channel.flush()?;
    Ok(chosen)
}

/// Answers further echoes, and receives the choice.
fn await_choice(candidates: &[Candidate], channel: &mut Channel) -> Result<Candidate> {
    let mut name = channel.recv_len(CHOICE, MAX_NAME)?;
    for _ in 0..REPETITIONS {
        if !name.is_empty() {
            break;
        }
        channel.send(ECHO, &[])?;
        channel.flush()?;
        name = channel.recv_len(CHOICE, MAX_NAME)?;
    }
    let chosen = candidates.iter().find(|candidate| candidate.key.as_bytes() == name);
    let not_allowed = "a protocol that the terms do not allow";
    Ok(*chosen.ok_or_else(|| channel.malformed(CHOICE, not_allowed))?)
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

    /// Returns the choice of both sides over this link, from the connecting side's measurements on its machine.
    fn chosen(link: Link, adversary: Adversary, figures: &Figures) -> &'static str {
        let (a, b) = memory::pair();
        let candidates = Candidate::protocols(SIZES, adversary);
        let side = |role, end| {
            let mut channel = Channel::new(Shaped::new(end, link));
            let round_trip = Echo::send(role, &mut channel).unwrap().finish(&mut channel).unwrap();
            let inputs = PlannerInputs { figures: figures.clone(), ..PlannerInputs::default() };
            agree(&candidates, round_trip, &inputs, &mut channel).unwrap().key
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
    fn both_sides_agree_on_the_choice_of_the_planner() {
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

    /// The time that a busy peer takes to answer is not the link's.
    #[test]
    fn a_peer_that_answers_the_first_echo_late_does_not_decide() {
        let candidates = Candidate::protocols(SIZES, Adversary::SemiHonest);
        // In as many partitions, round trips count most.
        let candidates =
            candidates.into_iter().map(|candidate| Candidate { partitions: 4096, ..candidate });
        let candidates: Vec<_> = candidates.collect();
        let inputs = PlannerInputs::default();
        let best = |round_trip| {
            let planner = Planner::new(Some(assumed_link(round_trip, None)));
            planner.rank(&candidates)[0].candidate.key
        };
        let late = Duration::from_secs(600);
        assert_ne!(best(late), best(Duration::ZERO));
        let (a, b) = memory::pair();
        let side = |round_trip, end| {
            agree(&candidates, round_trip, &inputs, &mut Channel::new(end)).unwrap().key
        };
        let side = &side;
        let [here, there] = thread::scope(|scope| {
            let there = scope.spawn(move || side(None, b));
            [side(Some(late), a), there.join().unwrap()]
        });
        assert_eq!([here, there], [best(Duration::ZERO); 2]);
    }

    #[test]
    fn a_method_that_is_slow_on_this_machine_is_not_chosen() {
        let near = Link { bits_per_second: 1 << 40, round_trip: Duration::ZERO };
        let usual = chosen(near, Adversary::SemiHonest, &Figures::default());
        let entry = vesica_psi::find(usual).unwrap();
        let mut figures = Figures::default();
        let run = vesica_planner::Run { items: SIZES.sender, seconds: 3600.0, memory_bytes: None };
        figures.insert(entry.key, run);
        // From this run only, the planner would conclude that the whole machine is slow.
        for (name, run) in Figures::reference().iter().filter(|(name, _)| *name != entry.key) {
            figures.insert(name, run);
        }
        assert_ne!(chosen(near, Adversary::SemiHonest, &figures), usual);
    }

    #[test]
    fn a_choice_that_the_terms_do_not_allow_is_refused() {
        for name in ["rr22", "naive", "rr99", ""] {
            let (a, b) = memory::pair();
            let error = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut channel = Channel::new(a);
                    // An empty name asks for an echo, a few times.
                    for _ in 0..=REPETITIONS {
                        channel.send(CHOICE, name.as_bytes()).unwrap();
                    }
                    channel.flush().unwrap();
                    while channel.recv_into(ECHO, &mut []).is_ok() {}
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
    fn the_round_trip_of_the_link_is_measured() {
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
