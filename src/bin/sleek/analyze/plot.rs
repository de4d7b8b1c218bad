//! The plot: ratio and error against the bound, as SVG, PNG or a page of HTML.

use std::fmt::Write as _;
use std::path::Path;

use super::Analysis;
use super::ladder::{Row, Why};
use super::picture::{Anchor, Colour, Picture, Point, Size, Style, escaped};
use super::pixels;
use super::table::{short, verdict};
use crate::io::{Output, check_place};

/// The picture, its two panels, and what their curves look like.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 640.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 828.0;
const RATIO_PANEL: (f64, f64) = (84.0, 318.0);
const ERROR_PANEL: (f64, f64) = (362.0, 556.0);
const BLUE: Colour = 0x1f5fa8;
const ORANGE: Colour = 0xc4560d;
const GREEN: Colour = 0x3b7f3b;
const BLACK: Colour = 0x222222;
const GREY: Colour = 0x555555;
const FRAME: Colour = 0x888888;
const PALE: Colour = 0xdddddd;
const SHADE: Colour = 0xf3e3d9;
const WHITE: Colour = 0xffffff;

/// Writes the plot to a file, as its name ends.
pub fn write(analysis: &Analysis, path: &Path, force: bool) -> Result<(), String> {
    check_place(path, force)?;
    if analysis.ladder.range.len() < 2 {
        return Err(format!("{}: nothing to plot, as every bound is as good as none", analysis.sample.name));
    }
    let picture = draw(analysis);
    let bytes = match path.extension().and_then(|e| e.to_str()) {
        Some("png") => pixels::to_png(&picture).map_err(|e| format!("{}: {e}", path.display()))?,
        Some("html") => page(analysis, &picture.to_svg()).into_bytes(),
        _ => picture.to_svg().into_bytes(),
    };
    let mut output = Output::create(path, force, None)?;
    output.write(&bytes)?;
    output.finish()
}

/// A logarithmic axis from one place of the picture to another.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let logs = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10);
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let margin = 0.04 * (high - low).max(0.1);
        Axis { low: low - margin, high: high + margin, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round numbers on the axis: powers of ten, with 2 and 5 between them if there are few.
    fn ticks(&self) -> Vec<f64> {
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let step = ((self.high - self.low) / 10.0).ceil().max(1.0) as i32;
        let digits: &[u8] = match self.high - self.low {
            span if span < 1.2 => &[1, 2, 3, 5, 7],
            span if span < 3.0 => &[1, 2, 5],
            _ => &[1],
        };
        let numbers = powers.filter(|p| p.rem_euclid(step) == 0);
        let numbers = numbers.flat_map(|p| digits.iter().map(move |d| format!("{d}e{p}")));
        let inside = |v: &f64| (self.low..=self.high).contains(&v.log10());
        numbers.filter_map(|t| t.parse().ok()).filter(inside).collect()
    }
}

