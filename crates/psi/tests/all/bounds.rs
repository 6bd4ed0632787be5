//! The events that may go wrong by chance in a run, added up over all of its partitions and lists: each has a
//! probability of at most 2^-λ, and all of them together have one below 2^-37, as SECURITY.md says.
//!
//! A protocol of the catalogue is here by its entry. Bounds are computed from the lengths that its parties take, and
//! [`lengths_grow_as_predicted`] runs them.

use std::{fs, path::Path};

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_params::{Failure, LAMBDA, bins::simple, log2_sum};
use vesica_psi::{
    CATALOGUE, Error, List, Protocol, Setting, Sizes,
    aggregate::{Aggregate, METHODS, Query, shares::Outline},
    reveal,
};
use vesica_testkit::{
    assurance,
    conformance::psi::Sets,
    two_party::{Link, run},
};

/// Numbers of partitions, up to the most there are.
const PARTITIONS: [usize; 5] = [1, 2, 8, 64, 4096];

/// log2 of the bound that SECURITY.md promises for all events together.
const TOGETHER: f64 = -37.0;

/// The one event whose bound is the same for any number of partitions: entries with this check are not recommended,
/// and so never run in partitions.
const OF_WHOLE_SETS: &str = "wrong rows pass the check";

/// A way to run, and the events that may go wrong in one partition.
struct Way {
    name: String,
    failures: Box<dyn Fn(Setting) -> Option<Vec<Failure>>>,
}

/// All protocols for real data, with each list and a second side that learns; all methods with all aggregates; and
/// shares.
fn ways() -> Vec<Way> {
    let lists = [List::Sorted].into_iter().chain(List::FILTERS);
    let protocols = CATALOGUE.iter().filter(|protocol| protocol.status.is_for_use());
    let protocols = protocols.flat_map(|protocol| {
        lists.clone().filter_map(|list| protocol.with_list(list)).map(|protocol| Way {
            name: protocol.name().into_owned(),
            failures: Box::new(move |setting| {
                (protocol.limits)(setting.sizes).ok()?;
                let mut failures = protocol.failures(setting);
                failures.push(reveal::failure(setting));
                Some(failures)
            }),
        })
    });
    let aggregates = [Aggregate::Count, Aggregate::SumOfSender, Aggregate::Products];
    let methods = METHODS.iter().flat_map(|method| {
        let fit = aggregates.into_iter().filter(|aggregate| (method.supports)(*aggregate, 0));
        fit.map(move |aggregate| Way {
            name: format!("{} {aggregate:?}", method.key),
            failures: Box::new(move |Setting { sizes, runs: partitions, .. }| {
                let query =
                    Query { sizes, aggregate, minimum: 0, noise: None, partitions, people: None };
                Some((method.failures)(query))
            }),
        })
    });
    let shares = Way {
        name: "shares".to_owned(),
        failures: Box::new(|Setting { sizes, runs: partitions, .. }| {
            let outline =
                Outline { sizes, partitions, of_sender: true, of_receiver: true, people: None };
            Some(outline.failures())
        }),
    };
    protocols.chain(methods).chain([shares]).collect()
}

/// log2 of the probability that a partition gets more keys than it has room for.
fn overflows(keys: usize, partitions: usize) -> f64 {
    simple::log2_failure(keys, partitions, simple::max_load(keys, partitions, LAMBDA))
}

#[test]
fn each_event_of_a_run_has_the_probability_that_is_promised() {
    let sizes = [(1, 1), (50, 50), (1000, 1000), (100, 3001), (1 << 16, 1 << 12)];
    for (way, Way { name, failures }) in ways().into_iter().enumerate() {
        for (size, (sender, receiver)) in sizes.into_iter().enumerate() {
            for (number, partitions) in PARTITIONS.into_iter().enumerate() {
                if !assurance::tries(way + size, number, 3) {
                    continue;
                }
                let setting = Setting::from(Sizes { sender, receiver }).one_of(partitions);
                let Some(failures) = failures(setting) else { continue };
                let of_run = |failure: &Failure| match failure.event {
                    OF_WHOLE_SETS => failure.log2,
                    _ => failure.log2 + (partitions as f64).log2(),
                };
                let mut all: Vec<f64> = failures.iter().map(of_run).collect();
                all.extend([sender, receiver].map(|keys| overflows(partitions * keys, partitions)));
                let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let place = format!("{name}, {partitions} partitions of {sender} and {receiver}");
                assert!(most <= -f64::from(LAMBDA) + 1e-6, "{place}: {most}, {failures:?}");
                assert!(log2_sum(all) < TOGETHER, "{place}: {failures:?}");
            }
        }
    }
}

