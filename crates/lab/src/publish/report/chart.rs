//! Charts as SVG. The style sheet defines colours and strokes by class, so that they follow light and dark mode.

use std::fmt::Write;

use vesica_planner::unit::Unit;

use super::escaped::Escaped;

/// The width of all charts, in units of the picture, which is about the width of a phone.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 38.0;

/// The title of an axis.
fn title(unit: Unit) -> &'static str {
    match unit {
        Unit::Items => "items of the sender",
        Unit::Seconds => "time",
        Unit::Bytes => "bytes",
        Unit::Rate => "bandwidth",
        Unit::Usd => "USD",
    }
}

/// A line of a chart.
pub struct Series {
    /// Its style.
    pub style: usize,
    /// Its points: x, y, and the text shown at the point.
    pub points: Vec<(f64, f64, String)>,
}

impl Series {
    pub fn len(&self) -> usize {
        self.points.len()
    }
}

/// A logarithmic axis.
pub struct Scale {
    unit: Unit,
    least: f64,
    most: f64,
}

impl Scale {
    pub fn new(unit: Unit) -> Self {
        Self { unit, least: f64::INFINITY, most: 0.0 }
    }

    /// Extends the scale to these values, and to at least an octave.
    pub fn fit(&mut self, values: impl Iterator<Item = f64>) {
        for value in values {
            (self.least, self.most) = (self.least.min(value), self.most.max(value));
        }
        let (pad, least) = if self.unit == Unit::Items { (1.15, 2.0) } else { (1.3, 4.0) };
        let middle = (self.least * self.most).sqrt();
        let half = ((self.most / self.least).sqrt() * pad).max(f64::sqrt(least) * pad);
        (self.least, self.most) = (middle / half, middle * half);
    }

    /// The position of a value, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        (value / self.least).ln() / (self.most / self.least).ln()
    }

    /// At most seven ticks.
    pub fn ticks(&self) -> Vec<f64> {
        let inside = |tick: &f64| (self.least..=self.most).contains(tick);
        let all: Vec<f64> = if self.unit == Unit::Items {
            (0..40).map(|exponent| f64::from(exponent).exp2()).filter(inside).collect()
        } else {
            let decades = |digits: &'static [f64]| {
                let all = (-7..13).flat_map(|ten| digits.iter().map(move |d| d * 10f64.powi(ten)));
                all.filter(inside).collect::<Vec<_>>()
            };
            let tens = decades(&[1.0]);
            match tens.len() {
                0 | 1 => decades(&[1.0, 2.0, 5.0]),
                2 => decades(&[1.0, 3.0]),
                _ => tens,
            }
        };
        let step = all.len().div_ceil(7).max(1);
        all.into_iter().step_by(step).collect()
    }
}

/// Draws lines on two logarithmic axes. Returns nothing without points.
pub fn lines(caption: &str, mut x: Scale, mut y: Scale, series: &[Series]) -> Option<String> {
    let points = || series.iter().flat_map(|series| &series.points);
    points().next()?;
    x.fit(points().map(|point| point.0));
    y.fit(points().map(|point| point.1));
    let at_x = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
    let at_y = |value: f64| HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM);

    let mut svg = figure(caption, HEIGHT);
    for tick in y.ticks() {
        let at = at_y(tick);
        let _ = write!(svg, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/>", WIDTH - RIGHT);
        let _ = write!(
            svg,
            "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            y.unit.text(tick)
        );
    }
    for tick in x.ticks() {
        let (at, low) = (at_x(tick), HEIGHT - BOTTOM);
        let _ = write!(svg, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{low}\"/>");
        let _ = write!(
            svg,
            "<text class=\"middle\" x=\"{at:.1}\" y=\"{}\">{}</text>",
            low + 15.0,
            x.unit.text(tick)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"middle axis\" x=\"{:.1}\" y=\"{}\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        title(x.unit)
    );
    for Series { style, points } in series {
        let _ =
            write!(svg, "<g class=\"c{} d{}\"><path class=\"line\" d=\"", style % 8, style / 8 % 4);
        for (i, point) in points.iter().enumerate() {
            let command = if i == 0 { 'M' } else { 'L' };
            let _ = write!(svg, "{command}{:.1} {:.1}", at_x(point.0), at_y(point.1));
        }
        svg.push_str("\"/>");
        for (at, value, tip) in points {
            svg.push_str(&mark(*style, at_x(*at), at_y(*value), tip));
        }
        svg.push_str("</g>");
    }
    Some(svg + "</svg></figure>")
}

/// Draws the mark of a style. There are four for each round of colours.
pub fn mark(style: usize, x: f64, y: f64, tip: &str) -> String {
    let path = match (style + style / 8) % 4 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
    };
    match tip.is_empty() {
        true => format!("<path class=\"mark\" d=\"{path}\"/>"),
        false => {
            format!("<path class=\"mark\" d=\"{path}\"><title>{}</title></path>", Escaped(tip))
        }
    }
}

