//! `publish`: a list that others query.

use vesica::{
    lists::{Published, publish},
    report::grouped,
    spec::{List, PublishMessages},
};

use crate::{
    cancel,
    exit::Failure,
    flags::{Flags, required},
    keygen,
    progress::Show,
};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: Flags<List>,
    #[command(flatten)]
    progress: Flags<PublishMessages>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let list = args.list.value()?;
    let progress = args.progress.value()?.progress;
    let job = list.to_publication(None)?;
    let me = required(list.identity.as_deref(), &["identity"], "who publishes the list")?;
    let me = keygen::load(me)?;
    let rng = &mut vesica::system_rng()?;
    let observer = Show::from(progress).observer(false, false);
    let published = publish(&job, &me, &observer, &cancel, rng)?;
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