fn draw(analysis: &Analysis) -> Picture {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let rows = &ladder.range;
    let (why, floor) = ladder.floor.as_ref().map_or((None, None), |(why, row)| (Some(*why), Some(row)));
    let bounds = rows.iter().chain(floor).map(|r| r.abs);
    let x = Axis::new(bounds, LEFT, RIGHT);
    let mut picture = Picture::new(WIDTH, HEIGHT);
    picture.text((LEFT, 28.0), Anchor::Start, Style { size: Size::Title, ..Style::bold(BLACK) }, &sample.name);
    let (lo, hi) = (short(sample.extremes.0), short(sample.extremes.1));
    let about = format!("{} values, {}, from {lo} to {hi}", sample.count, sample.dtype.name());
    picture.text((LEFT, 48.0), Anchor::Start, Style::new(GREY), &about);
    if let Some(floor) = floor {
        shade(&mut picture, x.at(floor.abs));
    }
    let ratios = || rows.iter().chain(floor).chain([&ladder.lossless]).map(|r| r.ratio);
    let y = Axis::new(ratios(), RATIO_PANEL.1, RATIO_PANEL.0);
    panel(&mut picture, &x, &y, RATIO_PANEL, "compression ratio");
    level(&mut picture, y.at(ladder.lossless.ratio), &format!("lossless {:.2}", ladder.lossless.ratio));
    curve(&mut picture, rows, &x, BLUE, |r| y.at(r.ratio));
    let errors = rows.iter().flat_map(|r| [r.max_error, r.rms_error, r.abs]);
    let e = Axis::new(errors, ERROR_PANEL.1, ERROR_PANEL.0);
    panel(&mut picture, &x, &e, ERROR_PANEL, "error");
    curve(&mut picture, rows, &x, ORANGE, |r| e.at(r.max_error));
    curve(&mut picture, rows, &x, GREEN, |r| e.at(r.rms_error));
    picture.text((LEFT + 12.0, ERROR_PANEL.0 + 20.0), Anchor::Start, Style::new(ORANGE), "largest");
    picture.text((LEFT + 12.0, ERROR_PANEL.0 + 38.0), Anchor::Start, Style::new(GREEN), "RMS");
    bound_axis(&mut picture, &x, sample.range());
    if floor.is_none() {
        picture.text((RIGHT, 28.0), Anchor::End, Style::bold(ORANGE), "no bound is advised");
    }
    if let Some(floor) = floor {
        mark(&mut picture, x.at(floor.abs), y.at(floor.ratio), floor, why == Some(Why::Digits));
    }
    picture
}

/// Frame, grid and numbers of a panel.
fn panel(picture: &mut Picture, x: &Axis, y: &Axis, (top, bottom): (f64, f64), title: &str) {
    for tick in x.ticks() {
        picture.line((x.at(tick), top), (x.at(tick), bottom), PALE);
    }
    for tick in y.ticks() {
        picture.line((LEFT, y.at(tick)), (RIGHT, y.at(tick)), PALE);
        picture.text((LEFT - 7.0, y.at(tick) + 4.5), Anchor::End, Style::new(BLACK), &short(tick));
    }
    let corners = vec![(LEFT, top), (RIGHT, top), (RIGHT, bottom), (LEFT, bottom), (LEFT, top)];
    picture.path(corners, 1.0, FRAME);
    picture.text((LEFT, top - 9.0), Anchor::Start, Style::bold(BLACK), title);
}

/// Numbers of the bounds under the lower panel: absolute, and relative to the range.
fn bound_axis(picture: &mut Picture, x: &Axis, range: f64) {
    let y = ERROR_PANEL.1;
    for tick in x.ticks() {
        picture.text((x.at(tick), y + 18.0), Anchor::Middle, Style::new(BLACK), &short(tick));
    }
    let relative = Axis { low: x.low - range.log10(), high: x.high - range.log10(), ..*x };
    for tick in relative.ticks() {
        picture.line((relative.at(tick), y + 42.0), (relative.at(tick), y + 36.0), FRAME);
        picture.text((relative.at(tick), y + 56.0), Anchor::Middle, Style::new(GREY), &short(tick));
    }
    picture.line((LEFT, y + 36.0), (RIGHT, y + 36.0), FRAME);
    picture.text((RIGHT, y + 32.0), Anchor::End, Style::bold(BLACK), "bound: abs");
    picture.text((RIGHT, y + 74.0), Anchor::End, Style::bold(GREY), "noa (of the value range)");
}

fn curve(picture: &mut Picture, rows: &[Row], x: &Axis, colour: Colour, y: impl Fn(&Row) -> f64) {
    let points: Vec<Point> = rows.iter().map(|r| (x.at(r.abs), y(r))).collect();
    picture.path(points.clone(), 2.5, colour);
    for point in points {
        picture.disc(point, 3.0, colour);
    }
}

