//! Rule files: what becomes of datasets, by patterns of their names and by their types.

use std::collections::BTreeSet;
use std::path::Path;

use regex_automata::meta::Regex;
use sleek::DType;

use super::request::{self, Request};
use crate::hdf5::object::Way;

/// The rules of a file, in their order: the first that matches a dataset decides.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

/// Rules, and where in a file each is for.
pub struct Matched<'a>(Vec<(&'a Rule, BTreeSet<usize>)>);

#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// What is between slashes; `None` stands for any groups.
    parts: Vec<Option<Regex>>,
}

impl Pattern {
    /// Where `*` stands for any characters but a slash, `?` for one, and `**` for any groups; every other character is
    /// itself. A pattern without a slash is for the last part of a name, any other counts from the root. Names are
    /// matched in linear time.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let whole = text.trim_start_matches('/');
        let mut path = if text.contains('/') { format!("/{whole}") } else { format!("**/{text}") };
        if path.ends_with("/**") {
            path.push_str("/*");
        }
        let regex = |part| Regex::new(&expression(part)).map_err(|e| format!("dataset '{text}' is no pattern: {e}"));
        let parts = path.split('/').map(|part| (part != "**").then(|| regex(part)).transpose());
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(Pattern { text: text.to_owned(), parts })
    }

    /// The places of all objects that have such a name, by any links to them and to the groups above them.
    pub fn places(&self, ways: &[Vec<Way>]) -> BTreeSet<usize> {
        // Places, and how many parts lead there. Links may lead in circles.
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![(ways.len() - 1, 0)]);
        while let Some((place, taken)) = waiting.pop() {
            if !seen.insert((place, taken)) {
                continue;
            }
            match self.parts.get(taken) {
                Some(Some(name)) => {
                    let matching = ways[place].iter().filter(|(link, _)| name.is_match(link));
                    waiting.extend(matching.map(|(_, to)| (*to, taken + 1)));
                }
                Some(None) => {
                    waiting.push((place, taken + 1));
                    waiting.extend(ways[place].iter().map(|(_, to)| (*to, taken)));
                }
                None => {}
            }
        }
        seen.into_iter().filter(|(_, taken)| *taken == self.parts.len()).map(|(place, _)| place).collect()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is the name of one dataset.
    fn is_exact(&self) -> bool {
        !self.text.contains(['*', '?'])
    }
}

/// A part of a pattern as a regular expression.
fn expression(part: &str) -> String {
    let letters = part.chars().map(|letter| match letter {
        '*' => ".*".to_owned(),
        '?' => ".".to_owned(),
        _ => format!("\\x{{{:x}}}", u32::from(letter)),
    });
    format!("^(?s:{})$", letters.collect::<String>())
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

    /// The rules, each with the places of the objects of one file that its pattern is for.
    pub fn matched(&self, ways: &[Vec<Way>]) -> Matched<'_> {
        Matched(self.0.iter().map(|rule| (rule, rule.dataset.places(ways))).collect())
    }
}

impl Matched<'_> {
    /// The rules that match none of these datasets, by number and pattern.
    pub fn without_match(&self, datasets: &[(usize, DType)]) -> Vec<String> {
        let rules = self.0.iter().enumerate();
        let idle = rules.filter(|(_, matched)| !datasets.iter().any(|(place, dtype)| holds(matched, *place, *dtype)));
        idle.map(|(i, (rule, _))| format!("rule {} ('{}')", i + 1, rule.dataset.text)).collect()
    }

    /// What is to become of a dataset, and whether a rule has one of its names.
    pub fn of(&self, place: usize, dtype: DType) -> Option<(Request, bool)> {
        let (rule, _) = self.0.iter().find(|matched| holds(matched, place, dtype))?;
        Some((rule.request.clone(), rule.dataset.is_exact()))
    }
}

fn holds((rule, places): &(&Rule, BTreeSet<usize>), place: usize, dtype: DType) -> bool {
    places.contains(&place) && rule.kind.is_none_or(|kind| kind.holds(dtype))
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
            ("*", "/t", true),
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
            ("*/t", "/g/t", true),
            ("*/t", "/t", false),
            ("g/t", "/g/t", true),
            ("/t/**", "/t", false),
            ("t?s", "tüs", true),
            ("?", "温", true),
            ("??", "温", false),
            ("größe_?", "größe_度", true),
            ("a\n*", "a\nb", true),
            ("**", "/grid/t", true),
            ("**/t", "/grid/t", true),
            ("/a/**/**/t", "/a/t", true),
        ] {
            let path = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
            let mut ways: Vec<Vec<Way>> = path.split('/').enumerate().map(|(i, name)| vec![(name.into(), i)]).collect();
            let last = ways.len() - 1;
            ways.rotate_left(1);
            ways.insert(last, Vec::new());
            assert_eq!(Pattern::new(text).unwrap().places(&ways).contains(&last), does, "{text} {name}");
        }
    }
}
