#![allow(clippy::unwrap_used)]
use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{Sizes, find, receive, send};
use vesica_testkit::{
    conformance::psi::Sets,
    two_party::{Link, run},
};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = 1usize << args[1].parse::<u32>().unwrap();
    let sets = Sets::random(Sizes { sender: n, receiver: n }, n / 2, 1);
    for key in &args[2..] {
        let protocol = find(key).unwrap();
        let cpu = || {
            let s = std::fs::read_to_string("/proc/self/stat").unwrap();
            let f: Vec<&str> = s.split(' ').collect();
            f[13].parse::<f64>().unwrap() / 100.0 + f[14].parse::<f64>().unwrap() / 100.0
        };
        for _ in 0..2 {
            let (t, c) = (std::time::Instant::now(), cpu());
            run(
                Link::Memory,
                |ch: &mut Channel, r: &mut StdRng| {
                    send(protocol, sets.sender.items(), 0..=n, ch, r)
                },
                |ch: &mut Channel, r: &mut StdRng| {
                    receive(protocol, sets.receiver.items(), 0..=n, ch, r)
                },
            );
            println!("{key} 2^{} wall {:?} cpu {:.2}", args[1], t.elapsed(), cpu() - c);
        }
    }
}
