//! Malicious parties: the code of an honest party with one step replaced. They are here and not in
//! `testkit::adversary` because they need the private state of the parties: cut and choose is tried a thousand
//! times on one setup of OT, with sizes so small that the probability of an undetected attack can be measured.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Deviation, Error as ChannelError};
use vesica_params::{KAPPA, LAMBDA, binomial::log2_choose};
use vesica_primitives::Bits;
use vesica_structures::tag_list;
use vesica_testkit::{
    adversary::{ATTEMPTS, failed_check, is_share},
    two_party::{Link, PATIENCE, between, run},
};

use super::{
    assignment::{CHECK_ONCE, CHECK_RANGE},
    cut_and_choose::{CHECK_COUNT, CHECK_PROOF, OpenedAnswer, receive_challenge},
    draw::subset,
    *,
};
use crate::Set;

/// Few enough OTs that attacks that rely on chance sometimes succeed.
const SMALL: Shape = Shape { weight: 4, part: 64, opened: 96, threshold: 30, set: 40, most: 128 };

/// Choices with `ones` ones.
fn choices(shape: Shape, ones: usize, rng: &mut StdRng) -> Bits {
    subset(shape.ots(), ones, &vesica_primitives::Seed::random(rng))
}

fn ones(bits: &Bits) -> usize {
    bits.iter().filter(|bit| *bit == 1).count()
}

/// The name of the check by which a party refused the other.
fn check(error: &Error) -> &'static str {
    match error {
        Error::Channel(error) => failed_check(error).unwrap_or_else(|| panic!("{error}")),
        other => panic!("no check failed: {other}"),
    }
}

/// The probability that the number of a receiver's ones that are opened satisfies `wanted`.
fn hypergeometric(shape: Shape, ones: usize, wanted: impl Fn(usize) -> bool) -> f64 {
    let choose = |n: usize, k: usize| log2_choose(n as u64, k as u64);
    let first = (shape.opened + ones).saturating_sub(shape.ots());
    (first..=ones.min(shape.opened))
        .filter(|x| wanted(*x))
        .map(|x| {
            let (others, rest) = (shape.ots() - ones, shape.opened - x);
            let log = choose(ones, x) + choose(others, rest) - choose(shape.ots(), shape.opened);
            log.exp2()
        })
        .sum()
}

/// The outcome of an attempt: the receiver's remaining hand, and S's result or the check by which it refused.
struct Outcome {
    hand: Hand,
    verdict: std::result::Result<Zeroizing<Vec<Block>>, &'static str>,
}

/// Many attempts of cut and choose with an honest S on one setup of OT, by a receiver that chooses `ones` ones
/// and answers with the result of `answer`, given its hand, the OTs to open and the previous answer.
fn attempts(
    shape: Shape,
    chosen: usize,
    answer: impl Fn(&Hand, &Bits, &mut StdRng, Option<OpenedAnswer>) -> OpenedAnswer + Sync,
) -> Vec<Outcome> {
    let (verdicts, hands) = run(
        Link::Memory,
        |channel, rng| {
            let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
            let verdicts: Vec<_> = (0..ATTEMPTS)
                .map(|_| {
                    let result = cut_and_choose::send(shape, &mut cot, channel, rng);
                    result.map_err(|error| check(&error))
                })
                .collect();
            Ok::<_, Error>(verdicts)
        },
        |channel, rng| {
            let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
            let mut last = None;
            let mut hands = Vec::new();
            for _ in 0..ATTEMPTS {
                let choices = choices(shape, chosen, rng);
                let hand = Hand::receive(shape, choices, &mut cot, channel)?;
                let opened = receive_challenge(shape, channel)?;
                let answer = answer(&hand, &opened, rng, last);
                answer.send(channel)?;
                last = Some(hand.open(&opened));
                hands.push(hand.without(&opened));
            }
            Ok(hands)
        },
    );
    verdicts.into_iter().zip(hands).map(|(verdict, hand)| Outcome { hand, verdict }).collect()
}

