//! Rule files: what becomes of datasets, by patterns of their names and by their types.

use std::path::Path;

use regex_automata::meta::Regex;
use sleek::DType;

use super::request::{self, Request};

/// The rules of a file, in their order: the first that matches a dataset decides.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: Regex,
}

impl Pattern {
    /// Where `*` stands for any characters but a slash, `?` for one, and `**` for any groups; every other character is
    /// itself. Names are matched in linear time.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let matcher = Regex::new(&expression(text)).map_err(|e| format!("dataset '{text}' is no pattern: {e}"))?;
        Ok(Pattern { text: text.to_owned(), matcher })
    }

    /// Whether it is for the dataset at a path: a pattern without a slash is for the last part.
    fn holds(&self, path: &str) -> bool {
        let name = if self.text.contains('/') { path } else { path.rsplit('/').next().unwrap_or(path) };
        self.matcher.is_match(name)
    }

    /// Whether it is for the dataset that has these names.
    pub fn holds_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.holds(name))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is the name of one dataset.
    fn is_exact(&self) -> bool {
        !self.text.contains(['*', '?'])
    }
}

/// A pattern as a regular expression.
fn expression(pattern: &str) -> String {
    let (mut all, mut rest) = (String::from("^(?s:"), pattern);
    while let Some(letter) = rest.chars().next() {
        let begins = rest.len() == pattern.len() || pattern[..pattern.len() - rest.len()].ends_with('/');
        let (part, len) = match letter {
            '*' if begins && rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if begins && rest == "**" => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            _ => (format!("\\x{{{:x}}}", u32::from(letter)), letter.len_utf8()),
        };
        all.push_str(&part);
        rest = &rest[len..];
    }
    all + ")$"
}

/// `[[rule]]`
#[derive(Clone, Debug)]
struct Rule {
    dataset: Pattern,
    kind: Option<Type>,
    request: Request,
}

/// Types that a rule is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Float,
    Integer,
    One(DType),
}

impl Type {
    fn of(name: &str) -> Option<Type> {
        match name {
            "float" => Some(Type::Float),
            "integer" => Some(Type::Integer),
            name => DType::from_name(name).map(Type::One),
        }
    }

    fn holds(self, dtype: DType) -> bool {
        match self {
            Type::Float => dtype.is_float(),
            Type::Integer => !dtype.is_float(),
            Type::One(one) => one == dtype,
        }
    }
}

impl Rules {
    pub fn read(path: &Path) -> Result<Rules, String> {
        let blame = |e: String| format!("--rules {}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| blame(e.to_string()))?;
        Rules::parse(&text).map_err(blame)
    }

    fn parse(text: &str) -> Result<Rules, String> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string().trim().to_owned())?;
        let Some(toml::Value::Array(rules)) = file.remove("rule") else {
            return Err("[[rule]] is needed, once or several times".into());
        };
        if let Some(key) = file.keys().next() {
            return Err(format!("'{key}' is unknown; there are [[rule]] only"));
        }
        let each = rules.iter().enumerate();
        each.map(|(i, rule)| Rule::of(rule).map_err(|e| format!("rule {}: {e}", i + 1)))
            .collect::<Result<_, _>>()
            .map(Rules)
    }

    /// The rules that match none of these datasets, whose names these are, by number and pattern.
    pub fn without_match(&self, datasets: &[(&[String], DType)]) -> Vec<String> {
        let has_none = |rule: &Rule| !datasets.iter().any(|(names, dtype)| rule.holds(names, *dtype));
        let rules = self.0.iter().enumerate().filter(|(_, rule)| has_none(rule));
        rules.map(|(i, rule)| format!("rule {} ('{}')", i + 1, rule.dataset.text)).collect()
    }

    /// What is to become of the dataset that has these names, and whether a rule has one of them.
    pub fn of(&self, names: &[String], dtype: DType) -> Option<(Request, bool)> {
        let rule = self.0.iter().find(|rule| rule.holds(names, dtype))?;
        Some((rule.request.clone(), rule.dataset.is_exact()))
    }
}

impl Rule {
    fn of(value: &toml::Value) -> Result<Rule, String> {
        let table = value.as_table().ok_or("is no table")?;
        let (mut dataset, mut kind, mut items) = ("*".to_owned(), None, Vec::new());
        for (key, value) in table {
            match (key.as_str(), value) {
                ("dataset", toml::Value::String(pattern)) => dataset = pattern.clone(),
                ("type", toml::Value::String(name)) => {
                    let known = "float, integer, f32, f64, f16, bf16, i8 … u64";
                    kind = Some(Type::of(name).ok_or_else(|| format!("type '{name}' is unknown; there are {known}"))?);
                }
                ("missing", value) => {
                    for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                        items.push(format!("fill={}", word("missing", value)?));
                    }
                }
                // All else is what a request has in words.
                (_, toml::Value::Boolean(true)) => items.push(key.clone()),
                _ => items.push(format!("{key}={}", word(key, value)?)),
            }
        }
        Ok(Rule { dataset: Pattern::new(&dataset)?, kind, request: request::parse(&items.join(","))? })
    }

    fn holds(&self, names: &[String], dtype: DType) -> bool {
        self.kind.is_none_or(|kind| kind.holds(dtype)) && self.dataset.holds_one_of(names)
    }
}

/// A number or a word for a request.
fn word(key: &str, value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(n) => Ok(n.to_string()),
        toml::Value::Float(x) => Ok(format!("{x:e}")),
        other => Err(format!("{key}: a number or a text is needed, not a {}", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rule() {
        for (text, part) in [
            ("", "[[rule]] is needed"),
            ("[[rule]]\ndataset = 't'\n", "rule 1"),
            ("[[rule]]\nabs = 1e-3\n[[rule]]\nabs = 'x'\n", "rule 2"),
            ("[[rule]]\nabs = 1\nname = 't'\n", "'name=t' in 'abs=1,name=t' is unknown"),
            ("[[rule]]\nabs = 1\ntype = 'double'\n", "type 'double' is unknown"),
            ("[[rule]]\nabs = \n", "TOML"),
            ("[[rules]]\nabs = 1\n[[rule]]\nabs = 1\n", "'rules' is unknown"),
        ] {
            let message = Rules::parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn patterns() {
        for (text, name, does) in [
            ("*", "", true),
            ("t?s", "tas", true),
            ("t?s", "ts", false),
            ("*_bnds", "time_bnds", true),
            ("a*b*c", "axxbyy", false),
            ("/grid/*", "/grid/t", true),
            ("/grid/*", "/grid/deep/t", false),
            ("/grid/**", "/grid/deep/t", true),
            ("/**/t", "/grid/deep/t", true),
            ("/**/t", "/t", true),
            ("/g?t", "/g/t", false),
            ("{a,b}[0]*\\", "{a,b}[0]!\\", true),
            ("{a,b}*", "a", false),
            ("t?s", "tüs", true),
            ("?", "温", true),
            ("??", "温", false),
            ("größe_?", "größe_度", true),
            ("a\n*", "a\nb", true),
            ("**", "/grid/t", true),
            ("**/t", "/grid/t", true),
            ("/a/**/**/t", "/a/t", true),
        ] {
            assert_eq!(Pattern::new(text).unwrap().matcher.is_match(name), does, "{text} {name}");
        }
    }
}
