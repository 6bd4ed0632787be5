//! `lookup`: a search for the keys of a table in a published list.

use std::{fs, path::Path};

use vesica::{
    lists::{ListOrigin, look_up},
    report::{counted, grouped},
    spec,
};

use crate::{exit::Failure, flags::Flags, progress::Show};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    lookup: Flags<spec::Lookup>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let spec = args.lookup.value()?;
    let job = spec.to_look_up(None, spec.result.output.clone().into())?;
    let subscription = spec.subscription()?;
    let token = spec.list.token.as_ref().map(|path| {
        let failed = |error| Failure::input(format!("{}: cannot be read: {error}", path.display()));
        fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed)
    });
    let (token, ask) = (token.transpose()?, spec.list.ask.as_deref());
    let mut origin = ListOrigin::new(spec.place()?, ask, spec.publisher()?, token)?;
    let rng = &mut vesica::system_rng()?;
    let (quiet, prints) = (spec.messages.quiet, spec.result.output == Path::new("-"));
    let observer = Show::from(spec.messages.progress).observer(quiet, prints);
    let found = look_up(&job, &mut origin, &subscription, &observer, rng)?;
    if !quiet {
        let rows = counted(found.rows, "row");
        let keys = counted(found.keys, "key");
        crate::say(&format!(
            "{} of {keys} are in the list; {rows} written",
            grouped(found.matches)
        ));
        found.formulas.iter().for_each(|column| crate::say(&column.sentence()));
    }
    Ok(())
}
