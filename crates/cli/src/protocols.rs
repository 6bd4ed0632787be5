//! `protocols`: the catalogues, as a table, as Markdown or as JSON.

use serde::Serialize;
use vesica_list::label;
use vesica_psi::{
    CATALOGUE, Protocol, Sizes,
    lookup::{Asking, LOOKUPS, LookupProtocol},
};

use crate::exit::Failure;

#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print a Markdown table
    #[arg(long)]
    markdown: bool,
}

/// The number of items of the predicted cost.
const ITEMS: usize = 1 << 20;

/// The facts about a protocol.
#[derive(Serialize)]
struct Entry {
    protocol: &'static str,
    kind: Kind,
    title: &'static str,
    citation: &'static str,
    status: &'static str,
    secure_against: &'static str,
    receiver_learns: &'static str,
    sender_learns: &'static str,
    /// Bytes that a payload takes beside its own; `None` if the protocol carries no payload.
    bytes_beside_a_payload: Option<u64>,
    /// For a million (2^20) items a side.
    cost: Cost,
}

/// The way in which a protocol is carried out.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// By two parties that compare their sets once.
    Run,
    /// By a publisher, the sender here, and clients who download a list and ask about it.
    Lookup,
}

#[derive(Serialize)]
struct Cost {
    items_a_side: usize,
    bytes_to_sender: u64,
    bytes_to_receiver: u64,
    rounds: u32,
}

impl Entry {
    fn new(protocol: &Protocol) -> Self {
        let sizes = Sizes { sender: ITEMS, receiver: ITEMS };
        let cost = protocol.cost(sizes);
        let beside = protocol.carrying(1).map(|carrying| {
            let more = carrying.cost(sizes).bytes_to_receiver - cost.bytes_to_receiver;
            (more / ITEMS as f64) as u64 - 1
        });
        Self {
            protocol: protocol.key,
            kind: Kind::Run,
            title: protocol.title,
            citation: protocol.citation,
            status: protocol.status.name(),
            secure_against: protocol.adversary.name(),
            receiver_learns: protocol.learns.receiver,
            sender_learns: protocol.learns.sender,
            bytes_beside_a_payload: beside,
            cost: Cost {
                items_a_side: ITEMS,
                bytes_to_sender: cost.bytes_to_sender as u64,
                bytes_to_receiver: cost.bytes_to_receiver as u64,
                rounds: cost.rounds,
            },
        }
    }

    /// Describes a list that is made and downloaded for one lookup of as many items.
    fn of_lookup(lookup: &LookupProtocol) -> Result<Self, Failure> {
        let cost = (lookup.cost)(Asking { items: ITEMS, keys: ITEMS, times: 1 });
        let cost = cost.map_err(|_| Failure::bug("a list of a million items is beyond limits"))?;
        Ok(Self {
            protocol: lookup.key,
            kind: Kind::Lookup,
            title: lookup.title,
            citation: lookup.citation,
            status: lookup.status.name(),
            secure_against: lookup.adversary.name(),
            receiver_learns: lookup.client_learns,
            sender_learns: lookup.publisher_learns,
            bytes_beside_a_payload: Some(label::OVERHEAD as u64),
            cost: Cost {
                items_a_side: ITEMS,
                bytes_to_sender: cost.asking.bytes_to_sender as u64,
                bytes_to_receiver: (cost.list_bytes + cost.asking.bytes_to_receiver) as u64,
                rounds: cost.list_rounds + cost.asking.rounds,
            },
        })
    }

    /// Words the size of a payload of b bytes.
    fn payload(&self) -> String {
        match self.bytes_beside_a_payload {
            None => "none".to_owned(),
            Some(0) => "b".to_owned(),
            Some(beside) => format!("b + {beside}"),
        }
    }

    /// Returns the security, and what receiver and sender learn.
    fn disclosure(&self) -> [&'static str; 3] {
        [self.secure_against, self.receiver_learns, self.sender_learns]
    }

    /// Formats the megabytes both ways together.
    fn megabytes(&self) -> String {
        let bytes = self.cost.bytes_to_sender + self.cost.bytes_to_receiver;
        format!("{:.1}", bytes as f64 / 1e6)
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let mut entries: Vec<_> = CATALOGUE.iter().map(|protocol| Entry::new(protocol)).collect();
    for lookup in LOOKUPS {
        entries.push(Entry::of_lookup(lookup)?);
    }
    entries.sort_by_key(|entry| entry.protocol);
    crate::print(&if args.json {
        json(&entries)?
    } else if args.markdown {
        markdown(&entries)
    } else {
        table(&entries)
    })
}

fn json(entries: &[Entry]) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(entries);
    text.map(|text| text + "\n").map_err(|_| Failure::bug("the catalogue has no JSON"))
}

/// Formats a table for each security and disclosure, the largest first.
fn markdown(entries: &[Entry]) -> String {
    let mut groups: Vec<Vec<&Entry>> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|group| group[0].disclosure() == entry.disclosure()) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.iter().map(|group| section(group)).collect::<Vec<_>>().join("\n")
}

/// Formats the table of entries that share security and disclosure.
fn section(group: &[&Entry]) -> String {
    let [secure_against, receiver_learns, sender_learns] = group[0].disclosure();
    let mut text = format!(
        "Secure against: **{secure_against}**. The receiver learns {receiver_learns}. The sender learns \
         {sender_learns}.\n\n\
         | protocol | construction | status | MB at 2^20 | payload of b bytes | paper |\n\
         |---|---|---|---|---|---|\n"
    );
    for entry in group {
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            entry.protocol,
            entry.title,
            entry.status,
            entry.megabytes(),
            entry.payload(),
            entry.citation,
        );
    }
    text
}

fn table(entries: &[Entry]) -> String {
    let mut rows = vec![
        ["PROTOCOL", "STATUS", "SECURE AGAINST", "MB AT 2^20", "WHAT IT IS"].map(String::from),
    ];
    rows.extend(entries.iter().map(|entry| {
        let against = entry.secure_against.to_owned();
        let (status, title) = (entry.status.to_owned(), entry.title.to_owned());
        [entry.protocol.to_owned(), status, against, entry.megabytes(), title]
    }));
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line += &format!("{cell:width$}  ");
            }
            line + &row[4] + "\n"
        })
        .collect()
}
