//! Texts from elsewhere (names of files and datasets, values of variables) in messages: what steers a terminal, or
//! would make one line of a log look like two, is shown and not done.

use std::borrow::Cow;

/// `text` with every control character written out.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// The same for a text of several lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// Control characters, and what ends a line or a paragraph, or turns the direction of what follows, for programs that
/// know Unicode.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Bytes of the longest character that is written out.
const MOST_ESCAPED: usize = r"\u{10ffff}".len();

fn escaped(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        // Where there is no memory for more, the rest is left out: nothing else would be safe to show.
        if shown.try_reserve(MOST_ESCAPED).is_err() {
            break;
        }
        if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert!(matches!(printable("|v − r| ≤ E"), Cow::Borrowed(_)));
        assert_eq!(printable("a\n\x1b[2J\u{9b}\0"), "a\\n\\u{1b}[2J\\u{9b}\\u{0}");
        assert_eq!(printable("a\u{2028}b\u{202e}c"), "a\\u{2028}b\\u{202e}c");
        assert_eq!(printable_lines("a\n\tb\r"), "a\n\tb\\r");
    }
}
