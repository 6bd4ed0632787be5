//! `docs/protocols/compression.svg`: the size of filters compared with the plain list, both as in Figure 2 of Liang et
//! al. and with secure parameters.

use std::fmt::Write;

use vesica_params::{
    Adversary, LAMBDA,
    filter::{
        BloomShape, CuckooShape, ListShape, Rate, Refused, Shape, SortedListShape, VacuumShape,
    },
};

use crate::Failure;

/// A line of the figure: the bits of a filter for sets of n items, if the receiver tests n values.
struct CompressionLine {
    /// Its name in the legend, and its class in the style.
    name: &'static str,
    class: &'static str,
    bits: fn(usize, Rate) -> Result<f64, Refused>,
}

/// With a rate of 2^-(λ + log n), in this project's encodings.
const SOUND: [CompressionLine; 4] = [
    CompressionLine {
        name: "Bloom filter",
        class: "bloom",
        bits: |n, rate| Ok(bits(BloomShape::new(n, rate))),
    },
    CompressionLine {
        name: "vacuum filter",
        class: "vacuum",
        bits: |n, rate| VacuumShape::new(n, rate).map(bits),
    },
    CompressionLine {
        name: "cuckoo filter",
        class: "cuckoo",
        bits: |n, rate| CuckooShape::new(n, rate).map(bits),
    },
    CompressionLine {
        name: "list, sorted and coded",
        class: "list",
        bits: |n, rate| SortedListShape::new(n, rate).map(bits),
    },
];

/// Sizes as Liang et al. count them (Table 1): 40 bits per item of a Bloom filter, over ln 2, and otherwise tags of 48
/// bits and a byte per bucket. They have no formula for vacuum filters, and say that these are like cuckoo filters
/// below 2^16 items.
const PUBLISHED: [CompressionLine; 3] = [
    CompressionLine {
        name: "Bloom filter",
        class: "bloom published",
        bits: |n, _| Ok(n as f64 * f64::from(LAMBDA) / std::f64::consts::LN_2),
    },
    CompressionLine {
        name: "cuckoo filter",
        class: "cuckoo published",
        bits: |n, rate| CuckooShape::new(n, rate).map(|shape| tags_and_buckets(n, shape.buckets)),
    },
    CompressionLine {
        name: "vacuum filter",
        class: "vacuum published",
        bits: |n, rate| {
            let buckets = match n < 1 << 16 {
                true => CuckooShape::new(n, rate)?.buckets,
                false => VacuumShape::chunked(n, rate)?.buckets,
            };
            Ok(tags_and_buckets(n, buckets))
        },
    },
];

fn bits(shape: impl Shape) -> f64 {
    shape.wire_bits() as f64
}

fn tags_and_buckets(n: usize, buckets: usize) -> f64 {
    (48 * n + 8 * buckets) as f64
}

/// log2 of the sizes shown.
const SIZES: [u32; 2] = [4, 24];

/// Number of points between a size and its double.
const STEPS: usize = 8;

/// Compression rates shown, in tenths.
const RATES: [u32; 2] = [5, 14];

/// The plot without its labels, in pixels: left, top, width, height.
const PLOT: [f64; 4] = [56.0, 44.0, 480.0, 306.0];

