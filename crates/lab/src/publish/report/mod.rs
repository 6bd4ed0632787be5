//! A page of results: one self-contained HTML file.
//!
//! Charts are SVG generated here, so that they print, follow light and dark mode, and need no script; the only
//! script sorts tables. The page's policy permits only that script and no external resources.

pub(crate) mod chart;
mod escaped;
mod html;
mod runs;
mod tables;

use std::fmt::Write;

use vesica_psi::Sizes;

use crate::{Host, record::results::Measured};
use vesica_planner::{
    prices,
    unit::{self, Unit},
};

use chart::{Bar, Row, Scale, Series};
use escaped::Escaped;
use html::Swatch;
use runs::{Run, Runs};

pub(crate) use runs::line_title;

/// Makes the page for these files.
pub fn page(measured: &[Measured]) -> String {
    let runs = Runs::new(measured);
    let mut body = String::new();
    head(&mut body, measured);
    legend(&mut body, &runs);
    let mut sections = vec![
        by_size(
            &runs,
            "time",
            "Time by size",
            "The receiver's time from start to result.",
            |run| run.seconds,
            Unit::Seconds,
        ),
        by_size(
            &runs,
            "bytes",
            "Bytes by size",
            "Sent by both parties together, framing included.",
            |run| run.bytes(),
            Unit::Bytes,
        ),
        by_bandwidth(&runs),
        cost(&runs),
        split(&runs),
        phases(&runs),
    ];
    sections.extend(tables::all(measured));
    body.extend(sections);
    html::document(&body)
}

fn head(out: &mut String, measured: &[Measured]) {
    let count: usize = measured.iter().map(|file| file.records.len()).sum();
    let wrong = measured.iter().flat_map(|file| &file.records).filter(|run| !run.correct()).count();
    let _ = write!(
        out,
        "<header><h1>Private set intersection, measured</h1><p>{count} runs of <code>vesica bench</code>"
    );
    let _ = write!(
        out,
        ", both parties in one process over an emulated line. If a job was run more than once, charts show the median run.</p>"
    );
    if wrong > 0 {
        let _ = write!(out, "<p class=\"wrong\">{wrong} runs gave a wrong result.</p>");
    }
    for host in hosts(measured) {
        let Host { processor, processors, memory_bytes, system, version, date } = host;
        let memory = memory_bytes.map_or("unknown".to_owned(), |bytes| {
            format!("{:.0} GiB", bytes as f64 / f64::from(1 << 30))
        });
        let _ = write!(out, "<dl class=\"machine\">");
        for (name, value) in [
            ("Processor", processor.as_str()),
            ("Processors", &processors.to_string()),
            ("Memory", &memory),
            ("System", system),
            ("Version", version),
            ("Measured from", date),
        ] {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(value));
        }
        out.push_str("</dl>");
    }
    out.push_str("</header>");
}

/// Returns the hosts that differ in more than the date.
fn hosts(measured: &[Measured]) -> Vec<&Host> {
    let mut hosts: Vec<&Host> = Vec::new();
    for file in measured {
        if !hosts.iter().any(|known| known.is_like(&file.host)) {
            hosts.push(&file.host);
        }
    }
    hosts
}

/// Writes the line and mark of each label, for all charts with lines.
fn legend(out: &mut String, runs: &Runs) {
    if runs.labels.is_empty() {
        return;
    }
    out.push_str("<ul class=\"legend\">");
    for (style, label) in runs.labels.iter().enumerate() {
        let _ = write!(out, "<li>{}{}</li>", Swatch::line(style), Escaped(label));
    }
    out.push_str("</ul>");
}

/// Writes a section with charts side by side, or nothing without charts.
fn section(id: &str, title: &str, about: &str, charts: &[String]) -> String {
    if charts.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"{id}\"><h2>{title}</h2><p>{about}</p><div class=\"charts\">{}</div></section>",
        charts.concat()
    )
}

fn by_size(
    runs: &Runs,
    id: &str,
    title: &str,
    about: &str,
    value: impl Fn(&Run) -> f64,
    unit: Unit,
) -> String {
    let mut charts = Vec::new();
    // Bytes do not depend on the link, so one chart is enough for all.
    let lines =
        if unit == Unit::Bytes { vec![None] } else { runs.lines().into_iter().map(Some).collect() };
    for line in lines {
        for alike in runs.alike() {
            let mine =
                |run: &&Run| line.is_none_or(|line| run.line == line) && alike.has(run.sizes);
            let series = runs.series(mine, |run| {
                let tip = format!("{}, {}: {}", run.label, sizes(run.sizes), unit.text(value(run)));
                (run.sizes.sender as f64, value(run), tip)
            });
            let caption = match line {
                Some(line) => format!("{}{}", line_title(line), alike.title()),
                None => format!("any line{}", alike.title()),
            };
            charts.extend(chart::lines(
                &caption,
                Scale::new(Unit::Items),
                Scale::new(unit),
                &series,
            ));
        }
    }
    section(id, title, about, &charts)
}

