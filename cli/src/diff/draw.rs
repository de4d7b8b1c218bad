//! The picture of a comparison: what it looks like, how the errors are spread, and what they do to the spectrum.

use super::shape::{BINS, Correlation, LAGS};
use super::view::{Curves, Envelope, Maps, View};
use super::{Compared, figure_line};
use crate::hdf5::about::Along;
use crate::plot::axis::Axis;
use crate::plot::colour::{DARK, LIGHT, Theme};
use crate::plot::picture::{Anchor, Colour, Picture, Point, Size, Style};
use crate::plot::short;

const WIDTH: f64 = 1180.0;
/// Three panels stand side by side: their left sides, and how wide they are.
const LEFTS: [f64; 3] = [76.0, 470.0, 864.0];
const PANEL: f64 = 296.0;
const TOP: f64 = 118.0;
/// Heights of maps, of curves, and of the panels below.
const MAP: (f64, f64) = (100.0, 300.0);
const CURVE: f64 = 120.0;
const LOWER: f64 = 190.0;

/// A frame with axes.
struct Panel {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// What is drawn on.
struct Sheet<'a> {
    picture: Picture,
    theme: Theme,
    of: &'a Compared,
}

/// The picture, on dark paper or on light.
pub fn draw(of: &Compared, is_dark: bool) -> Picture {
    let theme = if is_dark { DARK } else { LIGHT };
    let upper = match &of.view {
        View::Curves(_) => 3.0 * (CURVE + 62.0),
        View::Maps(maps) => map_height(maps) + 108.0,
    };
    let height = TOP + upper + LOWER + 52.0;
    let mut sheet = Sheet { picture: Picture::on(theme.paper, WIDTH, height), theme, of };
    sheet.head();
    match &of.view {
        View::Curves(curves) => sheet.curves(curves),
        View::Maps(maps) => sheet.maps(maps),
    }
    let top = TOP + upper;
    sheet.histogram(Panel::new(LEFTS[0], top, PANEL, LOWER));
    sheet.spectra(Panel::new(LEFTS[1], top, PANEL, LOWER));
    sheet.correlation(Panel::new(LEFTS[2], top, PANEL, LOWER));
    sheet.picture
}

fn map_height(maps: &Maps) -> f64 {
    (PANEL * maps.lens[0] as f64 / maps.lens[1] as f64).clamp(MAP.0, MAP.1)
}

impl Panel {
    fn new(left: f64, top: f64, width: f64, height: f64) -> Panel {
        Panel { left, top, right: left + width, bottom: top + height }
    }
}