/// Draws the figure.
pub fn svg() -> Result<String, Failure> {
    let mut text = HEAD.to_owned();
    axes(&mut text);
    for line in SOUND.iter().chain(&PUBLISHED) {
        let points = line.points().map_err(|refused| format!("{}: {refused}", line.name))?;
        let _ = writeln!(text, r#"  <polyline class="line {}" points="{points}"/>"#, line.class);
    }
    legend(&mut text, 72.0, "sound: 2⁻⁶⁰ a query at 2²⁰", &SOUND);
    legend(&mut text, 214.0, "as published: 2⁻⁴⁰ a query", &PUBLISHED);
    text.push_str("</svg>\n");
    Ok(text)
}

impl CompressionLine {
    /// Returns the points of the line, by size.
    fn points(&self) -> Result<String, Refused> {
        let mut points = Vec::new();
        let sizes = (SIZES[0]..SIZES[1]).flat_map(|log| (0..STEPS).map(move |step| (log, step)));
        for (log, step) in sizes.chain([(SIZES[1], 0)]) {
            let n = (1 << log) + (step << log) / STEPS;
            let rate = if self.class.ends_with("published") {
                Rate::liang22(Adversary::SemiHonest)?
            } else {
                Rate::sound(Adversary::SemiHonest, n, LAMBDA)?
            };
            let list = ListShape::new(n, Rate::sound(Adversary::SemiHonest, n, LAMBDA)?)?;
            let compressed = (self.bits)(n, rate)? / bits(list);
            let size = f64::from(log) + (1.0 + step as f64 / STEPS as f64).log2();
            points.push(format!("{:.1},{:.1}", x(size), y(compressed)));
        }
        Ok(points.join(" "))
    }
}

/// Returns the pixel of a size, given as its logarithm.
fn x(log: f64) -> f64 {
    let [first, last] = SIZES.map(f64::from);
    PLOT[0] + PLOT[2] * (log - first) / (last - first)
}

/// Returns the pixel of a compression rate.
fn y(rate: f64) -> f64 {
    let [least, most] = RATES.map(|tenths| f64::from(tenths) / 10.0);
    PLOT[1] + PLOT[3] * (most - rate) / (most - least)
}

/// Draws grid lines and labels at every tenth and every fourth power of two.
fn axes(text: &mut String) {
    let [left, top, width, height] = PLOT;
    for tenths in RATES[0]..=RATES[1] {
        let (right, level) = (left + width, y(f64::from(tenths) / 10.0));
        let class = if tenths == 10 { "one" } else { "grid" };
        let _ = writeln!(
            text,
            r#"  <path class="{class}" d="M{left} {level:.1}H{right}"/><text x="{}" y="{:.1}" text-anchor="end">{}.{}</text>"#,
            left - 8.0,
            level + 4.0,
            tenths / 10,
            tenths % 10
        );
    }
    for log in (SIZES[0]..=SIZES[1]).step_by(4) {
        let (at, bottom) = (x(f64::from(log)), top + height);
        let _ = writeln!(
            text,
            r#"  <path class="grid" d="M{at:.1} {top}V{bottom}"/><text x="{at:.1}" y="{}" text-anchor="middle">2<tspan class="power" dy="-5">{log}</tspan></text>"#,
            bottom + 20.0
        );
    }
    let _ = writeln!(
        text,
        r#"  <text x="{}" y="{}" text-anchor="middle">items of a set</text>"#,
        left + width / 2.0,
        top + height + 42.0
    );
    let _ = writeln!(
        text,
        r#"  <text x="12" y="24">size, against the plain list of λ + 2 log n bits an item</text>"#
    );
}

/// Draws the legend, from a height on.
fn legend(text: &mut String, top: f64, title: &str, lines: &[CompressionLine]) {
    let left = PLOT[0] + PLOT[2] + 20.0;
    let _ = writeln!(text, r#"  <text class="title" x="{left}" y="{top}">{title}</text>"#);
    for (line, row) in lines.iter().zip(1..) {
        let (height, right) = (top + 22.0 * f64::from(row), left + 28.0);
        let _ = writeln!(
            text,
            r#"  <path class="line {}" d="M{left} {:.1}H{right}"/><text x="{}" y="{height:.1}">{}</text>"#,
            line.class,
            height - 4.0,
            right + 8.0,
            line.name
        );
    }
}

const HEAD: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 410" width="800" height="410" role="img" aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="13">
  <title id="title">Compression rates of filters</title>
  <desc id="desc">Bits of a filter divided by the plain list's, for sets of 2^4 to 2^24 items. Solid: with false positives as rare as a run needs. Dashed: as Liang et al. count them. Generated by cargo xtask docs.</desc>
  <style>
    .line { fill: none; stroke-width: 1.8; stroke-linejoin: round }
    .published { stroke-dasharray: 5 4 }
    .bloom { stroke: #b3592f }
    .cuckoo { stroke: #2f6fb3 }
    .vacuum { stroke: #2b8a5a }
    .list { stroke: #7d4fb8 }
    .grid { stroke: #d5dae0 }
    .one { stroke: #59636e; stroke-width: 1.5 }
    text { fill: #59636e }
    .title { fill: #1f2328; font-weight: 600 }
    .power { font-size: 10px }
    @media (prefers-color-scheme: dark) {
      .bloom { stroke: #ffa274 }
      .cuckoo { stroke: #6cb0ff }
      .vacuum { stroke: #5fd39a }
      .list { stroke: #c4a0ff }
      .grid { stroke: #343b44 }
      .one { stroke: #9198a1 }
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }
    }
  </style>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the point of the figure: at 2^24, published filters save half, and secure ones no more than the coded
    /// list.
    #[test]
    fn sound_filters_are_no_smaller_than_the_coded_list() {
        let n = 1 << 20;
        let rate = Rate::sound(Adversary::SemiHonest, n, LAMBDA).expect("2^-60");
        let of = |lines: &[CompressionLine]| -> Vec<f64> {
            lines.iter().map(|line| (line.bits)(n, rate).expect("2^-60") / n as f64).collect()
        };
        let sound = of(&SOUND);
        assert!(sound[..3].iter().all(|bits| *bits > sound[3]), "{sound:?}");
        assert_eq!(sound[3], 62.0);
        let published = of(&PUBLISHED);
        assert!(published.iter().all(|bits| (50.0..58.0).contains(bits)), "{published:?}");
    }

    #[test]
    fn every_line_is_inside_the_plot() {
        for line in SOUND.iter().chain(&PUBLISHED) {
            for point in line.points().expect("2^-64").split(' ') {
                let (x, y) = point.split_once(',').expect("two coordinates");
                let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
                assert!((PLOT[0]..=PLOT[0] + PLOT[2]).contains(&x), "{}: {point}", line.name);
                assert!((PLOT[1]..=PLOT[1] + PLOT[3]).contains(&y), "{}: {point}", line.name);
            }
        }
    }
}
