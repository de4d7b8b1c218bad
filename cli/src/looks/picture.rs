//! Pictures of a plane of numbers: as PNG, as SVG with axes and a colour bar, as blocks of a terminal.

use std::error::Error;

use base64::prelude::{BASE64_STANDARD, Engine};
use plotters::coord::Shift;
use plotters::prelude::*;
use sleek::printable::printable;

use crate::progress::short;

/// How drawing ends.
type Drawn<T> = Result<T, Box<dyn Error>>;

const FONT: &str = "sans-serif";

/// Where there is no value.
const MISSING: RGBColor = RGBColor(160, 160, 160);
/// Numbers from the smallest to the largest in a terminal, and what is missing.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ABSENT: char = '·';
/// Pixels around a map: what captions and labels take.
const HEAD: u32 = 84;
const LEFT: u32 = 64;
const BAR: u32 = 110;
const FOOT: u32 = 44;
/// Pixels of the longer side of a map, at least; of SVG at most too.
const SIDE: usize = 720;
/// Steps of the colour bar.
const STEPS: u32 = 64;

/// The map of a plane of numbers, NaN where one is missing.
pub struct PlaneMap {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
    /// Elements from one to the next, down and to the right.
    pub steps: [u64; 2],
    pub caption: Vec<String>,
}

impl PlaneMap {
    /// The smallest and the largest number.
    pub fn range(&self) -> Option<(f64, f64)> {
        let finite = self.values.iter().filter(|v| v.is_finite());
        finite.map(|v| (*v, *v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Where a number stands between the smallest and the largest, from 0 to 1.
    fn share(range: (f64, f64), v: f64) -> Option<f64> {
        match v {
            v if v.is_nan() => None,
            _ if range.0 >= range.1 => Some(0.5),
            v => Some(((v / 2.0 - range.0 / 2.0) / (range.1 / 2.0 - range.0 / 2.0)).clamp(0.0, 1.0)),
        }
    }

    fn colour(range: (f64, f64), v: f64) -> RGBColor {
        PlaneMap::share(range, v).map_or(MISSING, |share| ViridisRGB.get_color(share))
    }

    /// Lines of blocks, with one character for each number.
    pub fn text(&self) -> Vec<String> {
        let range = self.range().unwrap_or((0.0, 0.0));
        let block = |v: &f64| PlaneMap::share(range, *v).map_or(ABSENT, |share| BLOCKS[(share * 8.0).round() as usize]);
        self.values.chunks(self.columns.max(1)).map(|row| row.iter().map(block).collect()).collect()
    }

    /// The bytes of a PNG: some pixels for each number.
    pub fn png(&self) -> Drawn<Vec<u8>> {
        let range = self.range().unwrap_or((0.0, 0.0));
        let times = (SIDE / self.rows.max(self.columns).max(1)).max(1);
        let mut png = Vec::new();
        let [wide, tall] = [self.columns, self.rows].map(|n| (n * times) as u32);
        let mut encoder = png::Encoder::new(&mut png, wide, tall);
        encoder.set_color(png::ColorType::Rgb);
        let mut pixels = Vec::new();
        for row in self.values.chunks(self.columns.max(1)) {
            let pixel = |v: &f64| {
                let RGBColor(r, g, b) = PlaneMap::colour(range, *v);
                [r, g, b].repeat(times)
            };
            let line: Vec<u8> = row.iter().flat_map(pixel).collect();
            (0..times).for_each(|_| pixels.extend_from_slice(&line));
        }
        encoder.write_header()?.write_image_data(&pixels)?;
        Ok(png)
    }

    /// Pixels of a picture as SVG, and of the map in it.
    fn size(&self) -> ((u32, u32), (u32, u32)) {
        let scale = SIDE as f64 / self.rows.max(self.columns).max(1) as f64;
        let [wide, tall] = [self.columns, self.rows].map(|n| ((n as f64 * scale).round() as u32).max(24));
        ((LEFT + wide + BAR, HEAD + tall + FOOT), (wide, tall))
    }

    pub fn svg(&self) -> Drawn<Vec<u8>> {
        let (size, (wide, tall)) = self.size();
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        self.draw(&area)?;
        area.present()?;
        drop(area);
        // The map is one element above all others.
        let map = format!(
            "<image x=\"{LEFT}\" y=\"{HEAD}\" width=\"{wide}\" height=\"{tall}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
            BASE64_STANDARD.encode(self.png()?)
        );
        svg.insert_str(svg.rfind("</svg>").unwrap_or(svg.len()), &map);
        Ok(svg.into_bytes())
    }

    /// Draws all but the map.
    fn draw(&self, area: &DrawingArea<SVGBackend, Shift>) -> Drawn<()> {
        let (_, (wide, tall)) = self.size();
        for (k, line) in self.caption.iter().enumerate() {
            let (at, size) = ((12, 8 + 22 * k as i32), if k == 0 { 18 } else { 13 });
            area.draw(&Text::new(printable(line).into_owned(), at, (FONT, size)))?;
        }
        let [down, right] = [(self.rows, 0), (self.columns, 1)].map(|(n, k)| (n as u64 * self.steps[k]) as f64);
        let labels = area.margin(HEAD, 0, 0, BAR);
        let mut chart = ChartBuilder::on(&labels)
            .x_label_area_size(FOOT)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..right, down..0.0)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_mesh().x_labels(6).y_labels(6).x_desc("index").y_desc("index").draw()?;
        let range = self.range().unwrap_or((0.0, 0.0));
        let (left, height) = ((LEFT + wide + 14) as i32, tall as f64 / f64::from(STEPS));
        for k in 0..STEPS {
            let at = |k: u32| HEAD as i32 + (f64::from(k) * height).round() as i32;
            let colour = ViridisRGB.get_color(1.0 - (f64::from(k) + 0.5) / f64::from(STEPS));
            area.draw(&Rectangle::new([(left, at(k)), (left + 16, at(k + 1))], colour.filled()))?;
        }
        for (value, y) in [(range.1, HEAD as i32), (range.0, (HEAD + tall) as i32 - 12)] {
            area.draw(&Text::new(short(value), (left + 22, y), (FONT, 13)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_and_constants_have_blocks() {
        let plane = |values: &[f64]| PlaneMap {
            rows: 1,
            columns: values.len(),
            values: values.to_vec(),
            steps: [1; 2],
            caption: Vec::new(),
        };
        assert_eq!(plane(&[0.0, 1.0, f64::NAN, 2.0]).text(), [" ▄·█"]);
        assert_eq!(plane(&[7.0, f64::NAN]).text(), ["▄·"]);
        assert_eq!(plane(&[f64::MIN, f64::MAX, 0.0]).text(), [" █▄"]);
    }
}
