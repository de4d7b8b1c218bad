//! The plot: ratio and error against the bound, as SVG, PNG or a page of HTML.

use std::fmt::Write as _;

use super::Analysis;
use super::ladder::Rung;
use super::table::verdict;
use crate::io::check_place;
use crate::plot::axis::Axis;
use crate::plot::page::page;
use crate::plot::picture::{Anchor, Colour, Picture, Point, Size, Style, escaped};
use crate::plot::{Writing, extension, short, write_bytes};

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
pub fn write(analysis: &Analysis, to: &Writing) -> Result<(), String> {
    check_place(to.path, to.force)?;
    if analysis.ladder.range.len() < 2 {
        return Err(format!("{}: nothing to plot, as no bound makes it smaller", analysis.sample.name));
    }
    let picture = draw(analysis);
    match extension(to.path) {
        Some("html") => write_bytes(html(analysis, &picture.to_svg()).as_bytes(), to),
        _ => crate::plot::write(&picture, to),
    }
}

fn draw(analysis: &Analysis) -> Picture {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let rows = &ladder.range;
    let digits = ladder.digits.as_ref();
    let bounds = rows.iter().chain(digits).map(|r| r.abs);
    let x = Axis::logarithmic(bounds, LEFT, RIGHT);
    let mut picture = Picture::new(WIDTH, HEIGHT);
    picture.text((LEFT, 28.0), Anchor::Start, Style { size: Size::Title, ..Style::bold(BLACK) }, &sample.name);
    let (lo, hi) = (short(sample.extremes.0), short(sample.extremes.1));
    let about = format!("{} values, {}, from {lo} to {hi}", sample.count, sample.dtype.name());
    picture.text((LEFT, 48.0), Anchor::Start, Style::new(GREY), &about);
    if let Some(digits) = digits {
        shade(&mut picture, x.at(digits.abs));
    }
    let ratios = || rows.iter().chain(digits).chain([&ladder.lossless]).map(|r| r.ratio);
    let y = Axis::logarithmic(ratios(), RATIO_PANEL.1, RATIO_PANEL.0);
    panel(&mut picture, &x, &y, RATIO_PANEL, "compression ratio");
    level(&mut picture, y.at(ladder.lossless.ratio), &format!("lossless {:.2}", ladder.lossless.ratio));
    curve(&mut picture, rows, &x, BLUE, |r| y.at(r.ratio));
    let errors = rows.iter().flat_map(|r| [r.max_error, r.rms_error, r.abs]);
    let e = Axis::logarithmic(errors, ERROR_PANEL.1, ERROR_PANEL.0);
    panel(&mut picture, &x, &e, ERROR_PANEL, "error");
    curve(&mut picture, rows, &x, ORANGE, |r| e.at(r.max_error));
    curve(&mut picture, rows, &x, GREEN, |r| e.at(r.rms_error));
    picture.text((LEFT + 12.0, ERROR_PANEL.0 + 20.0), Anchor::Start, Style::new(ORANGE), "largest");
    picture.text((LEFT + 12.0, ERROR_PANEL.0 + 38.0), Anchor::Start, Style::new(GREEN), "RMS");
    bound_axis(&mut picture, &x, sample.range());
    if digits.is_none() {
        picture.text((RIGHT, 28.0), Anchor::End, Style::bold(ORANGE), "no bound is advised");
    }
    if let Some(digits) = digits {
        mark(&mut picture, x.at(digits.abs), y.at(digits.ratio), digits);
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
    let relative = x.divided(range);
    for tick in relative.ticks() {
        picture.line((relative.at(tick), y + 42.0), (relative.at(tick), y + 36.0), FRAME);
        picture.text((relative.at(tick), y + 56.0), Anchor::Middle, Style::new(GREY), &short(tick));
    }
    picture.line((LEFT, y + 36.0), (RIGHT, y + 36.0), FRAME);
    picture.text((RIGHT, y + 32.0), Anchor::End, Style::bold(BLACK), "bound: abs");
    picture.text((RIGHT, y + 74.0), Anchor::End, Style::bold(GREY), "noa (of the value range)");
}

fn curve(picture: &mut Picture, rows: &[Rung], x: &Axis, colour: Colour, y: impl Fn(&Rung) -> f64) {
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

/// Bounds that store more than the digits.
fn shade(picture: &mut Picture, x: f64) {
    for (top, bottom) in [RATIO_PANEL, ERROR_PANEL] {
        picture.area((LEFT, top), (x, bottom), SHADE);
    }
}

fn mark(picture: &mut Picture, x: f64, y: f64, digits: &Rung) {
    for (top, bottom) in [RATIO_PANEL, ERROR_PANEL] {
        picture.path(vec![(x, top), (x, bottom)], 1.5, ORANGE);
    }
    picture.disc((x, y), 6.75, ORANGE);
    picture.disc((x, y), 4.25, WHITE);
    let text = format!("digits: abs {}, ratio {:.2}", short(digits.abs), digits.ratio);
    // Beside the line where there is room for the words.
    let (at, anchor) = if x > (LEFT + RIGHT) / 2.0 { (x - 10.0, Anchor::End) } else { (x + 10.0, Anchor::Start) };
    picture.text((at, RATIO_PANEL.0 + 20.0), anchor, Style::bold(ORANGE), &text);
    if x - LEFT > 150.0 {
        let words = "the digits are all there";
        picture.text(((LEFT + x) / 2.0, RATIO_PANEL.0 + 44.0), Anchor::Middle, Style::new(ORANGE), words);
    }
}

/// A page with the plot, what it means, and the numbers.
fn html(analysis: &Analysis, svg: &str) -> String {
    let mut body = String::new();
    let ladder = &analysis.ladder;
    let rows = std::iter::once(&ladder.lossless).chain(&ladder.range).chain(&ladder.digits).chain(&ladder.relative);
    for row in rows {
        let psnr = if row.psnr.is_finite() { format!("{:.1}", row.psnr) } else { "∞".into() };
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{:e}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2e}</td><td>{:.2e}</td><td>{psnr}</td>\
             <td>{:.2}</td><td>{:.2}</td></tr>",
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
    let verdict = escaped(&verdict(analysis));
    let body = format!(
        "{svg}\n<p>{verdict}</p>\n<table><tr><th>mode</th><th>bound</th><th>ratio</th><th>bits/value</th>\
         <th>max error</th><th>RMS error</th><th>PSNR dB</th><th>in GB/s</th><th>out GB/s</th>\
         </tr>\n{body}</table>\n"
    );
    page(&analysis.sample.name, &body)
}
