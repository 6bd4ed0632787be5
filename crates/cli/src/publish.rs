//! `publish`: a list that others look keys up in.

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    lists::{Published, publish},
    report::grouped,
    spec::List,
};

use crate::{cancel, exit::Failure, flags::Flags, keygen, progress::Show};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: Flags<List>,
    /// Show progress: auto (on a terminal), plain (a line for each phase, more in long ones) or off
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    progress: Show,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let list = args.list.value()?;
    let job = list.to_publication(None)?;
    let identity = list.identity.as_deref();
    let me =
        identity.ok_or_else(|| Failure::usage("say who publishes the list with --identity"))?;
    let me = keygen::load(me)?;
    let rng = &mut StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
    let published = publish(&job, &me, &args.progress.observer(false, false), &cancel, rng)?;
    crate::print(&summary(&published, &me.fingerprint().to_string()))
}

fn summary(published: &Published, fingerprint: &str) -> String {
    let Published { head, changes, is_whole } = published;
    let bytes = head.file_bytes();
    let an_item = bytes as f64 * 8.0 / head.items.max(1) as f64;
    let kind = match (is_whole, changes.added + changes.removed) {
        (_, 0) => "nothing changed; the list is signed again".to_owned(),
        (true, _) => "a list of all items".to_owned(),
        (false, _) => "what changed since the last version".to_owned(),
    };
    let lines = [
        ("published", kind),
        ("items", grouped(head.items)),
        ("added", grouped(changes.added)),
        ("removed", grouped(changes.removed)),
        ("evaluated", grouped(changes.evaluated)),
        ("epoch and version", format!("{} and {}", head.epoch, head.sequence())),
        ("bytes, and bits an item", format!("{} and {an_item:.1}", grouped(bytes))),
        ("bits of a tag", head.tag_bits.to_string()),
        ("state", head.state.to_string()),
        ("publisher", fingerprint.to_owned()),
    ];
    lines.map(|(name, value)| format!("{name:<26} {value}\n")).concat()
}
