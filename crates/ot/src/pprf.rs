//! placeholder for trying
use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block, aes::Aes128};
const SUMS: &str = "pprf/sums";
fn depth(leaves: usize) -> usize {
    leaves.next_power_of_two().ilog2() as usize
}
pub fn keys(trees: usize, leaves: usize) -> usize {
    trees * depth(leaves)
}
pub fn choices(places: &[u32], leaves: usize) -> Bits {
    let d = depth(leaves);
    places.iter().flat_map(|p| (0..d).map(move |l| (p >> (d - 1 - l)) & 1 == 0)).collect()
}
fn ciphers() -> [Aes128; 2] {
    [Aes128::new(Block(1)), Aes128::new(Block(2))]
}
pub fn send(
    trees: usize,
    leaves: usize,
    keys: &[[Block; 2]],
    channel: &mut Channel,
) -> Result<Vec<Block>> {
    let d = depth(leaves);
    let c = ciphers();
    let mut out = Vec::with_capacity(trees * leaves);
    let mut msg = Vec::new();
    let mut rng = rand::rng();
    for t in 0..trees {
        let mut level = vec![Block::random(&mut rng)];
        for l in 0..d {
            let n = (leaves as u64).div_ceil(1 << (d - 1 - l)) as usize;
            let (mut a, mut b) = (level.clone(), level.clone());
            c[0].encrypt(&mut a);
            c[1].encrypt(&mut b);
            let mut next = Vec::with_capacity(n + 1);
            let mut sums = [Block::ZERO; 2];
            for i in 0..level.len() {
                let x = a[i] ^ level[i];
                let y = b[i] ^ level[i];
                next.push(x);
                sums[0] ^= x;
                if next.len() < n {
                    next.push(y);
                    sums[1] ^= y;
                }
            }
            msg.push(sums[0] ^ keys[t * d + l][0]);
            msg.push(sums[1] ^ keys[t * d + l][1]);
            level = next;
        }
        out.extend_from_slice(&level[..leaves]);
    }
    channel.send_slice(SUMS, &msg)?;
    Ok(out)
}
pub fn receive(
    places: &[u32],
    leaves: usize,
    keys: &[Block],
    channel: &mut Channel,
) -> Result<Vec<Block>> {
    let d = depth(leaves);
    let c = ciphers();
    let mut msg = vec![Block::ZERO; 2 * places.len() * d];
    channel.recv_slice(SUMS, &mut msg)?;
    let mut out = Vec::with_capacity(places.len() * leaves);
    for (t, p) in places.iter().enumerate() {
        let mut level = vec![Block::ZERO];
        for l in 0..d {
            let n = (leaves as u64).div_ceil(1 << (d - 1 - l)) as usize;
            let hole = (*p as usize) >> (d - l);
            let (mut a, mut b) = (level.clone(), level.clone());
            c[0].encrypt(&mut a);
            c[1].encrypt(&mut b);
            let mut next = Vec::with_capacity(n + 1);
            let mut sums = [Block::ZERO; 2];
            for i in 0..level.len() {
                let (x, y) = if i == hole {
                    (Block::ZERO, Block::ZERO)
                } else {
                    (a[i] ^ level[i], b[i] ^ level[i])
                };
                next.push(x);
                sums[0] ^= x;
                if next.len() < n {
                    next.push(y);
                    sums[1] ^= y;
                }
            }
            let bit = (*p as usize >> (d - 1 - l)) & 1;
            let known = 1 - bit;
            let v = msg[2 * (t * d + l) + known] ^ keys[t * d + l] ^ sums[known];
            if 2 * hole + known < next.len() {
                next[2 * hole + known] = v;
            }
            level = next;
        }
        out.extend_from_slice(&level[..leaves]);
    }
    Ok(out)
}
