//! `vole.json`: the silent VOLE, with the extension underneath.

use serde_json::{Value, json};
use vesica_net::{Channel, Result};
use vesica_ot::{
    extension::softspoken::{SmallField, malicious, semi_honest},
    vole::silent,
};
use vesica_params::lpn::UNIFORM;
use vesica_primitives::{Block, gf::multiply128};
use vesica_testkit::{
    transcript::Transcripts,
    vectors::{Draws, blocks, check, digest, messages, run},
};

const FIELD: SmallField = SmallField::new(8);

#[test]
fn vectors() {
    let made = json!({
        "rr22": [semi_honest_vole(10, 41), semi_honest_vole(768, 47), semi_honest_vole(769, 48), semi_honest_vole(196_609, 53)],
        "rr22-malicious": [malicious_vole(10), malicious_vole(768), malicious_vole(769), malicious_vole(9_000)],
    });
    check("vole", &made);
}

fn semi_honest_vole(len: usize, bits: u32) -> Value {
    let name = format!("vole/rr22/{len}");
    let send = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
        silent::send(len, bits, UNIFORM, &mut cot, channel, rng)
    };
    let receive = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
        silent::receive::<u64>(len, bits, UNIFORM, &mut cot, channel, rng)
    };
    let (sender, receiver, both) = run(&name, send, receive);
    let (a, c): (Vec<Block>, Vec<Block>) =
        receiver.parts().map(|(a, c)| (Block(a.into()), c)).unzip();
    show(&name, bits, &sender, (&a, &c), &both)
}

fn malicious_vole(len: usize) -> Value {
    let name = format!("vole/rr22-malicious/{len}");
    let send = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
        let (share, answers) = silent::malicious::send(len, UNIFORM, &mut cot, channel, rng)?;
        answers.send(channel)?;
        channel.flush()?;
        Ok(share)
    };
    let receive = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
        silent::malicious::receive(len, UNIFORM, &mut cot, channel, rng)?.verify(channel)
    };
    let (sender, receiver, both) = run(&name, send, receive);
    let (a, c): (Vec<Block>, Vec<Block>) = receiver.parts().unzip();
    show(&name, 128, &sender, (&a, &c), &both)
}

fn show(
    name: &str,
    bits: u32,
    sender: &silent::SenderShare,
    (a, c): (&[Block], &[Block]),
    both: &Transcripts,
) -> Value {
    let delta = sender.delta.expose()[0];
    for ((a, b), c) in a.iter().zip(sender.b.iter()).zip(c) {
        assert_eq!(*c, multiply128(*a, delta) ^ *b);
    }
    let all = |entries: &[Block]| json!({ "first_10": blocks(&entries[..10]), "all": digest(bytemuck::cast_slice(entries)) });
    json!({
        "m": a.len(), "l": bits, "draws_of_S": format!("{name}/S"), "draws_of_R": format!("{name}/R"), "sid": "00".repeat(32),
        "delta": blocks(&[delta]), "a": all(a), "b": all(&sender.b), "c": all(c),
        "sent_by_S": messages(&both.sender, 64, ""), "sent_by_R": messages(&both.receiver, 64, ""),
    })
}