fn honest(hand: &Hand, opened: &Bits, _: &mut StdRng, _: Option<OpenedAnswer>) -> OpenedAnswer {
    hand.open(opened)
}

/// Too many ones pass with the expected probability, all ones never, and few do no harm.
#[test]
fn over_full_filters_pass_with_the_stated_probability() {
    for chosen in [0, SMALL.ones(), 95, 110, 125, 200, SMALL.ots()] {
        let outcomes = attempts(SMALL, chosen, honest);
        let passes = hypergeometric(SMALL, chosen, |opened| opened <= SMALL.threshold);
        let accepted = outcomes.iter().filter(|outcome| outcome.verdict.is_ok()).count();
        assert!(is_share(accepted, passes), "{chosen} ones: {accepted}, not {passes}");
        for Outcome { hand, verdict } in outcomes {
            match verdict {
                Err(check) => assert_eq!(check, CHECK_COUNT),
                // S has the strings of exactly the OTs that R has left.
                Ok(strings) => {
                    assert!(ones(&hand.choices) + SMALL.threshold >= chosen);
                    assert_eq!(strings.len(), SMALL.cells());
                    let ots = hand.choices.iter().zip(&*hand.strings).zip(&*strings);
                    ots.for_each(|((choice, own), one)| assert_eq!(own == one, choice == 1));
                }
            }
        }
    }
}

/// At λ = 4, a receiver that cheats in the best way sometimes succeeds, but not more often than 2^-4.
#[test]
fn no_more_ones_are_left_than_the_bound_says() {
    let shape = Shape::new(1, 4);
    let chosen = shape.most + 1 + shape.threshold;
    let outcomes = attempts(shape, chosen, honest);
    let left =
        |outcome: &&Outcome| outcome.verdict.is_ok() && ones(&outcome.hand.choices) > shape.most;
    let succeeded = outcomes.iter().filter(left).count();
    let chance = hypergeometric(shape, chosen, |opened| opened <= shape.threshold);
    assert!(chance <= 1.0 / 16.0 && chance > 1.0 / 1024.0, "{chance}");
    assert!(is_share(succeeded, chance), "{succeeded}, not {chance}");
}

/// A receiver that declares a one to be a zero lacks a string, and no substitute passes.
#[test]
fn ones_that_are_called_zeros_are_noticed() {
    // All of its own strings; the strings of its zeros; the sum with a guess.
    for way in 0..3 {
        let outcomes = attempts(SMALL, 200, |hand, opened, rng, _| {
            let honest = hand.open(opened);
            let all = opened.iter().zip(&*hand.strings).filter(|(opened, _)| *opened == 1);
            let proof = match way {
                0 => all.fold(Block::ZERO, |sum, (_, string)| sum ^ *string),
                1 => honest.proof,
                _ => honest.proof ^ Block(rng.random()),
            };
            OpenedAnswer { is_zero: (0..SMALL.opened).map(|_| true).collect(), proof }
        });
        assert!(outcomes.iter().all(|o| o.verdict.as_ref().err() == Some(&CHECK_PROOF)), "{way}");
    }
    // A single one among zeros is enough to be caught.
    let outcomes = attempts(SMALL, 40, |hand, opened, _, _| {
        let mut answer = hand.open(opened);
        let first = answer.is_zero.iter().position(|bit| bit == 0);
        if let Some(one) = first {
            answer.is_zero.set(one, 1);
        }
        answer
    });
    let refused =
        outcomes.iter().filter(|o| o.verdict.as_ref().err() == Some(&CHECK_PROOF)).count();
    assert_eq!(refused, ATTEMPTS);
}

