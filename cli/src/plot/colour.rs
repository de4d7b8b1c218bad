//! Colours, on light and on dark paper. Every scale runs in lightness too, and no meaning hangs on red against green,
//! so that the colour-blind and printers in black and white show the same.

use super::picture::Colour;

/// The colours of a picture.
#[derive(Clone, Copy, PartialEq)]
pub struct Theme {
    pub is_dark: bool,
    pub paper: Colour,
    pub ink: Colour,
    pub grey: Colour,
    pub frame: Colour,
    pub pale: Colour,
    /// Of curves, told apart by lightness too.
    pub blue: Colour,
    pub orange: Colour,
    pub green: Colour,
    /// Where there is no value.
    pub missing: Colour,
}

pub const LIGHT: Theme = Theme {
    is_dark: false,
    paper: 0xffffff,
    ink: 0x222222,
    grey: 0x555555,
    frame: 0x888888,
    pale: 0xdddddd,
    blue: 0x1f5fa8,
    orange: 0xc4560d,
    green: 0x3b7f3b,
    missing: 0xc8c8c8,
};

pub const DARK: Theme = Theme {
    is_dark: true,
    paper: 0x16181c,
    ink: 0xe8e8e8,
    grey: 0xa8a8a8,
    frame: 0x777777,
    pale: 0x33363c,
    blue: 0x7db4f0,
    orange: 0xf0974f,
    green: 0x8fcf8f,
    missing: 0x50545c,
};

impl Theme {
    /// A value of a field by its share of the range, from dark blue over green to bright yellow.
    pub fn value(&self, share: f64) -> Colour {
        let share = share.clamp(0.0, 1.0);
        from_hue(0.28 + 0.66 * share, 0.13, 285.0 - 180.0 * share)
    }

    /// An error by its share of the bound, from -1 to 1: blue, paper, orange; what is beyond has the colour of ink.
    pub fn error(&self, share: f64) -> Colour {
        if share.is_nan() {
            return self.missing;
        }
        // A share is rounded, and the bound itself is kept.
        if share.abs() > 1.0 + 1e-9 {
            return self.ink;
        }
        let (centre, end) = if self.is_dark { (0.21, 0.8) } else { (0.98, 0.52) };
        let size = share.abs().min(1.0);
        from_hue(centre + (end - centre) * size, 0.15 * size, if share < 0.0 { 250.0 } else { 55.0 })
    }
}

/// A colour by lightness, chroma and hue in degrees, in the space OKLab.
fn from_hue(lightness: f64, chroma: f64, hue: f64) -> Colour {
    let (sin, cos) = hue.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let cube = |x: f64| x * x * x;
    let l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
    let m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
    let s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
    let red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    let green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    let blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
    [red, green, blue].into_iter().fold(0, |colour, light| colour << 8 | byte(light))
}

/// A share of light as sRGB has it.
fn byte(light: f64) -> Colour {
    let light = light.clamp(0.0, 1.0);
    let curved = if light <= 0.0031308 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
    (255.0 * curved).round() as Colour
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About what an eye without colours sees.
    fn light(colour: Colour) -> f64 {
        let [_, r, g, b] = colour.to_be_bytes().map(f64::from);
        0.3 * r + 0.59 * g + 0.11 * b
    }

    #[test]
    fn scales_run_in_lightness() {
        assert_eq!((from_hue(0.0, 0.0, 0.0), from_hue(1.0, 0.0, 0.0)), (0, 0xffffff));
        for theme in [LIGHT, DARK] {
            for i in 0..20 {
                let (a, b) = (f64::from(i) / 20.0, f64::from(i + 1) / 20.0);
                assert!(light(theme.value(a)) < light(theme.value(b)), "{a}");
                for sign in [-1.0, 1.0] {
                    let [near, far] = [a, b].map(|x| light(theme.error(sign * x)));
                    assert!(if theme.is_dark { near < far } else { near > far }, "{a} {sign}");
                }
            }
            assert_eq!(theme.error(1.5), theme.ink);
            assert_eq!(theme.error(f64::NAN), theme.missing);
        }
    }
}
