//! The charts of the page, as SVG files.

use std::fmt::Write;

use vesica_planner::unit::{Unit, power};

use crate::publish::report::{
    chart::{Scale, mark},
    line_title,
};

use super::{
    ANCHOR, LINES, MEMORY,
    page::{CIRCUITS, protocols, recommended},
    table::{JobRow, ResultTable, column},
};

/// A file with a chart: its name, and the function that draws it.
pub(super) type ChartFile = (&'static str, fn(&ResultTable) -> String);

/// Every chart.
pub(super) const CHARTS: [ChartFile; 4] = [
    ("performance-time.svg", time),
    ("performance-bytes.svg", bytes),
    ("performance-circuits.svg", circuits),
    ("performance-protocols.svg", all_protocols),
];

const WIDTH: f64 = 800.0;

/// A panel's cell in the grid of a picture, and the margins of the plot in it.
const CELL: [f64; 2] = [400.0, 268.0];
const LEFT: f64 = 66.0;
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 36.0;

/// The height of the legend, and the width of a letter in it.
const LEGEND: f64 = 30.0;
const LETTER: f64 = 7.2;

/// One plot of curves by size.
struct Panel {
    title: String,
    unit: Unit,
    curves: Vec<Curve>,
}

/// The points of one protocol.
struct Curve {
    style: usize,
    points: Vec<ChartPoint>,
}

/// The figure of one job.
struct ChartPoint {
    items: f64,
    figure: f64,
    is_predicted: bool,
}

impl Panel {
    fn new(
        table: &ResultTable,
        title: String,
        keys: &[&str],
        link: &str,
        kind: PlottedFigure,
    ) -> Self {
        let points = |key: &str| {
            let rows = table.rows.iter().filter(|row| row.is(key, link));
            let mut points: Vec<_> = rows.filter_map(|row| kind.point(row)).collect();
            points.sort_by(|x, y| x.items.total_cmp(&y.items));
            points
        };
        let curves =
            keys.iter().enumerate().map(|(style, key)| Curve { style, points: points(key) });
        let unit = if kind == PlottedFigure::Seconds { Unit::Seconds } else { Unit::Bytes };
        Self { title, unit, curves: curves.collect() }
    }

    fn points(&self) -> impl Iterator<Item = &ChartPoint> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }
}

/// The figure that a plot shows.
#[derive(Clone, Copy, PartialEq)]
enum PlottedFigure {
    Seconds,
    BytesAnItem,
    Memory,
}

impl PlottedFigure {
    fn point(self, row: &JobRow) -> Option<ChartPoint> {
        let items = row.items as f64;
        let (measured, predicted) = match self {
            Self::Seconds => (row.figure(column::SECONDS), row.seconds()),
            Self::BytesAnItem => {
                let an_item = |column| Some(row.figure(column)? / items);
                (an_item(column::BYTES), an_item(column::PREDICTED_BYTES))
            }
            Self::Memory => (row.figure(column::PEAK_MEGABYTES).map(|figure| figure * 1e6), None),
        };
        let figure = measured.or(predicted)?;
        Some(ChartPoint { items, figure, is_predicted: measured.is_none() })
    }
}

fn time(table: &ResultTable) -> String {
    let keys: Vec<_> = [ANCHOR].into_iter().chain(recommended()).collect();
    let panels = [MEMORY].into_iter().chain(LINES).map(|link| {
        let title = if link == MEMORY { "in memory".to_owned() } else { line_title(link) };
        Panel::new(table, title, &keys, link, PlottedFigure::Seconds)
    });
    draw("Time by size of the recommended protocols", &keys, panels.collect(), true)
}

fn bytes(table: &ResultTable) -> String {
    let keys: Vec<_> = [ANCHOR].into_iter().chain(recommended()).collect();
    let panels = [
        ("bytes per item, both ways", PlottedFigure::BytesAnItem),
        ("peak memory", PlottedFigure::Memory),
    ];
    let panels =
        panels.map(|(title, kind)| Panel::new(table, title.to_owned(), &keys, MEMORY, kind));
    draw("Bytes and memory of the recommended protocols", &keys, panels.into(), false)
}