/// Withheld zeros count as ones.
#[test]
fn short_opened_sets_are_refused() {
    let keeping = |kept: usize| {
        attempts(SMALL, 0, move |hand, opened, rng, _| {
            // All choices are zeros; the proof covers the opened OTs.
            let all = hand.open(opened);
            let is_kept = subset(SMALL.opened, kept, &vesica_primitives::Seed::random(rng));
            let strings = opened.iter().zip(&*hand.strings).filter(|(opened, _)| *opened == 1);
            let shown = is_kept.iter().zip(strings).filter(|(kept, _)| *kept == 0);
            let proof = shown.fold(Block::ZERO, |sum, (_, (_, string))| sum ^ *string);
            let is_zero = is_kept.iter().zip(all.is_zero.iter()).map(|(kept, zero)| zero > kept);
            OpenedAnswer { is_zero: is_zero.collect(), proof }
        })
    };
    assert!(keeping(SMALL.threshold).iter().all(|outcome| outcome.verdict.is_ok()));
    let refused = keeping(SMALL.threshold + 1);
    assert!(refused.iter().all(|outcome| outcome.verdict.as_ref().err() == Some(&CHECK_COUNT)));
}

#[test]
fn answers_of_another_run_are_refused() {
    let outcomes = attempts(SMALL, SMALL.ones(), |hand, opened, _, last| match last {
        Some(last) => last,
        None => hand.open(opened),
    });
    let refused = |o: &Outcome| matches!(o.verdict, Err(CHECK_COUNT | CHECK_PROOF));
    assert!(outcomes[0].verdict.is_ok() && outcomes[1..].iter().all(refused));
}

/// OTs beyond the opened ones cannot be named: they have no bit.
#[test]
fn more_than_was_asked_for_is_refused() {
    let refusal = |extra: fn(&mut Vec<Block>)| {
        let shape = Shape { opened: 100, ..SMALL };
        let (sent, _) = between::<_, _, Error>(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
                cut_and_choose::send(shape, &mut cot, channel, rng).map(|_| ())
            },
            |channel, rng| {
                let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
                let hand = Hand::receive(shape, Bits::zeros(shape.ots()), &mut cot, channel)?;
                let answer = hand.open(&receive_challenge(shape, channel)?);
                let mut bits = answer.is_zero.blocks().to_vec();
                extra(&mut bits);
                channel.send_slice("rr16/opened-zeros", &bits)?;
                channel.send_slice("rr16/proof", &[answer.proof])?;
                Ok(channel.flush()?)
            },
        );
        sent.unwrap_err().to_string()
    };
    let beyond = refusal(|bits| bits[0].0 |= 1 << 100);
    assert!(beyond.contains("bits beyond the last OT are not zero"), "{beyond}");
    let longer = refusal(|bits| bits.push(Block::ZERO));
    assert!(longer.contains("must have 16 bytes, announced 32"), "{longer}");
}

/// OTs from a dealer, in which R chose `chosen` ones.
fn dealt(shape: Shape, chosen: usize, rng: &mut StdRng) -> (Sender, Hand) {
    let cells = shape.cells();
    let choices = subset(cells, chosen, &vesica_primitives::Seed::random(rng));
    let ones: Vec<Block> = (0..cells).map(|_| Block::random(rng)).collect();
    let string = |(choice, one): (u8, &Block)| match choice {
        1 => *one,
        _ => Block::random(rng),
    };
    let strings = Zeroizing::new(choices.iter().zip(&ones).map(string).collect());
    (Sender { shape, ones: Zeroizing::new(ones) }, Hand { choices, strings })
}

fn items(count: usize, rng: &mut StdRng) -> Set {
    let mut blocks = || (0..count).map(|_| Block::random(rng)).collect();
    Set::long(blocks(), blocks())
}

