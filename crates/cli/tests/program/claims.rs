//! A partner that names any protocol and claims the largest set there may be. This side, with 2 GB, refuses in order
//! before it prepares anything: exit 5, with what is in the way. Or it compares the sets in partitions, which fit.

use std::{fs, process::Command, time::Duration};

use crate::harness::{Lab, Listening, Running};
use vesica::WIRE_VERSION;
use vesica_net::{
    CancelToken, Channel, Fingerprint, Identity,
    transport::{tcp, tls},
};
use vesica_psi::{CATALOGUE, MAX_ITEMS, aggregate::METHODS};
use vesica_testkit::{assurance, claimant::claim};

const PATIENCE: Duration = Duration::from_secs(60);

/// The address space of the honest side, for what its own reckoning would let through: 3 GiB, in KiB.
const ADDRESS_SPACE: &str = "3145728";

/// A run that a partner may ask for.
struct Asked {
    protocol: &'static str,
    /// As the flag has it, and as the terms have it.
    answer: [&'static str; 2],
}

impl Asked {
    fn all() -> Vec<Self> {
        let rows = CATALOGUE.iter().map(|p| Self { protocol: p.key, answer: ["rows", "\"rows\""] });
        let numbers = METHODS.iter().map(|method| Self {
            protocol: method.key,
            answer: match method.tells_size {
                true => ["sum", "\"sum\""],
                false => ["count", "\"count\""],
            },
        });
        let shares = Self { protocol: "rs21-circuit", answer: ["shares", "\"shares\""] };
        rows.chain(numbers).chain([shares]).collect()
    }

    /// Whether sets of any size are compared in partitions.
    fn splits(&self) -> bool {
        let of_rows = ["dh", "rr22", "rr22-malicious"].contains(&self.protocol);
        if self.answer[0] == "rows" { of_rows } else { self.protocol == "rs21-circuit" }
    }

    /// Whether this side learns the result, who the claimant is not.
    fn learns(&self, i_learn: bool) -> &'static str {
        match (self.answer[0], i_learn) {
            ("shares", _) => "nobody",
            (_, true) => "me",
            (_, false) => "peer",
        }
    }

    /// The claimant's offer: it connects, and so is `a`.
    fn terms(&self, i_learn: bool) -> String {
        let Self { protocol, answer: [_, wanted] } = self;
        let learns = self.learns(i_learn);
        format!(
            "{{\"version\":{WIRE_VERSION},\"protocol\":\"{protocol}\",\"security\":\"semi-honest\",\"keys\":[\"none@1\"],\"identifiers\":[],\
             \"a_learns\":{},\"b_learns\":{},\"max_peer_rows\":{MAX_ITEMS},\"allow_research\":true,\
             \"wanted\":{wanted},\"brings_values\":{},\"minimum\":0,\"null_values\":[],\"scale\":0,\
             \"diagnose\":false,\"align\":false}}",
            learns == "peer",
            learns == "me",
            self.answer[0] == "sum"
        )
    }
}

#[test]
fn claims_are_refused_in_order() {
    let lab = Lab::new();
    lab.write(Listening, "k\nx\n");
    let most = MAX_ITEMS.to_string();
    for (place, asked) in Asked::all().into_iter().enumerate() {
        let learns = [true, false].into_iter();
        for i_learn in learns.filter(|learns| assurance::tries(place, usize::from(*learns), 2)) {
            let flags = [
                &["--protocol", asked.protocol, "--answer", asked.answer[0], "--learns"][..],
                &[asked.learns(i_learn), "--allow-research", "--max-peer-rows", &most],
                &["--memory", "2G"],
            ];
            let honest = lab.command(Listening, &["--listen", "127.0.0.1:0"], &flags.concat());
            let mut process = Running::start(limited(&honest));
            let line = process.until("listening on ");
            let address = line.trim_start_matches("listening on ");

            let mut channel = Channel::new(connect(&lab, address)).with_stall_timeout(PATIENCE);
            let heard = claim(&asked.terms(i_learn), MAX_ITEMS as u64, &mut channel);
            drop(channel);
            let ended = process.end();
            if asked.splits() {
                // There is memory for partitions of them, so it goes on until the other side is gone.
                ended.assert(4, &[&format!("while comparing the tables ({})", asked.protocol)]);
                lab.assert_clean();
                continue;
            }
            ended.assert(5, &["the two sides do not agree: "]);
            let limit = ["memory (here: `", "sizes of the sets (here: `"];
            assert!(limit.iter().any(|limit| ended.err.contains(limit)), "{ended:?}");
            assert!(ended.err.contains(asked.protocol), "{ended:?}");
            assert!(heard.is_some(), "{} went on", asked.protocol);
            lab.assert_clean();
        }
    }
}

/// A claim of more keys than all partitions together can hold ends the run before anything is computed from it.
#[test]
fn a_set_that_no_protocol_takes_is_refused_as_terms() {
    let lab = Lab::new();
    lab.write(Listening, "k\nx\n");
    let most = 1u64 << 40;
    let dh = Asked { protocol: "dh", answer: ["rows", "\"rows\""] };
    let rr22 = Asked { protocol: "rr22", answer: ["rows", "\"rows\""] };
    let count = Asked { protocol: "rs21-circuit", answer: ["count", "\"count\""] };
    for (asked, claimed, said) in [
        (&dh, most, "1,099,511,627,776 keys are too many to compare"),
        (&rr22, most - 1, "keys are too many to compare"),
        (&count, most, "keys are too many to compare"),
        (&dh, most - 5000, "no protocol accepts sets of these sizes"),
    ] {
        let flags = [
            &["--protocol", asked.protocol, "--answer", asked.answer[0], "--learns", "me"][..],
            &["--max-peer-rows", &most.to_string(), "--memory", "2G"],
        ];
        let honest = lab.command(Listening, &["--listen", "127.0.0.1:0"], &flags.concat());
        let mut process = Running::start(limited(&honest));
        let line = process.until("listening on ");
        let address = line.trim_start_matches("listening on ");
        let mut channel = Channel::new(connect(&lab, address)).with_stall_timeout(PATIENCE);
        let heard = claim(&asked.terms(true), claimed, &mut channel);
        drop(channel);
        process.end().assert(5, &["sizes of the sets (here: ", said]);
        assert!(heard.is_some(), "{} went on", asked.protocol);
        lab.assert_clean();
    }
}

/// The same command with little address space.
fn limited(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", ADDRESS_SPACE]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

fn connect(lab: &Lab, address: &str) -> tls::Tls {
    let cancel = CancelToken::default();
    let pem = fs::read_to_string(lab.path("connecting.identity")).unwrap();
    let me = Identity::from_pem(&pem).unwrap();
    let peer: Fingerprint = lab.prints[1].parse().unwrap();
    let tcp = tcp::connect(address, PATIENCE, &cancel).unwrap();
    tls::client(tcp, &me, &peer, PATIENCE, &cancel).unwrap()
}
