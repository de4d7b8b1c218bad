//! Pages of HTML that need nothing but themselves: pictures lie in them, light and dark as the reader has it.

use super::picture::{Picture, escaped};
use super::pixels;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#222;--pale:#ddd;--grey:#555}\
@media(prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#e8e8e8;--pale:#33363c;--grey:#a8a8a8}\
.light{display:none}}\
@media not all and (prefers-color-scheme:dark){.dark{display:none}}\
body{font-family:sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:var(--ink);background:var(--paper)}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}\
td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid var(--pale);vertical-align:middle}\
td.l,th.l{text-align:left}tr.bad td{font-weight:bold}p,.grey{color:var(--grey)}a{color:inherit}\
svg{max-width:100%;height:auto}img{image-rendering:pixelated;display:block}";

/// A whole page.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style></head><body>\n\
         {body}</body></html>\n",
        escaped(title)
    )
}

/// A picture drawn on light and on dark paper, of which one is shown.
pub fn light_and_dark(draw: impl Fn(bool) -> Picture) -> String {
    let [light, dark] = [false, true].map(|is_dark| draw(is_dark).to_svg());
    format!("<div class=\"light\">{light}</div><div class=\"dark\">{dark}</div>\n")
}

/// Bytes of a PNG file in a page.
pub fn data_address(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(png))
}

/// Pixels as a PNG in a page; nothing where it cannot be made.
pub fn image_address(width: usize, height: usize, pixels: &[u32]) -> String {
    let rgb: Vec<[u8; 3]> = pixels.iter().map(|colour| pixels::rgb(*colour)).collect();
    pixels::encode(width, height, &rgb).map_or(String::new(), |png| data_address(&png))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, b| word << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64() {
        for (bytes, text) in [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"\xff\xfe", "//4=")]
        {
            assert_eq!(base64(bytes), text);
        }
    }
}
