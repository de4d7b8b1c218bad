//! The picture of a comparison: the field, the restored field, and the error.

use plotters::prelude::*;

use super::view::{Curves, Envelope, Maps, View};
use super::{Compared, figure_line};
use crate::hdf5::about::Along;
use crate::plot::{Area, Drawn, FONT, short, title};

/// Pixels of a picture, and of its head.
pub const SIZE: (u32, u32) = (1200, 480);
const HEAD: u32 = 80;

/// Where there is no value.
const MISSING: RGBColor = RGBColor(200, 200, 200);
/// The largest errors below and above zero.
const BELOW: RGBColor = RGBColor(31, 95, 168);
const ABOVE: RGBColor = RGBColor(196, 86, 13);

/// Draws a field with its errors.
pub fn draw(of: &Compared, area: &Area) -> Drawn {
    let units = if of.about.units.is_empty() { String::new() } else { format!(" [{}]", of.about.units) };
    let name = if of.about.title.is_empty() { &of.name } else { &of.about.title };
    let shape: Vec<String> = of.dims.iter().map(u64::to_string).collect();
    title(area, (12, 8), 18, &format!("{name}{units}"))?;
    title(area, (12, 34), 13, &format!("{}  {} {}, {}", of.name, of.dtype, shape.join("x"), of.promise))?;
    title(area, (12, 54), 13, &figure_line(of))?;
    let (_, panels) = area.split_vertically(HEAD);
    match &of.view {
        View::Maps(maps) => draw_maps(of, maps, &panels),
        View::Curves(curves) => draw_curves(of, curves, &panels),
    }
}

/// What errors are shown as shares of.
fn error_unit(of: &Compared) -> &'static str {
    if of.scale.is_bound() { "bound" } else { "largest error" }
}

fn draw_maps(of: &Compared, maps: &Maps, area: &Area) -> Drawn {
    let panels = area.split_evenly((1, 3));
    let [original, restored] = maps.fields();
    let range = range_of(&original).unwrap_or((0.0, 1.0));
    let value = |v: f64| match v.is_nan() {
        true => MISSING,
        false if range.1 > range.0 => ViridisRGB.get_color((v - range.0) / (range.1 - range.0)),
        false => ViridisRGB.get_color(0.5),
    };
    let (from, to) = (short(range.0), short(range.1));
    let place = place(maps, &of.about.along);
    map(of, maps, &panels[0], &format!("field{place}: {from} to {to}"), |i| value(original[i]))?;
    map(of, maps, &panels[1], "restored", |i| value(restored[i]))?;
    let beyond = match of.histogram.beyond {
        0 => String::new(),
        n => format!(", {n} beyond (black)"),
    };
    let caption = format!("error: blue -{unit}, orange +{unit}{beyond}", unit = error_unit(of));
    map(of, maps, &panels[2], &caption, |i| error_colour(maps.error[i]))
}

/// Blue below zero, orange above, black beyond the bound.
fn error_colour(share: f64) -> RGBColor {
    let end = if share < 0.0 { BELOW } else { ABOVE };
    let mixed = |c: u8| (255.0 + (f64::from(c) - 255.0) * share.abs()).round() as u8;
    match share.abs() {
        size if size.is_nan() => MISSING,
        // A share is rounded, and the bound itself is kept.
        size if size > 1.0 + 1e-9 => BLACK,
        _ => RGBColor(mixed(end.0), mixed(end.1), mixed(end.2)),
    }
}

