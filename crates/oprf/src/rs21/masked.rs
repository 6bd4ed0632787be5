//! Steps O2 to O4 for any h and H: the masked encoding, and decoding on both sides.

use std::{mem, ops::Range, panic::resume_unwind, thread};

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::vole::{Subspace, silent::ReceiverShare};
use vesica_params::okvs::Shape;
use vesica_primitives::{
    Block, Delta, Seed,
    aes::{Aes128, Prg},
    packed::{pack_into, packed_len, unpack},
    threads,
};
use vesica_structures::okvs::{self, Codec, Okvs, PlacedKeys};

use crate::Error;

/// Blocks of randomness drawn at a time: enough to fill the cipher's pipeline.
const BATCH: usize = 64;

const COLUMNS: &str = "rs21/columns";

/// Payload bytes of the columns, all of them to the sender.
pub(super) fn bytes(shape: Shape, bits: u32) -> usize {
    shape.clusters * packed_len(shape.cluster_columns(), bits)
}

/// Points and the OKVS they are placed in, with elements of `bits` bits.
pub(super) struct Placed<'a, O> {
    pub okvs: &'a O,
    pub points: &'a PlacedKeys,
    pub bits: u32,
}

/// Scratch space of one thread, for one cluster after another.
struct MaskedScratch<A, W> {
    workspace: W,
    hashes: Vec<A>,
    columns: Vec<A>,
    bytes: Vec<u8>,
}

impl<A, W: Default> Default for MaskedScratch<A, W> {
    fn default() -> Self {
        let workspace = W::default();
        Self { workspace, hashes: Vec::new(), columns: Vec::new(), bytes: Vec::new() }
    }
}

/// Fills a vector with random elements of `bits` bits.
fn fill<A: Subspace>(out: &mut [A], bits: u32, seed: Seed) {
    let mut prg = Prg::new(&seed);
    let mut random = [Block::ZERO; BATCH];
    for out in out.chunks_mut(size_of_val(&random) / size_of::<A>()) {
        prg.fill(&mut random);
        let random: &[A] = bytemuck::cast_slice(&random);
        for (out, random) in out.iter_mut().zip(random) {
            *out = A::truncate(random.embed(), bits);
        }
    }
}

/// Runs one function on a separate thread, and the other one here. A function that waits for the other party must not
/// take a thread of a pool, in which other runs may have work.
fn beside<A: Send, B>(waits: impl FnOnce() -> A + Send, works: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let waits = scope.spawn(waits);
        let worked = works();
        (waits.join().unwrap_or_else(|panic| resume_unwind(panic)), worked)
    })
}

fn send_columns(clusters: &[Vec<u8>], channel: &mut Channel) -> vesica_net::Result<()> {
    clusters.iter().try_for_each(|bytes| channel.send(COLUMNS, bytes))?;
    channel.flush()
}