impl Sheet<'_> {
    fn text(&mut self, at: Point, anchor: Anchor, colour: Colour, text: &str) {
        self.picture.text(at, anchor, Style::new(colour), text);
    }

    /// What it is, and the figures.
    fn head(&mut self) {
        let (of, theme) = (self.of, self.theme);
        let units = if of.about.units.is_empty() { String::new() } else { format!(" [{}]", of.about.units) };
        let title = if of.about.title.is_empty() { &of.name } else { &of.about.title };
        let title = shortened(&format!("{title}{units}"), 84);
        let bold = Style { size: Size::Title, ..Style::bold(theme.ink) };
        self.picture.text((LEFTS[0], 30.0), Anchor::Start, bold, &title);
        let shape: Vec<String> = of.dims.iter().map(u64::to_string).collect();
        let name = if of.about.title.is_empty() { "" } else { &format!("{}  ", of.name) };
        let about = format!("{name}{} {}, {}", of.dtype, shape.join("x"), of.promise);
        self.text((LEFTS[0], 54.0), Anchor::Start, theme.grey, &shortened(&about, 130));
        self.text((LEFTS[0], 76.0), Anchor::Start, theme.ink, &shortened(&figure_line(of), 130));
    }

    /// Frame, title, and the numbers of both axes.
    fn frame(&mut self, p: &Panel, title: &str, axes: [Option<&Axis>; 2]) {
        let theme = self.theme;
        for tick in axes[0].iter().flat_map(|x| x.ticks()) {
            let x = axes[0].map_or(0.0, |x| x.at(tick));
            self.picture.line((x, p.top), (x, p.bottom), theme.pale);
            self.text((x, p.bottom + 17.0), Anchor::Middle, theme.ink, &short(tick));
        }
        for tick in axes[1].iter().flat_map(|y| y.ticks()) {
            let y = axes[1].map_or(0.0, |y| y.at(tick));
            self.picture.line((p.left, y), (p.right, y), theme.pale);
            self.text((p.left - 6.0, y + 4.5), Anchor::End, theme.ink, &short(tick));
        }
        self.border(p);
        self.picture.text((p.left, p.top - 9.0), Anchor::Start, Style::bold(theme.ink), title);
    }

    fn border(&mut self, p: &Panel) {
        let corners = [(p.left, p.top), (p.right, p.top), (p.right, p.bottom), (p.left, p.bottom), (p.left, p.top)];
        self.picture.path(corners.to_vec(), 1.0, self.theme.frame);
    }

    fn maps(&mut self, maps: &Maps) {
        let (theme, height) = (self.theme, map_height(maps));
        let [original, restored] = maps.fields();
        // Both are shown by the range of the field.
        let range = extremes(&original).unwrap_or((0.0, 1.0));
        let place = slice(maps, &self.of.about.along);
        for (left, title, field) in
            [(LEFTS[0], format!("field{place}"), &original), (LEFTS[1], "restored".into(), &restored)]
        {
            let colour = |v: f64| match v.is_nan() {
                true => theme.missing,
                false if range.1 > range.0 => theme.value((v - range.0) / (range.1 - range.0)),
                false => theme.value(0.5),
            };
            let p = Panel::new(left, TOP, PANEL, height);
            self.map(&p, &title, maps, field.iter().map(|v| colour(*v)).collect());
            self.bar(&p, range, |share| theme.value(share), &self.of.about.units);
        }
        let p = Panel::new(LEFTS[2], TOP, PANEL, height);
        self.map(&p, &self.error_title(), maps, maps.error.iter().map(|share| theme.error(*share)).collect());
        let unit = if self.of.scale.is_bound() { "of the bound" } else { "of the largest error" };
        self.bar(&p, (-1.0, 1.0), |share| theme.error(2.0 * share - 1.0), unit);
    }

    fn error_title(&self) -> String {
        match self.of.histogram.beyond {
            0 => "error".into(),
            n => format!("error: {n} beyond the bound ({})", if self.theme.is_dark { "white" } else { "black" }),
        }
    }

    /// Cells with what lies along them; northern latitudes are up, whichever way they are stored.
    fn map(&mut self, p: &Panel, title: &str, maps: &Maps, mut cells: Vec<Colour>) {
        let [down, right] = maps.axes.map(|axis| self.of.about.along.get(axis).cloned().unwrap_or_default());
        let is_up = matches!((down.values.first(), down.values.last()), (Some(a), Some(b)) if a < b);
        if is_up {
            cells = cells.chunks(maps.cells[1]).rev().flatten().copied().collect();
        }
        self.picture.image((p.left, p.top), (p.right, p.bottom), maps.cells[1], cells);
        self.border(p);
        let theme = self.theme;
        self.picture.text((p.left, p.top - 9.0), Anchor::Start, Style::bold(theme.ink), &shortened(title, 40));
        let (first, last) = ends(&right, maps.lens[1]);
        self.text((p.left, p.bottom + 17.0), Anchor::Start, theme.ink, &first);
        self.text((p.right, p.bottom + 17.0), Anchor::End, theme.ink, &last);
        self.text(
            ((p.left + p.right) / 2.0, p.bottom + 17.0),
            Anchor::Middle,
            theme.grey,
            &shortened(&named(&right), 26),
        );
        let (first, last) = ends(&down, maps.lens[0]);
        let (above, below) = if is_up { (last, first) } else { (first, last) };
        self.text((p.left - 6.0, p.top + 12.0), Anchor::End, theme.ink, &above);
        self.text((p.left - 6.0, p.bottom), Anchor::End, theme.ink, &below);
        self.text((p.left - 6.0, (p.top + p.bottom) / 2.0), Anchor::End, theme.grey, &shortened(&down.name, 8));
    }

    /// Which colour stands for what.
    fn bar(&mut self, p: &Panel, range: (f64, f64), colour: impl Fn(f64) -> Colour, unit: &str) {
        let (top, bottom) = (p.bottom + 30.0, p.bottom + 42.0);
        let cells = (0..256).map(|i| colour(f64::from(i) / 255.0)).collect();
        self.picture.image((p.left, top), (p.right, bottom), 256, cells);
        self.border(&Panel { left: p.left, top, right: p.right, bottom });
        let axis = Axis::linear(range, p.left, p.right);
        let theme = self.theme;
        for tick in axis.ticks() {
            self.picture.line((axis.at(tick), bottom), (axis.at(tick), bottom + 4.0), theme.frame);
            self.text((axis.at(tick), bottom + 19.0), Anchor::Middle, theme.ink, &short(tick));
        }
        self.text((p.right, bottom + 36.0), Anchor::End, theme.grey, &shortened(unit, 36));
    }

    fn curves(&mut self, curves: &Curves) {
        let (theme, width) = (self.theme, LEFTS[2] + PANEL - LEFTS[0]);
        let along = self.of.about.along.get(curves.axis).cloned().unwrap_or_default();
        let panel = |n: f64| Panel::new(LEFTS[0], TOP + n * (CURVE + 62.0), width, CURVE);
        let x_of = |p: &Panel, from: f64, to: f64| Axis::linear((from, to), p.left, p.right);
        let end = curves.len.saturating_sub(1) as f64;

        let p = panel(0.0);
        let both = [&curves.original, &curves.restored].into_iter().filter_map(Envelope::range);
        let range = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 1.0));
        let (x, y) = (x_of(&p, 0.0, end), Axis::linear(range, p.bottom, p.top));
        self.frame(&p, &format!("all of it{}", by(&along)), [Some(&x), Some(&y)]);
        self.envelope(&curves.original, &p, &y, theme.orange, 2.5);
        self.envelope(&curves.restored, &p, &y, theme.blue, 1.0);

        let p = panel(1.0);
        let values = || curves.close.iter().flat_map(|(_, v, r)| [*v, *r]).filter(|v| v.is_finite());
        let range = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let range = if range.0 <= range.1 { range } else { (0.0, 1.0) };
        let from = curves.close.first().map_or(0, |(i, ..)| *i) as f64;
        let to = curves.close.last().map_or(1, |(i, ..)| *i) as f64;
        let (x, y) = (x_of(&p, from, to), Axis::linear(range, p.bottom - 4.0, p.top + 4.0));
        self.frame(&p, "around the worst element", [Some(&x), Some(&y)]);
        let at = |i: &u64, v: f64| (x.at(*i as f64), y.at(v));
        for run in curves.close.split(|(_, v, _)| !v.is_finite()) {
            self.picture.path(run.iter().map(|(i, v, _)| at(i, *v)).collect(), 2.5, theme.orange);
            self.picture.path(run.iter().map(|(i, _, r)| at(i, *r)).collect(), 1.0, theme.blue);
            run.iter().for_each(|(i, _, r)| self.picture.disc(at(i, *r), 2.2, theme.blue));
        }
        self.text((p.right, p.top - 9.0), Anchor::End, theme.blue, "restored");
        self.text((p.right - 90.0, p.top - 9.0), Anchor::End, theme.orange, "field");

        let p = panel(2.0);
        let most = curves.error.range().map_or(1.0, |(low, high)| low.abs().max(high.abs()));
        let most = if most.is_finite() { most.clamp(1.0, 1e6) * 1.08 } else { 2.0 };
        let (x, y) = (x_of(&p, 0.0, end), Axis::linear((-most, most), p.bottom, p.top));
        let of = if self.of.scale.is_bound() { "error / bound" } else { "error / largest error" };
        self.frame(&p, of, [Some(&x), Some(&y)]);
        for bound in [-1.0, 1.0] {
            self.picture.dashes((p.left, y.at(bound)), (p.right, y.at(bound)), theme.ink);
        }
        self.envelope(&curves.error, &p, &y, theme.green, 1.0);
    }

    /// From the smallest to the largest of each column, and from one column to the next.
    fn envelope(&mut self, envelope: &Envelope, p: &Panel, y: &Axis, colour: Colour, width: f64) {
        let columns = envelope.0.len();
        let x = |i: usize| p.left + (p.right - p.left) * (i as f64 + 0.5) / columns as f64;
        let points: Vec<Option<[Point; 2]>> = envelope
            .0
            .iter()
            .enumerate()
            .map(|(i, e)| e.map(|(low, high)| [(x(i), y.at(low)), (x(i), y.at(high))]))
            .collect();
        for run in points.split(Option::is_none) {
            let points: Vec<Point> = run.iter().flatten().flatten().copied().collect();
            self.picture.path(points, width, colour);
        }
    }

    fn histogram(&mut self, p: Panel) {
        let (theme, histogram) = (self.theme, &self.of.histogram);
        let of = if self.of.scale.is_bound() { "error / bound" } else { "error / largest error" };
        let total = histogram.bins.iter().sum::<u64>() + histogram.beyond;
        let shares: Vec<f64> = histogram.bins.iter().map(|n| *n as f64 * BINS as f64 / total.max(1) as f64).collect();
        let most = shares.iter().copied().fold(0.0, f64::max).max(1e-9);
        let (x, y) = (Axis::linear((-1.0, 1.0), p.left, p.right), Axis::linear((0.0, 1.1 * most), p.bottom, p.top));
        self.frame(&p, &format!("how many: {of}"), [Some(&x), None]);
        let edge = |i: usize| p.left + (p.right - p.left) * i as f64 / BINS as f64;
        for (i, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            self.picture.area((edge(i), y.at(*share).min(p.bottom - 1.0)), (edge(i + 1), p.bottom), theme.blue);
        }
        self.border(&p);
        if histogram.beyond > 0 {
            let text = format!("{} beyond", histogram.beyond);
            self.picture.text((p.right - 8.0, p.top + 18.0), Anchor::End, Style::bold(theme.orange), &text);
        }
    }

    fn spectra(&mut self, p: Panel) {
        let (theme, spectra) = (self.theme, &self.of.spectra);
        let fastest = self.of.about.along.last().map(|a| a.name.clone()).unwrap_or_default();
        let along = if fastest.is_empty() { String::new() } else { format!(" along {}", shortened(&fastest, 12)) };
        let title = format!("power by cycles per value{along}");
        let curves = [&spectra.original, &spectra.restored, &spectra.error].map(|power| spectra.curve(power));
        if curves[0].is_empty() {
            self.frame(&p, &title, [None, None]);
            return self.nothing(&p, "no row without gaps is long enough");
        }
        let x = Axis::logarithmic(curves[0].iter().map(|(f, _)| *f), p.left, p.right);
        let y = Axis::logarithmic(curves.iter().flatten().map(|(_, power)| *power), p.bottom, p.top);
        self.frame(&p, &title, [Some(&x), Some(&y)]);
        let names = ["field", "restored", "error"];
        for (i, (curve, colour)) in curves.iter().zip([theme.orange, theme.blue, theme.green]).enumerate() {
            for run in curve.split(|(_, power)| *power <= 0.0) {
                let points = run.iter().map(|(f, power)| (x.at(*f), y.at(*power))).collect();
                self.picture.path(points, if i == 0 { 4.0 } else { 1.5 }, colour);
            }
            let at = (p.right - 8.0, p.top + 18.0 + 19.0 * i as f64);
            self.picture.text(at, Anchor::End, Style::bold(colour), names[i]);
        }
    }

    fn nothing(&mut self, p: &Panel, why: &str) {
        self.text(((p.left + p.right) / 2.0, (p.top + p.bottom) / 2.0), Anchor::Middle, self.theme.grey, why);
    }

    fn correlation(&mut self, p: Panel) {
        let theme = self.theme;
        let x = Axis::linear((0.0, LAGS as f64 + 1.0), p.left, p.right);
        let y = Axis::linear((-1.0, 1.0), p.bottom, p.top);
        self.frame(&p, "autocorrelation of the error by lag", [Some(&x), Some(&y)]);
        let known: Vec<(&Correlation, Vec<f64>)> =
            self.of.correlations.iter().map(|c| (c, c.values())).filter(|(_, values)| !values.is_empty()).collect();
        if known.is_empty() {
            return self.nothing(&p, "there are no errors");
        }
        let chance = known[0].0.chance();
        for side in [-chance, chance] {
            self.picture.dashes((p.left, y.at(side)), (p.right, y.at(side)), theme.grey);
        }
        for (n, ((correlation, values), colour)) in known.iter().zip([theme.blue, theme.orange]).enumerate() {
            let points: Vec<Point> = values.iter().enumerate().map(|(i, v)| (x.at(i as f64 + 1.0), y.at(*v))).collect();
            self.picture.path(points.clone(), 2.0, colour);
            points.into_iter().for_each(|point| self.picture.disc(point, 3.0, colour));
            let along = self.of.about.along.get(correlation.axis).map(|a| a.name.clone()).unwrap_or_default();
            let name = if along.is_empty() { format!("axis {}", correlation.axis) } else { along };
            let at = (p.right - 8.0, p.top + 18.0 + 19.0 * n as f64);
            self.picture.text(at, Anchor::End, Style::bold(colour), &format!("along {}", shortened(&name, 16)));
        }
    }
}

/// Where the slice lies along the other axes.
fn slice(maps: &Maps, along: &[Along]) -> String {
    let others = (0..maps.at.len()).filter(|i| !maps.axes.contains(i));
    let words: Vec<String> = others
        .map(|i| match along.get(i) {
            Some(along) if !along.name.is_empty() => match along.values.get(maps.at[i] as usize) {
                Some(value) => format!("{} {}", along.name, short(*value)),
                None => format!("{} {}", along.name, maps.at[i]),
            },
            _ => format!("[{}]", maps.at[i]),
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" at {}", words.join(", ")) }
}

/// The coordinates, or else the indices, at both ends of a dimension.
fn ends(along: &Along, len: u64) -> (String, String) {
    match (along.values.first(), along.values.last()) {
        (Some(first), Some(last)) => (short(*first), short(*last)),
        _ => ("0".into(), len.saturating_sub(1).to_string()),
    }
}

fn named(along: &Along) -> String {
    if along.units.is_empty() { along.name.clone() } else { format!("{} [{}]", along.name, along.units) }
}

fn by(along: &Along) -> String {
    if along.name.is_empty() { String::new() } else { format!(", by the index of {}", along.name) }
}

fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.map(|v| (*v, *v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// No more characters than have room.
fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}