/// The ratio without any error.
fn level(picture: &mut Picture, y: f64, text: &str) {
    picture.dashes((LEFT, y), (RIGHT, y), GREY);
    picture.text((RIGHT - 8.0, y - 6.0), Anchor::End, Style::new(GREY), text);
}

/// Bounds that only store noise.
fn shade(picture: &mut Picture, x: f64) {
    for (top, bottom) in [RATIO_PANEL, ERROR_PANEL] {
        picture.area((LEFT, top), (x, bottom), SHADE);
    }
}

fn mark(picture: &mut Picture, x: f64, y: f64, floor: &Row, is_grid: bool) {
    for (top, bottom) in [RATIO_PANEL, ERROR_PANEL] {
        picture.path(vec![(x, top), (x, bottom)], 1.5, ORANGE);
    }
    picture.disc((x, y), 6.75, ORANGE);
    picture.disc((x, y), 4.25, WHITE);
    let what = if is_grid { "digits" } else { "noise floor" };
    let text = format!("{what}: abs {}, ratio {:.2}", short(floor.abs), floor.ratio);
    // Beside the line where there is room for the words.
    let (at, anchor) = if x > (LEFT + RIGHT) / 2.0 { (x - 10.0, Anchor::End) } else { (x + 10.0, Anchor::Start) };
    picture.text((at, RATIO_PANEL.0 + 20.0), anchor, Style::bold(ORANGE), &text);
    if x - LEFT > 150.0 {
        let words = if is_grid { "the digits are all there" } else { "most likely noise" };
        picture.text(((LEFT + x) / 2.0, RATIO_PANEL.0 + 44.0), Anchor::Middle, Style::new(ORANGE), words);
    }
}

/// A page with the plot, what it means, and the numbers.
fn page(analysis: &Analysis, svg: &str) -> String {
    let mut body = String::new();
    let ladder = &analysis.ladder;
    let rows = std::iter::once(&ladder.lossless)
        .chain(&ladder.range)
        .chain(ladder.floor.iter().map(|(_, row)| row))
        .chain(&ladder.relative);
    for row in rows {
        let spectrum = row.spectrum.map_or("–".into(), |s| format!("{:.2e}", s));
        let psnr = if row.psnr.is_finite() { format!("{:.1}", row.psnr) } else { "∞".into() };
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{:e}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2e}</td><td>{:.2e}</td><td>{psnr}</td>\
             <td>{spectrum}</td><td>{:.2}</td><td>{:.2}</td></tr>",
            row.mode.name(),
            row.bound,
            row.ratio,
            row.bits,
            row.max_error,
            row.rms_error,
            row.compress_speed / 1e9,
            row.decompress_speed / 1e9
        );
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>body{{font-family:\
         sans-serif;max-width:900px;margin:2em auto;color:#222}}table{{border-collapse:collapse;font-variant-numeric:\
         tabular-nums}}td,th{{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}}</style></head><body>\n{svg}\n\
         <p>{verdict}</p>\n<table><tr><th>mode</th><th>bound</th><th>ratio</th><th>bits/value</th><th>max error</th>\
         <th>RMS error</th><th>PSNR dB</th><th>spectrum change</th><th>in GB/s</th><th>out GB/s</th></tr>\n{body}</table>\n\
         </body></html>\n",
        title = escaped(&analysis.sample.name),
        verdict = escaped(&verdict(analysis)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes() {
        let axis = Axis::new([1e-6, 1e-1].into_iter(), 0.0, 100.0);
        assert!(axis.at(1e-6) > 0.0 && axis.at(1e-6) < 5.0 && axis.at(1e-1) > 95.0);
        assert_eq!(axis.ticks(), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]);
        assert_eq!(Axis::new([1.0, 4.0].into_iter(), 0.0, 1.0).ticks(), [1.0, 2.0, 3.0]);
        assert_eq!(escaped("a<b>&c"), "a&lt;b&gt;&amp;c");
    }
}