fn circuits(table: &ResultTable) -> String {
    let panels = [
        ("time in memory", MEMORY, PlottedFigure::Seconds),
        ("bytes per item, both ways", MEMORY, PlottedFigure::BytesAnItem),
    ];
    let panels = panels
        .map(|(title, link, kind)| Panel::new(table, title.to_owned(), &CIRCUITS, link, kind));
    draw("Time and bytes of the circuits", &CIRCUITS, panels.into(), false)
}

/// Draws panels in two columns, below a legend, with one vertical scale or one for each.
fn draw(title: &str, keys: &[&str], panels: Vec<Panel>, is_common: bool) -> String {
    let mut svg = head(title, LEGEND + CELL[1] * panels.len().div_ceil(2) as f64);
    let mut x = 10.0;
    for (style, key) in keys.iter().enumerate() {
        let _ = writeln!(
            svg,
            r#"  <g class="c{style}"><path class="line" d="M{x:.1} 16h26"/>{}</g><text class="name" x="{:.1}" y="20">{key}</text>"#,
            mark(style, x + 13.0, 16.0, ""),
            x + 32.0
        );
        x += 54.0 + LETTER * key.len() as f64;
    }
    let all = || panels.iter().flat_map(Panel::points);
    for (i, panel) in panels.iter().enumerate() {
        let origin = [CELL[0] * (i % 2) as f64, LEGEND + CELL[1] * (i / 2) as f64];
        let (mut x, mut y) = (Scale::new(Unit::Items), Scale::new(panel.unit));
        x.fit(all().map(|point| point.items));
        match is_common {
            true => y.fit(all().map(|point| point.figure)),
            false => y.fit(panel.points().map(|point| point.figure)),
        }
        panel.draw(&mut svg, origin, &x, &y);
    }
    svg + "</svg>\n"
}