/// An honest S with these items against a malicious receiver in the online phase.
fn against_sender<T: Send>(
    shape: Shape,
    chosen: usize,
    theirs: &Set,
    seed: u64,
    cheat: impl FnOnce(Hand, &mut Channel, &mut StdRng) -> Result<T> + Send,
) -> (Result<()>, Result<T>) {
    let (sender, hand) = dealt(shape, chosen, &mut StdRng::seed_from_u64(seed));
    between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| {
            Box::new(sender).run(theirs.items(), channel, rng)?;
            Ok(channel.flush()?)
        },
        |channel, rng| cheat(hand, channel, rng),
    )
}

/// An assignment changed at any place stops being a permutation, and is refused.
#[test]
fn assignments_that_are_no_permutation_are_refused() {
    let shape = Shape::new(1, LAMBDA);
    let set = items(2, &mut StdRng::seed_from_u64(1));
    for attempt in 0..ATTEMPTS {
        let is_beyond = attempt % 2 == 1;
        let (sent, _) = against_sender(shape, shape.set, &set, 1, |hand, channel, rng| {
            coin::toss_first(channel, rng)?;
            let mut assignment = assignment::draw(&Bits::zeros(shape.cells()), &hand.choices, rng)
                .expect("nothing is set");
            let mut random = StdRng::seed_from_u64(attempt as u64);
            let [to, from] = [0; 2].map(|_| random.random_range(0..shape.cells()));
            // If the opened OTs had numbers, they would follow the others.
            let beyond = (shape.cells() + random.random_range(0..shape.opened)) as u32;
            let largest = shape.cells().next_power_of_two() as u32 - 1;
            let other = assignment[if from == to { (to + 1) % shape.cells() } else { from }];
            assignment[to] = if is_beyond { beyond.min(largest) } else { other };
            assignment::send(&assignment, channel)?;
            channel.recv_into(LIST, &mut [0]).map_err(Error::from)
        });
        let expected = if is_beyond { CHECK_RANGE } else { CHECK_ONCE };
        assert_eq!(check(&sent.unwrap_err()), expected);
    }
}

#[test]
fn a_share_that_was_not_committed_to_is_refused() {
    let shape = Shape::new(1, LAMBDA);
    let set = items(2, &mut StdRng::seed_from_u64(1));
    for attempt in 0..ATTEMPTS as u64 {
        let (sent, _) = against_sender(shape, shape.set, &set, 1, |_, channel, rng| {
            let mut random = StdRng::seed_from_u64(attempt);
            channel.send("psi/seed-commitment", &random.random::<[u8; 32]>())?;
            channel.flush()?;
            let mut theirs = [Block::ZERO];
            channel.recv_slice("psi/seed-share", &mut theirs)?;
            // The share that would lead to a seed of its choice.
            channel.send_slice("psi/seed-opening", &theirs)?;
            coin::toss_first(channel, rng).map_err(Error::from)
        });
        assert_eq!(check(&sent.unwrap_err()), coin::CHECK);
    }
}

/// The number of S's items that R recognises if it assigns ones to the cells in `set` and tests each item.
fn recognized(shape: Shape, chosen: usize, theirs: &Set, set: &Bits) -> usize {
    let (sent, found) = against_sender(shape, chosen, theirs, 3, |hand, channel, rng| {
        let seed = coin::toss_first(channel, rng)?;
        let assignment = assignment::draw(set, &hand.choices, rng).expect("ones enough");
        assignment::send(&assignment, channel)?;
        let filter = Filter::new(shape, seed);
        let string = |cell: usize| hand.strings[assignment[cell] as usize];
        let values = values(&filter, seed, theirs.items(), string, channel)?;
        let tags = Tags::whole();
        let mine = values.into_iter().enumerate();
        let mine = mine.map(|(position, value)| tags.tagged(value, position)).collect();
        Ok(tags.recv_matches(LIST, theirs.len(), mine, theirs.items(), channel)?.len())
    });
    sent.unwrap();
    found.unwrap()
}