impl<O: Okvs> Placed<'_, O> {
    /// The groups in which clusters are processed: as many at a time as there are threads.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<O> {
        let (clusters, group) = (self.okvs.clusters(), rayon::current_num_threads());
        (0..clusters).step_by(group).map(move |first| first..(first + group).min(clusters))
    }

    /// The range of a cluster's columns among all columns.
    fn columns(&self, cluster: usize) -> Range<usize> {
        let width = self.okvs.cluster_columns();
        cluster * width..(cluster + 1) * width
    }

    fn scratch<A>(&self) -> Vec<MaskedScratch<A, O::Workspace>> {
        let threads = rayon::current_num_threads().min(self.okvs.clusters());
        (0..threads).map(|_| MaskedScratch::default()).collect()
    }

    /// Step O2: sends a + P, where `h(points, out)` appends the hashes of some placed points.
    ///
    /// Columns of P that no equation determines are random. The mask makes this unnecessary for security, but
    /// it ensures that a party that knows all points still does not know a.
    ///
    /// Returns the workspace of each cluster if [`Placed::decode`] has use for them and they are few.
    pub fn send_masked<A: Subspace>(
        &self,
        a: &[A],
        h: impl Fn(Range<usize>, &mut Vec<A>) + Sync,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<O::Workspace>, Error>
    where
        O: Codec<A>,
    {
        let mut scratch = self.scratch();
        let free = Aes128::new(Block::random(rng));
        let mut ready: Vec<Vec<u8>> = Vec::new();
        for group in self.groups() {
            let mut send = || send_columns(&ready, channel);
            let mut mask = || {
                threads::try_for_each(group.clone().zip(&mut scratch), |(cluster, scratch)| {
                    let free = Seed::new(free.encrypt_block(Block(cluster as u128)));
                    self.mask(cluster, a, &h, free, scratch)
                })
            };
            let (sent, masked) = match rayon::current_num_threads() {
                1 => (send(), mask()),
                _ => beside(send, mask),
            };
            sent?;
            masked?;
            ready.resize_with(group.len(), Vec::new);
            let made = ready.iter_mut().zip(&mut scratch);
            made.for_each(|(ready, scratch)| mem::swap(ready, &mut scratch.bytes));
        }
        send_columns(&ready, channel)?;
        let keeps = O::PREPARES && scratch.len() == self.okvs.clusters();
        let workspaces = scratch.into_iter().filter(|_| keeps).map(|scratch| scratch.workspace);
        Ok(workspaces.collect())
    }

    fn mask<A: Subspace>(
        &self,
        cluster: usize,
        a: &[A],
        h: &impl Fn(Range<usize>, &mut Vec<A>),
        free: Seed,
        scratch: &mut MaskedScratch<A, O::Workspace>,
    ) -> Result<(), okvs::Error>
    where
        O: Codec<A>,
    {
        let MaskedScratch { workspace, hashes, columns, bytes } = scratch;
        hashes.clear();
        h(self.points.cluster(cluster), hashes);
        columns.resize(self.okvs.cluster_columns(), A::default());
        fill(columns, self.bits, free);
        self.okvs.encode_cluster(self.points.keys(cluster), hashes, columns, workspace)?;
        let masks = &a[self.columns(cluster)];
        let masked = columns.iter().zip(masks).map(|(p, a)| (*p ^ *a).embed().0);
        bytes.clear();
        pack_into(bytes, masked, self.bits);
        Ok(())
    }

    /// Step O4 for the receiver: H of the decoded value in c of each placed point, where `finish(points,
    /// values)` applies H to the values of some points. Takes the result of [`Placed::send_masked`].
    pub fn decode<A: Subspace>(
        &self,
        share: &ReceiverShare<A>,
        workspaces: &[O::Workspace],
        finish: impl Fn(Range<usize>, &mut [Block]) + Sync,
    ) -> Vec<Block>
    where
        O: Codec<Block>,
    {
        let mut values: Vec<Block> = bytemuck::zeroed_vec(self.points.len());
        let places = self.points.cut(&mut values, 1);
        threads::for_each(places.into_iter().enumerate(), |(cluster, values)| {
            let c = &share.c[self.columns(cluster)];
            let keys = self.points.keys(cluster);
            match workspaces.get(cluster) {
                Some(workspace) => self.okvs.decode_prepared(keys, c, values, workspace),
                None => self.okvs.decode_cluster(keys, c, values),
            }
            finish(self.points.cluster(cluster), values);
        });
        values
    }

    /// Steps O3 and O4 for the sender, as the receiver's clusters arrive: F of each placed point. Replaces b by
    /// k.
    pub fn evaluate<A: Subspace>(
        &self,
        delta: &Delta,
        b: &mut [Block],
        h: impl Fn(Range<usize>, &mut Vec<A>) + Sync,
        finish: impl Fn(Range<usize>, &mut [Block]) + Sync,
        channel: &mut Channel,
    ) -> vesica_net::Result<Vec<Block>>
    where
        O: Codec<Block>,
    {
        let delta = delta.expose()[0];
        let width = self.okvs.cluster_columns();
        let mut scratch = self.scratch::<A>();
        let mut values: Vec<Block> = bytemuck::zeroed_vec(self.points.len());
        let mut places = self.points.cut(&mut values, 1).into_iter();
        let mut columns = b.chunks_exact_mut(width);
        let mut received = vec![vec![0; packed_len(width, self.bits)]; scratch.len()];
        for group in self.groups() {
            let mut receive = || {
                let mut received = received[..group.len()].iter_mut();
                received.try_for_each(|bytes| channel.recv_into(COLUMNS, bytes))
            };
            // While the receiver is still computing.
            let mut prepare = || {
                threads::for_each(group.clone().zip(&mut scratch), |(cluster, scratch)| {
                    let keys = self.points.keys(cluster);
                    self.okvs.prepare_cluster(keys, &mut scratch.workspace);
                });
            };
            match rayon::current_num_threads() {
                1 => {
                    prepare();
                    receive()?;
                }
                _ => beside(receive, prepare).0?,
            }
            let count = group.len();
            let places: Vec<_> = places.by_ref().take(count).collect();
            let columns: Vec<_> = columns.by_ref().take(count).collect();
            let clusters = group.zip(&mut scratch).zip(&received);
            threads::for_each(
                clusters.zip(columns).zip(places),
                |((((cluster, scratch), bytes), k), values)| {
                    // O3.
                    let masked = unpack(bytes, width, self.bits);
                    scratch.columns.clear();
                    scratch.columns.extend(masked.map(|m| A::truncate(Block(m), self.bits)));
                    A::add_products(k, &scratch.columns, delta);
                    // O4.
                    let keys = self.points.keys(cluster);
                    self.okvs.decode_prepared(keys, k, values, &scratch.workspace);
                    scratch.hashes.clear();
                    h(self.points.cluster(cluster), &mut scratch.hashes);
                    A::add_products(values, &scratch.hashes, delta);
                    finish(self.points.cluster(cluster), values);
                },
            );
        }
        Ok(values)
    }
}