/// Cells with the indices along them; northern latitudes are up, whichever way they are stored.
fn map(of: &Compared, maps: &Maps, area: &Area, caption: &str, colour: impl Fn(usize) -> RGBColor) -> Drawn {
    let [down, right] = maps.axes.map(|axis| of.about.along.get(axis).cloned().unwrap_or_default());
    let is_up = matches!((down.values.first(), down.values.last()), (Some(a), Some(b)) if a < b);
    let [height, width] = maps.lens.map(|len| len as f64);
    let rows = if is_up { 0.0..height } else { height..0.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 13))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..width, rows)?;
    let [cell_rows, cell_columns] = maps.cells;
    let (tall, wide) = (height / cell_rows as f64, width / cell_columns as f64);
    chart.draw_series((0..cell_rows * cell_columns).map(|i| {
        let (y, x) = ((i / cell_columns) as f64, (i % cell_columns) as f64);
        Rectangle::new([(x * wide, y * tall), ((x + 1.0) * wide, (y + 1.0) * tall)], colour(i).filled())
    }))?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().x_labels(5).y_labels(5).x_desc(named(&right)).y_desc(named(&down));
    Ok(mesh.draw()?)
}

fn draw_curves(of: &Compared, curves: &Curves, area: &Area) -> Drawn {
    let panels = area.split_evenly((3, 1));
    let along = of.about.along.get(curves.axis).cloned().unwrap_or_default();
    let end = curves.len.saturating_sub(1).max(1) as f64;
    let both = [(&curves.original, ABOVE), (&curves.restored, BELOW)];
    curve(&panels[0], &format!("field (orange) and restored (blue) {}", named(&along)), 0.0..end, |columns| {
        both.iter().map(|(envelope, colour)| (envelope_points(envelope, columns), *colour)).collect()
    })?;
    let at = |i: usize| curves.close.get(i).map_or(0.0, |(i, ..)| *i as f64);
    let close = at(0)..at(curves.close.len().saturating_sub(1)).max(at(0) + 1.0);
    curve(&panels[1], "around the worst element", close, |_| {
        let points = |value: fn(&(u64, f64, f64)) -> f64| curves.close.iter().map(|c| (c.0 as f64, value(c))).collect();
        vec![(points(|c| c.1), ABOVE), (points(|c| c.2), BELOW)]
    })?;
    let beyond = if of.histogram.beyond > 0 { format!(", {} beyond", of.histogram.beyond) } else { String::new() };
    curve(&panels[2], &format!("error / {}{beyond}", error_unit(of)), 0.0..end, |columns| {
        vec![(envelope_points(&curves.error, columns), ABOVE)]
    })
}

/// Lines of points by their values; `lines` is told how long the panel's axis is.
fn curve(
    area: &Area,
    caption: &str,
    x: std::ops::Range<f64>,
    lines: impl Fn(f64) -> Vec<(Vec<(f64, f64)>, RGBColor)>,
) -> Drawn {
    let lines = lines(x.end);
    let values: Vec<f64> = lines.iter().flat_map(|(points, _)| points.iter().map(|(_, v)| *v)).collect();
    let (low, high) = range_of(&values).unwrap_or((0.0, 1.0));
    let margin = if high > low { 0.04 * (high - low) } else { low.abs().max(1.0) };
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 13))
        .margin(4)
        .x_label_area_size(22)
        .y_label_area_size(70)
        .build_cartesian_2d(x, low - margin..high + margin)?;
    chart.configure_mesh().y_labels(4).y_label_formatter(&|v| short(*v)).draw()?;
    for (points, colour) in lines {
        for run in points.split(|(_, v)| !v.is_finite()) {
            chart.draw_series(LineSeries::new(run.to_vec(), colour))?;
        }
    }
    Ok(())
}

/// From the smallest to the largest of each column, and from one column to the next; NaN where there is no value.
fn envelope_points(envelope: &Envelope, end: f64) -> Vec<(f64, f64)> {
    let columns = envelope.0.len() as f64;
    let ends = envelope.0.iter().map(|e| e.unwrap_or((f64::NAN, f64::NAN))).enumerate();
    ends.flat_map(|(i, (low, high))| [low, high].map(|v| ((i as f64 + 0.5) / columns * end, v))).collect()
}

/// Where the slice lies along the other axes.
fn place(maps: &Maps, along: &[Along]) -> String {
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

fn named(along: &Along) -> String {
    let name = sleek::printable::printable(&along.name).into_owned();
    if along.name.is_empty() { "index".into() } else { format!("index of {name}") }
}

fn range_of(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.map(|v| (*v, *v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