/// If R has ones beyond its items' cells, it recognises other items with a probability of the share of ones to
/// the power of the number of hash functions, and less if they are distributed unevenly over the parts.
#[test]
fn items_that_a_filter_is_not_made_for_are_seen_with_the_stated_probability() {
    let theirs = items(ATTEMPTS, &mut StdRng::seed_from_u64(2));
    let cells = SMALL.cells();
    for share in [2, 4] {
        // Every second or fourth cell, independently of the hash functions.
        let even: Bits = (0..cells).map(|cell| cell % share == 0).collect();
        let found = recognized(SMALL, cells / share, &theirs, &even);
        assert!(is_share(found, (1.0 / share as f64).powi(4)), "{found} at 1/{share}");
        let uneven: Bits = (0..cells).map(|cell| cell < cells / share).collect();
        assert_eq!(recognized(SMALL, cells / share, &theirs, &uneven), 0);
    }
    let all: Bits = (0..cells).map(|_| true).collect();
    assert_eq!(recognized(SMALL, cells, &theirs, &all), ATTEMPTS);
    // With the hash functions of a run, no item is recognised, regardless of the OTs that R managed to keep.
    let shape = Shape::new(8, LAMBDA);
    let most = subset(shape.cells(), shape.most, &vesica_primitives::Seed::new(Block(1)));
    assert_eq!(recognized(shape, shape.most, &theirs, &most), 0);
}

/// An honest R with these items against a malicious sender in the online phase.
fn against_receiver(
    mine: &Set,
    theirs: usize,
    seed: u64,
    cheat: impl FnOnce(Sender, &mut Channel, &mut StdRng) -> Result<()> + Send,
) -> Result<Vec<u32>> {
    let shape = Shape::new(mine.len(), LAMBDA);
    let (sender, hand) = dealt(shape, shape.set, &mut StdRng::seed_from_u64(seed));
    let sizes = Sizes { sender: theirs, receiver: mine.len() };
    let receiver = Box::new(Receiver { sizes, shape, hand });
    let (found, _) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| receiver.run(mine.items(), channel, rng),
        |channel, rng| {
            cheat(sender, channel, rng)?;
            Ok::<_, Error>(channel.flush()?)
        },
    );
    found
}

