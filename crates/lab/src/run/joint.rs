//! Runs among several parties.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use rand::{SeedableRng, rngs::StdRng};
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use vesica_net::{Channel, Mesh, meter::peak_memory};
use vesica_primitives::{Block, aes::Prg, secret::Seed};
use vesica_psi::{
    Items, Sizes,
    joint::{JointPlan, JointRows},
};

use crate::{
    Line, Result,
    run::in_process::{STALL, pool, usage},
};

/// The party that learns the rows.
const LEADER: usize = 0;

/// The party that ends the run with the leader.
const PIVOT: usize = 1;

/// One run, as printed with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The number of parties.
    pub parties: usize,
    /// Items of the leader.
    pub leader_items: usize,
    /// Items of each other party.
    pub other_items: usize,
    /// The link's name.
    pub link: String,
    /// Threads of each party.
    pub threads: usize,
    /// The leader's time from start to result.
    pub seconds: f64,
    /// CPU time of all parties, in the program and in the system.
    pub cpu_seconds: Option<f64>,
    /// The leader's part of it: the least time of a run in which each party has a machine of its own.
    pub leader_cpu_seconds: Option<f64>,
    /// The peak resident memory of the process during the run, of all parties together.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes that all parties sent, framing included.
    pub bytes: u64,
    /// The part that the leader sent or received.
    pub leader_bytes: u64,
    /// Whether the result is the intersection.
    pub correct: bool,
}

/// The end of one party's run.
struct PartyEnd {
    found: Option<Vec<u32>>,
    took: Duration,
    cpu_seconds: Option<f64>,
    sent: u64,
    received: u64,
}

/// Finds the rows that this number of parties share, once. All parties but the leader have the sender's size.
///
/// # Errors
/// If a party fails. A wrong result is noted in the record.
pub fn run(parties: usize, sizes: Sizes, line: &Line, threads: usize) -> Result<Record> {
    let Sizes { sender, receiver } = sizes;
    let shared = sender.min(receiver) / 2;
    let of_parties = of_parties(parties, sizes);
    let sets = sets(&of_parties, shared);
    let plan = JointPlan::new(of_parties, LEADER, PIVOT, [0; 32]).map_err(|e| e.to_string())?;
    let mut meshes = line.meshes(parties, STALL)?;
    let pools = (0..parties).map(|_| pool(threads)).collect::<Result<Vec<_>>>()?;
    usage::reset_peak_memory();
    let cpu_before = usage::cpu_seconds();
    let barrier = Barrier::new(parties);
    let ended = thread::scope(|scope| {
        let (plan, barrier, sets) = (&plan, &barrier, &sets);
        let mut all = Vec::new();
        for (me, (channels, pool)) in meshes.iter_mut().zip(&pools).enumerate() {
            all.push(scope.spawn(move || party(plan, me, &sets[me], channels, pool, barrier)));
        }
        let join = |(party, joined): (usize, thread::ScopedJoinHandle<'_, _>)| {
            joined.join().map_err(|_| format!("party {party} panicked"))?
        };
        all.into_iter().enumerate().map(join).collect::<Result<Vec<PartyEnd>>>()
    })?;
    let cpu_seconds = usage::cpu_seconds().zip(cpu_before).map(|(after, before)| after - before);
    let leader = &ended[LEADER];
    let expected: Vec<u32> = (0..shared as u32).collect();
    Ok(Record {
        parties,
        leader_items: receiver,
        other_items: sender,
        link: line.to_string(),
        threads,
        seconds: leader.took.as_secs_f64(),
        cpu_seconds,
        leader_cpu_seconds: leader.cpu_seconds,
        peak_memory_bytes: peak_memory(),
        bytes: ended.iter().map(|party| party.sent).sum(),
        leader_bytes: leader.sent + leader.received,
        correct: leader.found.as_ref() == Some(&expected),
    })
}

/// Returns the bytes that the leader sends or receives, by formula.
pub(crate) fn leader_bytes(parties: usize, sizes: Sizes) -> f64 {
    let plan = JointPlan::new(of_parties(parties, sizes), LEADER, PIVOT, [0; 32]);
    plan.map_or(f64::INFINITY, |plan| JointRows::new(&plan).cost().of_leader)
}

/// The size of each set.
fn of_parties(parties: usize, sizes: Sizes) -> Vec<usize> {
    let size = |party| if party == LEADER { sizes.receiver } else { sizes.sender };
    (0..parties).map(size).collect()
}

/// Random sets of these sizes, whose first `shared` items are common to all.
fn sets(sizes: &[usize], shared: usize) -> Vec<Vec<Block>> {
    let random = |len| {
        let mut blocks = vec![Block::ZERO; len];
        Prg::new(&Seed::random(&mut rand::rng())).fill(&mut blocks);
        blocks
    };
    let common = random(shared);
    let set = |size: &usize| [&common[..], &random(size - shared)].concat();
    sizes.iter().map(set).collect()
}

fn party(
    plan: &JointPlan,
    me: usize,
    set: &[Block],
    channels: &mut [Channel],
    pool: &ThreadPool,
    barrier: &Barrier,
) -> Result<PartyEnd> {
    let ran = pool.install(|| {
        let mut rng = StdRng::from_rng(&mut rand::rng());
        let mut mesh = Mesh::new(me, channels.iter_mut());
        barrier.wait();
        let started = Instant::now();
        let found = JointRows::new(plan).run(Items::from(set), &mut mesh, &mut rng)?;
        Ok::<_, vesica_psi::Error>((found, started.elapsed()))
    });
    let (found, took) = ran?;
    let sum = |figure: fn(&vesica_net::Meter) -> u64| {
        channels.iter().map(|channel| figure(channel.meter())).sum()
    };
    Ok(PartyEnd {
        found,
        took,
        cpu_seconds: pool.broadcast(|_| usage::cpu_seconds_of_thread()).into_iter().sum(),
        sent: sum(|meter| meter.sent()),
        received: sum(|meter| meter.received()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_finds_what_all_have_and_every_byte_is_counted() {
        for (parties, sender, receiver) in [(2, 30, 30), (3, 100, 40), (5, 10, 80)] {
            let sizes = Sizes { sender, receiver };
            let record = run(parties, sizes, &Line::memory(), 1).unwrap();
            assert!(record.correct && record.leader_bytes <= record.bytes, "{record:?}");
            assert!(parties > 2 || record.leader_bytes == record.bytes, "{record:?}");
        }
        let wan = "100,80".parse().unwrap();
        let error = run(3, Sizes { sender: 9, receiver: 9 }, &wan, 1).unwrap_err().to_string();
        assert!(error.contains("tcp:100,80"), "{error}");
    }
}