impl Panel {
    fn draw(&self, svg: &mut String, [left, top]: [f64; 2], x: &Scale, y: &Scale) {
        let (first, last) = (left + LEFT, left + CELL[0] - RIGHT);
        let (high, low) = (top + ABOVE, top + CELL[1] - BELOW);
        let at_x = |items: f64| first + x.place(items) * (last - first);
        let at_y = |figure: f64| low - y.place(figure) * (low - high);
        let _ = writeln!(
            svg,
            r#"  <text class="title" x="{first}" y="{}">{}</text>"#,
            high - 9.0,
            self.title
        );
        for tick in y.ticks() {
            let at = at_y(tick);
            let _ = writeln!(
                svg,
                r#"  <path class="grid" d="M{first} {at:.1}H{last}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                first - 8.0,
                at + 4.0,
                self.unit.text(tick)
            );
        }
        for tick in x.ticks() {
            let at = at_x(tick);
            let _ = writeln!(
                svg,
                r#"  <path class="grid" d="M{at:.1} {high}V{low}"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"#,
                low + 18.0,
                power(tick as usize)
            );
        }
        for Curve { style, points } in &self.curves {
            let _ = write!(svg, r#"  <g class="c{style}">"#);
            for pair in points.windows(2) {
                let predicted = if pair[1].is_predicted { " predicted" } else { "" };
                let [x, to_x] = [0, 1].map(|i| at_x(pair[i].items));
                let [y, to_y] = [0, 1].map(|i| at_y(pair[i].figure));
                let _ = write!(
                    svg,
                    r#"<path class="line{predicted}" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#
                );
            }
            for ChartPoint { items, figure, is_predicted } in points {
                let shape = mark(*style, at_x(*items), at_y(*figure), "");
                svg.push_str(&if *is_predicted { hollow(&shape) } else { shape });
            }
            svg.push_str("</g>\n");
        }
    }
}

/// The sizes of the chart of all protocols.
const DOTS: [usize; 4] = [1 << 8, 1 << 12, 1 << 16, 1 << 20];

/// The height of a protocol's row there, and the room for its name.
const ROW: f64 = 18.0;
const NAME: f64 = 176.0;

/// Draws a row of dots for each protocol, the fastest at the largest size first.
fn all_protocols(table: &ResultTable) -> String {
    let sizes: Vec<usize> = DOTS.into_iter().filter(|size| *size <= table.largest()).collect();
    let time = |key: &str, size: &usize| {
        let row = table.row(key, *size, MEMORY)?;
        Some((row.seconds()?, row.figure(column::SECONDS).is_none()))
    };
    let last = |key: &str| sizes.last().and_then(|size| time(key, size)).map_or(0.0, |time| time.0);
    let mut keys: Vec<_> = protocols(table);
    keys.sort_by(|x, y| last(x).total_cmp(&last(y)));
    let mut scale = Scale::new(Unit::Seconds);
    let all = keys.iter().flat_map(|key| sizes.iter().filter_map(|size| time(key, size)));
    scale.fit(all.map(|time| time.0));
    let at = |seconds: f64| NAME + scale.place(seconds) * (WIDTH - NAME - RIGHT);

    let top = LEGEND + 26.0;
    let low = top + ROW * keys.len() as f64;
    let mut svg = head("Time of all protocols in memory", low + 10.0);
    for (style, size) in sizes.iter().enumerate() {
        let x = NAME + 10.0 + style as f64 * 120.0;
        let _ = writeln!(
            svg,
            r#"  <g class="c{style}">{}</g><text class="name" x="{}" y="20">{} items</text>"#,
            mark(style, x, 16.0, ""),
            x + 12.0,
            power(*size)
        );
    }
    for tick in scale.ticks() {
        let x = at(tick);
        let _ = writeln!(
            svg,
            r#"  <path class="grid" d="M{x:.1} {top}V{low}"/><text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
            top - 6.0,
            Unit::Seconds.text(tick)
        );
    }
    for (i, key) in keys.iter().enumerate() {
        let y = top + ROW * (i as f64 + 0.5);
        let _ = write!(
            svg,
            r#"  <path class="grid" d="M{NAME} {y}H{}"/><text class="name" x="{}" y="{}" text-anchor="end">{key}</text>"#,
            WIDTH - RIGHT,
            NAME - 10.0,
            y + 4.0
        );
        for (style, size) in sizes.iter().enumerate() {
            let Some((seconds, is_predicted)) = time(key, size) else { continue };
            let shape = mark(style, at(seconds), y, "");
            let shape = if is_predicted { hollow(&shape) } else { shape };
            let _ = write!(svg, r#"<g class="c{style}">{shape}</g>"#);
        }
        svg.push('\n');
    }
    svg + "</svg>\n"
}

/// Makes a mark a ring: it stands for a prediction.
fn hollow(mark: &str) -> String {
    mark.replace("class=\"mark\"", "class=\"mark predicted\"")
}

fn head(title: &str, height: f64) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="13">
  <title id="title">{title}</title>
  <desc id="desc">Made from performance.tsv, which has the figures. Dashed lines and hollow marks are predictions.</desc>
  <style>
    .line {{ fill: none; stroke: currentColor; stroke-width: 1.8 }}
    .line.predicted {{ stroke-dasharray: 4 4 }}
    .mark {{ fill: currentColor; stroke: currentColor; stroke-width: 1.5 }}
    .mark.predicted {{ fill: #ffffff }}
    .c0 {{ color: #59636e }}
    .c1 {{ color: #b3592f }}
    .c2 {{ color: #2f6fb3 }}
    .c3 {{ color: #2b8a5a }}
    .c4 {{ color: #7d4fb8 }}
    .c5 {{ color: #a3732a }}
    .grid {{ stroke: #d5dae0 }}
    text {{ fill: #59636e }}
    .title, .name {{ fill: #1f2328 }}
    .title {{ font-weight: 600 }}
    @media (prefers-color-scheme: dark) {{
      .mark.predicted {{ fill: #0d1117 }}
      .c0 {{ color: #9198a1 }}
      .c1 {{ color: #ffa274 }}
      .c2 {{ color: #6cb0ff }}
      .c3 {{ color: #5fd39a }}
      .c4 {{ color: #c4a0ff }}
      .c5 {{ color: #e3b341 }}
      .grid {{ stroke: #343b44 }}
      text {{ fill: #9198a1 }}
      .title, .name {{ fill: #f0f6fc }}
    }}
  </style>
"##
    )
}
