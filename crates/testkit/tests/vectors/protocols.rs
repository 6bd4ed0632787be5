//! `dh.json`, `rr22.json` and `rr22-malicious.json`: whole transcripts.

use serde_json::{Value, json};
use vesica_net::Channel;
use vesica_primitives::Block;
use vesica_psi::{DigestLength, Error, Set, Setting, Sizes, find, reveal};
use vesica_testkit::vectors::{Draws, blocks, check, messages, run};

#[test]
fn dh() {
    let runs = [(0, 0), (1, 0), (0, 1), (5, 3)].map(|sizes| transcript("dh", sizes, 1 << 20));
    check("dh", &runs.to_vec().into());
}

#[test]
fn rr22() {
    let runs = [((5, 3), 1 << 20), ((0, 0), 64), ((70, 80), 64)];
    check("rr22", &runs.map(|(sizes, most)| transcript("rr22", sizes, most)).to_vec().into());
}

#[test]
fn rr22_malicious() {
    let runs = [((5, 3), 5000), ((0, 1), 64), ((70, 80), 64)];
    let runs = runs.map(|(sizes, most)| transcript("rr22-malicious", sizes, most));
    check("rr22-malicious", &runs.to_vec().into());
}

/// Creates a set whose first items are shared with the other side, in the opposite order.
fn set(name: &str, count: usize, shared: usize) -> Set {
    let pick = |half: &str| -> Vec<Block> {
        let of = |whose: &str| Draws::new(&format!("{whose}/shared/{half}")).blocks(shared);
        let mut items = match name.strip_suffix("/R") {
            Some(run) => of(&format!("{run}/S")).into_iter().rev().collect(),
            None => of(name),
        };
        items.extend(Draws::new(&format!("{name}/own/{half}")).blocks(count - shared));
        items
    };
    Set::long(pick("low"), pick("high"))
}

fn transcript(key: &str, (n_s, n_r): (usize, usize), most: usize) -> Value {
    let protocol = find(key).unwrap();
    let name = format!("protocol/{key}/{n_s}/{n_r}");
    let shared = n_s.min(n_r) / 2 + n_s.min(n_r) % 2;
    let mine = set(&format!("{name}/S"), n_s, shared);
    let theirs = set(&format!("{name}/R"), n_r, shared);
    let setting = Setting::from(Sizes { sender: n_s, receiver: n_r });
    let send = |channel: &mut Channel, rng: &mut Draws| {
        channel.bind("tls exporter", &[1; 32]);
        let items = mine.items().cut_for(protocol)?;
        let party = protocol.on(setting)?.sender(channel, rng)?;
        party.run(items, channel, rng)?;
        channel.flush()?;
        Ok::<_, Error>((reveal::learn(items, setting, channel)?, channel.session()))
    };
    let receive = |channel: &mut Channel, rng: &mut Draws| {
        channel.bind("tls exporter", &[1; 32]);
        let items = theirs.items().cut_for(protocol)?;
        let found = protocol.on(setting)?.receiver(channel, rng)?.run(items, channel, rng)?;
        reveal::tell(items.at(&found).items(), setting, channel, rng)?;
        Ok::<_, Error>(found)
    };
    let ((told, sid), found, both) = run(&name, send, receive);
    assert_eq!([told.len(), found.len()], [shared; 2]);
    let items = |set: &Set| -> Vec<String> {
        let items = set.items();
        let all = items.low_halves().iter().zip(items.high_halves());
        let long = protocol.digest == DigestLength::Long;
        all.map(|(low, high)| if long { blocks(&[*low, *high]) } else { blocks(&[*low]) }).collect()
    };
    json!({
        "protocol": key, "exporter": "01".repeat(32), "sid": sid.as_bytes().map(|b| format!("{b:02x}")).concat(),
        "draws_of_S": format!("{name}/S"), "draws_of_R": format!("{name}/R"),
        "items_of_S": items(&mine), "items_of_R": items(&theirs), "found_by_R": found, "told_to_S": told,
        "sent_by_S": messages(&both.sender, most, "rs21/list"), "sent_by_R": messages(&both.receiver, most, "rs21/columns"),
    })
}
