//! The picture: ratio and error against the bound.

use plotters::prelude::*;

use super::Analysis;
use super::ladder::Rung;
use crate::plot::{Area, Drawn, FONT, short, title};

/// Pixels of the picture, and of its head.
pub const SIZE: (u32, u32) = (860, 640);
const HEAD: u32 = 60;
const ORANGE: RGBColor = RGBColor(196, 86, 13);

/// A colour and what is drawn in it.
type Curve = (&'static RGBColor, fn(&Rung) -> f64);

/// Draws the bounds that were tried, of which there are two at least.
pub fn draw(analysis: &Analysis, area: &Area) -> Drawn {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    title(area, (12, 8), 18, &sample.name)?;
    let (lo, hi) = (short(sample.extremes.0), short(sample.extremes.1));
    let digits = match &ladder.digits {
        Some(row) => format!("digits: abs {}, ratio {:.2} (dot)", short(row.abs), row.ratio),
        None => "no bound is advised".into(),
    };
    let about = format!("{} values, {}, from {lo} to {hi}; {digits}", sample.count, sample.dtype.name());
    title(area, (12, 36), 13, &about)?;
    let (_, panels) = area.split_vertically(HEAD);
    let panels = panels.split_evenly((2, 1));
    let caption = format!("compression ratio (lossless {:.2})", ladder.lossless.ratio);
    panel(analysis, &panels[0], &caption, &[(&BLUE, |row| row.ratio)])?;
    let errors: [Curve; 2] = [(&ORANGE, |row| row.max_error), (&GREEN, |row| row.rms_error)];
    panel(analysis, &panels[1], "error: largest (orange), RMS (green)", &errors)
}

/// Curves over the absolute bound, on logarithmic axes.
fn panel(analysis: &Analysis, area: &Area, caption: &str, curves: &[Curve]) -> Drawn {
    let (rows, digits) = (&analysis.ladder.range, analysis.ladder.digits.as_ref());
    let all = || rows.iter().chain(digits);
    let x = span(all().map(|row| row.abs));
    let y = span(all().flat_map(|row| curves.iter().map(|(_, value)| value(row))));
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 13))
        .margin(8)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("absolute bound").x_label_formatter(&|v| short(*v)).y_label_formatter(&|v| short(*v)).draw()?;
    for (colour, value) in curves {
        let points = rows.iter().map(|row| (row.abs, value(row))).filter(|(_, v)| *v > 0.0);
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        let dot = digits.map(|row| (row.abs, value(row))).filter(|(_, v)| *v > 0.0);
        chart.draw_series(dot.map(|at| Circle::new(at, 5, colour.filled())))?;
    }
    Ok(())
}

/// From the smallest to the largest of the positive values, with a margin.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let positive = values.filter(|v| *v > 0.0 && v.is_finite()).map(|v| (v, v));
    let (low, high) = positive.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((1.0, 1.0));
    (low / 1.2, high * 1.2)
}