fn by_bandwidth(runs: &Runs) -> String {
    let mut charts = Vec::new();
    for round_trip in runs.round_trips() {
        let Some(sizes_of) = runs.largest(|run| run.round_trip() == Some(round_trip)) else {
            continue;
        };
        let mine = |run: &&Run| run.round_trip() == Some(round_trip) && run.sizes == sizes_of;
        let series: Vec<Series> = runs.series(mine, |run| {
            let rate = run.rate().unwrap_or(1.0);
            let tip = format!(
                "{}, {}: {}",
                run.label,
                Unit::Rate.text(rate),
                Unit::Seconds.text(run.seconds)
            );
            (rate, run.seconds, tip)
        });
        let rates = series.iter().map(Series::len).max().unwrap_or(0);
        if rates < 2 {
            continue;
        }
        let caption = format!(
            "{}, round trip {} ms",
            sizes(sizes_of),
            unit::number(round_trip.as_secs_f64() * 1e3)
        );
        charts.extend(chart::lines(
            &caption,
            Scale::new(Unit::Rate),
            Scale::new(Unit::Seconds),
            &series,
        ));
    }
    section(
        "bandwidth",
        "Time by bandwidth",
        "The receiver's time over lines of the same round trip.",
        &charts,
    )
}

fn cost(runs: &Runs) -> String {
    let mut charts = Vec::new();
    for (line, regions) in prices::LINES {
        let Some(sizes_of) = runs.largest(|run| run.line == *line) else { continue };
        let rows = runs.of(|run| run.line == *line && run.sizes == sizes_of).map(|run| {
            let bill = prices::run_cost(run.seconds, run.sent(), *regions);
            let bar = |style, usd: f64| Bar::of(style, usd * 1000.0, Unit::Usd);
            Row { label: run.label.clone(), bars: vec![bar(0, bill.both), bar(1, bill.one)] }
        });
        let [sender, receiver] = regions.map(|region| region.name);
        let caption = format!("sender in {sender}, receiver in {receiver}, {}", sizes(sizes_of));
        charts.push(chart::bars(&caption, &rows.collect::<Vec<_>>()));
    }
    let about = format!(
        "USD for 1000 runs on machines of the kind {}, with the prices of {} as CM20 gives them. {}both parties in the \
         cloud {}only the sender",
        prices::MACHINE,
        prices::DATE,
        Swatch::bar(0),
        Swatch::bar(1)
    );
    section("cost", "Cost by region", &about, &charts)
}

fn split(runs: &Runs) -> String {
    let Some((caption, chosen)) = runs.most_compared() else { return String::new() };
    let rows = chosen.iter().map(|run| {
        let bar =
            Bar::stacked([(0, "offline", run.offline), (1, "online", run.online)], Unit::Seconds);
        Row { label: run.label.clone(), bars: vec![bar] }
    });
    let about = format!(
        "{}what needs only the sizes and can be done ahead of time {}what needs the items",
        Swatch::bar(0),
        Swatch::bar(1)
    );
    let chart = chart::bars(&caption, &rows.collect::<Vec<_>>());
    section("split", "Offline and online", &about, &[chart])
}

fn phases(runs: &Runs) -> String {
    let Some((caption, chosen)) = runs.most_compared() else { return String::new() };
    let most = chosen.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let charts: Vec<String> = chosen
        .iter()
        .map(|run| {
            let parts = || run.phases.iter().enumerate().filter(|(_, phase)| phase.1 > 0.0);
            let segments = parts().map(|(style, (name, seconds))| (style, name.as_str(), *seconds));
            let bar = Bar::stacked(segments, Unit::Seconds);
            let row = Row { label: run.label.clone(), bars: vec![bar] };
            let mut legend = String::from("<ul class=\"parts\">");
            for (style, (name, seconds)) in parts() {
                let seconds = Unit::Seconds.text(*seconds);
                let _ =
                    write!(legend, "<li>{}{} {seconds}</li>", Swatch::bar(style), Escaped(name));
            }
            legend.push_str("</ul>");
            chart::bar(&row, most, &legend)
        })
        .collect();
    let about = format!(
        "The receiver's time by phase, {}, including waiting for the other party.",
        caption
    );
    section("phases", "Phases", &about, &charts)
}

/// Sizes of both sets in words.
fn sizes(sizes: Sizes) -> String {
    match sizes.sender == sizes.receiver {
        true => format!("{} items each", unit::power(sizes.sender)),
        false => format!("{} × {} items", unit::power(sizes.receiver), unit::power(sizes.sender)),
    }
}