/// The values that S would send for these items, with one wrong string for each item that satisfies `is_wrong`.
fn list(
    sender: &Sender,
    items: &Set,
    is_wrong: bool,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Vec<u128>> {
    let seed = coin::toss_second(channel, rng)?;
    let assignment = assignment::receive(sender.shape.cells(), channel)?;
    let wrong = |cell: usize| Block(u128::from(is_wrong && cell < sender.shape.part));
    let string = |cell: usize| sender.ones[assignment[cell] as usize] ^ wrong(cell);
    let filter = Filter::new(sender.shape, seed);
    let values = values(&filter, seed, items.items(), string, channel)?;
    Ok(values.into_iter().map(|value| Tags::whole().of(value)).collect())
}

fn send_tags(mut tags: Vec<u128>, bits: u32, channel: &mut Channel) -> Result<()> {
    tags.sort_unstable();
    let words = tag_list::Layout::new(tags.len(), bits).encode(&tags, |tag| *tag);
    Ok(channel.send(LIST, bytemuck::cast_slice(&words))?)
}

/// A list of another run, of invented values, or of values from a wrong string matches none of R's items.
#[test]
fn lists_that_do_not_belong_to_the_run_match_nothing() {
    let mine = items(2, &mut StdRng::seed_from_u64(4));
    let recorded = std::sync::Mutex::new(Vec::new());
    let run = |is_wrong, seed, replaced: Option<Vec<u128>>| {
        against_receiver(&mine, 2, seed, |sender, channel, rng| {
            let tags = list(&sender, &mine, is_wrong, channel, rng)?;
            *recorded.lock().unwrap() = tags.clone();
            send_tags(replaced.unwrap_or(tags), KAPPA, channel)
        })
    };
    assert_eq!(run(false, 0, None).unwrap(), [0, 1]);
    let earlier = recorded.lock().unwrap().clone();
    for attempt in 1..=ATTEMPTS as u64 {
        let found = match attempt % 3 {
            0 => run(false, attempt, Some(earlier.clone())),
            1 => run(true, attempt, None),
            _ => run(
                false,
                attempt,
                Some(StdRng::seed_from_u64(attempt).random::<[u128; 2]>().into()),
            ),
        };
        assert!(found.unwrap().is_empty(), "{attempt}");
    }
}

#[test]
fn tags_of_another_length_are_refused() {
    let mine = items(20, &mut StdRng::seed_from_u64(4));
    for (bits, count) in [(64, 20), (KAPPA - 8, 20), (KAPPA, 19), (KAPPA, 25)] {
        let found = against_receiver(&mine, 20, 1, |sender, channel, rng| {
            let mut tags = list(&sender, &mine, false, channel, rng)?;
            tags.iter_mut().for_each(|tag| *tag >>= KAPPA - bits);
            tags.resize(count, 1);
            send_tags(tags, bits, channel)
        });
        let error = found.unwrap_err();
        let is_refused = matches!(
            error,
            Error::Channel(ChannelError::Peer {
                deviation: Deviation::WrongLength { label: LIST, .. },
                ..
            })
        );
        assert!(is_refused, "{count} of {bits} bits: {error}");
    }
}

/// A sender that announces another challenge than the one that decides which strings it keeps: R's answer is about
/// other OTs than S believes, and S's strings belong to other cells. The receiver cannot notice, and need not: no item
/// of S counts, and the run ends like any other.
#[test]
fn a_challenge_other_than_the_senders_own_makes_its_items_count_for_nothing() {
    let mine = items(20, &mut StdRng::seed_from_u64(4));
    let shape = Shape::new(mine.len(), LAMBDA);
    let sizes = Sizes { sender: mine.len(), receiver: mine.len() };
    for is_own in [true, false] {
        let (found, sent) = between::<_, _, Error>(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
                let hand = cut_and_choose::receive(shape, &mut cot, channel, rng)?;
                let party = Box::new(Receiver { sizes, shape, hand });
                party.run(mine.items(), channel, rng)
            },
            |channel, rng| {
                let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
                let pairs = send_all(shape, &mut cot, channel)?;
                let [announced, kept] = [(); 2].map(|()| vesica_primitives::Seed::random(rng));
                channel.send_slice("rr16/challenge", &[*announced.expose()])?;
                let opened =
                    subset(shape.ots(), shape.opened, if is_own { &announced } else { &kept });
                let mut answer = vec![Block::ZERO; shape.opened.div_ceil(128) + 1];
                let (bits, proof) = answer.split_at_mut(shape.opened.div_ceil(128));
                channel.recv_slice("rr16/opened-zeros", bits)?;
                channel.recv_slice("rr16/proof", proof)?;
                let unopened = pairs.iter().zip(opened.iter()).filter(|(_, opened)| *opened == 0);
                let ones = Zeroizing::new(unopened.map(|([_, one], _)| *one).collect());
                let tags = list(&Sender { shape, ones }, &mine, false, channel, rng)?;
                send_tags(tags, KAPPA, channel)?;
                Ok(channel.flush()?)
            },
        );
        sent.unwrap();
        assert_eq!(found.unwrap().len(), if is_own { mine.len() } else { 0 });
    }
}

/// Both strings of every OT.
fn send_all(
    shape: Shape,
    cot: &mut extension::Sender,
    channel: &mut Channel,
) -> Result<Vec<[Block; 2]>> {
    let mut pairs = vec![[Block::ZERO; 2]; shape.ots()];
    vesica_ot::CotSender::send_random_into(cot, &mut pairs, channel)?;
    Ok(pairs)
}