/// The label of a row of bars, and the bars.
pub struct Row {
    pub label: String,
    pub bars: Vec<Bar>,
}

/// A bar of one or more parts.
pub struct Bar {
    /// Style, name and size of each part.
    parts: Vec<(usize, String, f64)>,
    unit: Unit,
}

impl Bar {
    /// One part.
    pub fn of(style: usize, value: f64, unit: Unit) -> Self {
        Self { parts: vec![(style, String::new(), value)], unit }
    }

    /// Parts one after another.
    pub fn stacked<'a>(parts: impl IntoIterator<Item = (usize, &'a str, f64)>, unit: Unit) -> Self {
        let parts = parts.into_iter().map(|(style, name, value)| (style, name.to_owned(), value));
        Self { parts: parts.collect(), unit }
    }

    fn total(&self) -> f64 {
        self.parts.iter().map(|part| part.2).sum()
    }
}

/// Rows of bars with a common scale.
pub fn bars(caption: &str, rows: &[Row]) -> String {
    let totals = rows.iter().flat_map(|row| row.bars.iter().map(Bar::total));
    let most = totals.fold(0.0, f64::max);
    let height = rows.iter().map(Row::height).sum::<f64>() + 4.0;
    let mut svg = figure(caption, height);
    let mut top = 0.0;
    for row in rows {
        row.draw(&mut svg, top, most);
        top += row.height();
    }
    svg + "</svg></figure>"
}

/// One row by itself, on a scale where `most` fills the width, with more text below it.
pub fn bar(row: &Row, most: f64, below: &str) -> String {
    let mut svg = figure("", row.height());
    row.draw(&mut svg, 0.0, most);
    format!("{svg}</svg>{below}</figure>")
}

impl Row {
    const LABEL: f64 = 18.0;
    const BAR: f64 = 14.0;

    fn height(&self) -> f64 {
        Self::LABEL + self.bars.len() as f64 * (Self::BAR + 2.0) + 6.0
    }

    fn draw(&self, svg: &mut String, top: f64, most: f64) {
        // Room for a figure after the longest bar.
        let room = WIDTH - 76.0;
        let _ = write!(
            svg,
            "<text class=\"label\" x=\"0\" y=\"{:.1}\">{}</text>",
            top + 13.0,
            Escaped(&self.label)
        );
        for (i, bar) in self.bars.iter().enumerate() {
            let y = top + Self::LABEL + i as f64 * (Self::BAR + 2.0);
            let mut x = 0.0;
            for (style, name, value) in &bar.parts {
                let width = if most > 0.0 { value / most * room } else { 0.0 };
                let tip = format!("{name} {}", bar.unit.text(*value));
                let _ = write!(
                    svg,
                    "<rect class=\"c{} fill\" x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{}\"><title>{}\
                     </title></rect>",
                    style % 8,
                    Self::BAR,
                    Escaped(tip.trim())
                );
                x += width;
            }
            let text = bar.unit.text(bar.total());
            let _ = write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{text}</text>", x + 6.0, y + 11.0);
        }
    }
}

/// The beginning of a picture under its caption.
fn figure(caption: &str, height: f64) -> String {
    let caption_element = match caption.is_empty() {
        true => String::new(),
        false => format!("<figcaption>{}</figcaption>", Escaped(caption)),
    };
    format!(
        "<figure>{caption_element}<svg class=\"chart\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {WIDTH} {height}\">",
        Escaped(caption)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_inside_and_ticks_are_few() {
        for (low, high) in [(1.0, 1.0), (0.001, 0.002), (1e-6, 1e6), (256.0, 1_048_576.0)] {
            for unit in [Unit::Items, Unit::Seconds] {
                let mut scale = Scale::new(unit);
                scale.fit([low, high].into_iter());
                assert!(scale.place(low) > 0.0 && scale.place(high) < 1.0);
                let ticks = scale.ticks().len();
                assert!((1..=7).contains(&ticks) || unit == Unit::Items, "{low} {high}: {ticks}");
            }
        }
        assert!(lines("", Scale::new(Unit::Items), Scale::new(Unit::Bytes), &[]).is_none());
    }
}