/// The largest partitions that are usual, and all that is recommended.
#[test]
fn large_partitions_keep_the_promise_too() {
    let recommended = CATALOGUE.iter().filter(|protocol| protocol.splits());
    for protocol in recommended {
        for partitions in [8, 4096] {
            let n = 1 << 21;
            let setting = Setting::from(Sizes { sender: n, receiver: n }).one_of(partitions);
            for Failure { event, log2 } in protocol.failures(setting) {
                let of_run = log2 + (partitions as f64).log2();
                assert!(of_run <= -f64::from(LAMBDA) + 1e-6, "{}: {event}, {of_run}", protocol.key);
            }
        }
    }
}

/// All events of a number with noise enter its δ, which docs/protocols/numbers.md states.
#[test]
fn the_events_of_a_number_are_as_rare_as_its_delta_says() {
    for partitions in PARTITIONS {
        for items in [1, 50, 1000, 1 << 16, 1 << 20] {
            let sizes = Sizes { sender: items, receiver: items };
            let aggregate = Aggregate::Count;
            let query =
                Query { sizes, aggregate, minimum: 0, noise: None, partitions, people: None };
            let failures = (METHODS[0].failures)(query).into_iter().map(|failure| failure.log2);
            let of_run = log2_sum(failures) + (partitions as f64).log2();
            assert!(of_run < -37.6, "{partitions} partitions of {items}: {of_run}");
        }
    }
}

/// The bounds hold for the actual protocols: one that is known to promise too little does not keep them.
#[test]
fn a_protocol_that_promises_too_little_is_found() {
    let liang = vesica_psi::find("psz14-gbf-liang").unwrap();
    let failures = liang.failures(Sizes { sender: 1000, receiver: 1000 });
    assert!(failures.iter().any(|failure| failure.log2 > -31.0), "{failures:?}");
    // And so would one that took lengths for a whole run in each of several.
    let rr22 = vesica_psi::find("rr22").unwrap();
    let of_whole = rr22.failures(Sizes { sender: 1000, receiver: 1000 });
    assert!(of_whole.iter().all(|failure| failure.log2 + 6.0 > -f64::from(LAMBDA)), "{of_whole:?}");
}

/// λ has one place: a protocol takes its setting's for every length.
#[test]
fn protocols_name_no_lambda_of_their_own() {
    fn visit(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found);
            } else if !path.ends_with("adversary.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                let names = |word: &str| word == "LAMBDA";
                if code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(names) {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    for (folder, expected) in [("src", &["setting.rs"][..]), ("../oprf/src", &[])] {
        let mut found = Vec::new();
        visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
        assert_eq!(found, expected, "{folder}");
    }
}

/// Items of each side for which there is time.
fn affordable(protocol: &Protocol) -> usize {
    match protocol.key {
        "blind-rsa" | "hl08-ffc" | "dh-ffc" => 3,
        "hl08" | "psz14-none" => 20,
        key if key.starts_with("scs") => 20,
        _ => 300,
    }
}

/// Payload bytes that both parties send in one of `runs` runs.
fn bytes(protocol: &'static Protocol, sizes: Sizes, runs: usize) -> f64 {
    let sets = Sets::random(sizes, sizes.receiver / 2, 1);
    let setting = Setting::from(sizes).one_of(runs);
    let payload = |channel: &Channel| channel.meter().sent() as f64;
    let (sent, received) = run(
        Link::Memory,
        |channel, rng: &mut StdRng| {
            let items = sets.sender.items().cut_for(protocol)?;
            protocol.on(setting)?.sender(channel, rng)?.run(items, channel, rng)?;
            channel.flush()?;
            Ok::<_, Error>(payload(channel))
        },
        |channel, rng| {
            let items = sets.receiver.items().cut_for(protocol)?;
            let found = protocol.on(setting)?.receiver(channel, rng)?.run(items, channel, rng)?;
            assert_eq!(found, sets.expected(), "{} in {runs} partitions", protocol.key);
            Ok(payload(channel))
        },
    );
    sent + received
}

/// A partition of many has longer messages than the same sets as a whole, by as much as predicted.
#[test]
fn lengths_grow_as_predicted() {
    for protocol in CATALOGUE {
        let n = affordable(protocol);
        let sizes = Sizes { sender: n, receiver: n - 1 };
        let [alone, of_many] = [1, 4096].map(|runs| bytes(protocol, sizes, runs));
        let predicted = |runs| protocol.cost(Setting::from(sizes).one_of(runs)).bytes();
        let grows = predicted(4096) - predicted(1);
        let off = (of_many - alone) - grows;
        assert!(
            off.abs() <= 64.0 + 0.01 * grows.abs(),
            "{}: {alone}, {of_many}, {grows}",
            protocol.key
        );
    }
}