/// A sender that chooses its challenge, here the one out of many whose set is furthest to one side, or that repeats the
/// challenge of an earlier run. R's own randomness determines the places of its ones, so the number of them that are
/// opened has the same distribution for every set, and so has the probability that R gives up. The opened OTs have no
/// part in the rest of the run.
#[test]
fn a_chosen_challenge_sees_no_more_ones_than_a_random_one() {
    let (mut cases, mut random) = (Vec::new(), StdRng::seed_from_u64(7));
    let to_one_side = |seed: &Block| {
        let opened = subset(SMALL.ots(), SMALL.opened, &vesica_primitives::Seed::new(*seed));
        opened.iter().take(SMALL.ots() / 2).filter(|bit| *bit == 1).count()
    };
    let many: Vec<Block> = (0..2000).map(|_| Block::random(&mut random)).collect();
    cases.push(*many.iter().max_by_key(|seed| to_one_side(seed)).unwrap());
    cases.push(*many.iter().min_by_key(|seed| to_one_side(seed)).unwrap());
    assert!(to_one_side(&cases[0]) > to_one_side(&cases[1]) + SMALL.opened / 4);
    // A seed of zeros for the challenge of every run.
    cases.push(Block::ZERO);
    let gives_up = hypergeometric(SMALL, SMALL.ones(), |ones| ones > SMALL.threshold);
    for seed in cases {
        let opened = subset(SMALL.ots(), SMALL.opened, &vesica_primitives::Seed::new(seed));
        let mut opened_ones = 0;
        let gave_up = (0..ATTEMPTS).filter(|_| {
            // As `cut_and_choose::receive` chooses.
            let choices = choices(SMALL, SMALL.ones(), &mut random);
            let ones = choices.iter().zip(opened.iter()).filter(|both| *both == (1, 1)).count();
            opened_ones += ones;
            ones > SMALL.threshold
        });
        let gave_up = gave_up.count();
        assert!(is_share(gave_up, gives_up), "{gave_up}, not {gives_up}");
        let mean = SMALL.opened as f64 * SMALL.ones() as f64 / SMALL.ots() as f64;
        let off = opened_ones as f64 / ATTEMPTS as f64 - mean;
        assert!(off.abs() < 0.7, "{off} off {mean}");
    }
}

/// A receiver that prepares for the challenge of an earlier run chooses ones only outside that challenge. A new
/// challenge finds them as if they had been chosen at random.
#[test]
fn ones_that_an_earlier_challenge_missed_are_found_by_the_next() {
    let chosen = 125;
    let (verdicts, ()) = run(
        Link::Memory,
        |channel, rng| {
            let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
            let verdicts: Vec<_> = (0..=ATTEMPTS)
                .map(|_| {
                    let result = cut_and_choose::send(SMALL, &mut cot, channel, rng);
                    result.map_err(|error| check(&error))
                })
                .collect();
            Ok::<_, Error>(verdicts)
        },
        |channel, rng| {
            let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
            let mut last = Bits::zeros(SMALL.ots());
            for _ in 0..=ATTEMPTS {
                let mut hidden: Vec<usize> =
                    (0..SMALL.ots()).filter(|i| last.get(*i) == 0).collect();
                let mut choices = Bits::zeros(SMALL.ots());
                for _ in 0..chosen {
                    let one = hidden.swap_remove(rng.random_range(0..hidden.len()));
                    choices.set(one, 1);
                }
                let hand = Hand::receive(SMALL, choices, &mut cot, channel)?;
                last = receive_challenge(SMALL, channel)?;
                hand.open(&last).send(channel)?;
            }
            Ok(())
        },
    );
    let passed = verdicts[1..].iter().filter(|verdict| verdict.is_ok()).count();
    let passes = hypergeometric(SMALL, chosen, |opened| opened <= SMALL.threshold);
    assert!(is_share(passed, passes), "{passed}, not {passes}");
}
