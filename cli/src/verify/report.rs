//! What `sleek verify` says of two files.

use serde_json::{Value, json};
use sleek::Mode;
use sleek::printable::printable;

use super::difference::{ComparedElement, Difference};
use crate::io::{say, say_json};
use crate::progress::figure;
use crate::quality::limits::Limits;
use crate::quality::{Figure, Figures};

/// The name of a verdict by which a file is not what it should be.
const BROKEN: &str = "BROKEN";
/// Of one by which it may be, or not.
const NOT_KNOWN: &str = "not known";

/// How two datasets of numbers differ, and what the second one promises.
pub struct Judged {
    pub mode: Mode,
    pub promise: String,
    /// Whether all errors within it are promised; else none beyond it can be.
    pub is_bound: bool,
    pub difference: Difference,
}

/// What came of a dataset.
pub enum FieldVerdict {
    /// Both are of numbers.
    Judged(Box<Judged>),
    /// Bit for bit, where it is not of numbers.
    Same,
    /// In words that follow its name.
    Broken(String),
    /// It is in the second file only.
    Extra,
    /// With what it is.
    NotCompared(String),
    /// It should have been compared; with why it cannot be.
    NotKnown(String),
}

impl FieldVerdict {
    /// Of what must be the same.
    pub fn exact(same: bool) -> FieldVerdict {
        if same { FieldVerdict::Same } else { FieldVerdict::Broken("differs".into()) }
    }

    pub fn is_kept(&self) -> bool {
        self.name() != BROKEN
    }

    pub fn name(&self) -> &'static str {
        match self {
            FieldVerdict::Judged(judged) => judged.name(),
            FieldVerdict::Same => "identical",
            FieldVerdict::Broken(_) => BROKEN,
            FieldVerdict::Extra => "extra",
            FieldVerdict::NotCompared(_) => "not compared",
            FieldVerdict::NotKnown(_) => NOT_KNOWN,
        }
    }

    pub fn judged(&self) -> Option<&Judged> {
        if let FieldVerdict::Judged(judged) = self { Some(judged) } else { None }
    }

    /// What there is to say besides.
    pub fn words(&self) -> String {
        match self {
            FieldVerdict::Judged(judged) => judged.words(),
            FieldVerdict::Same => String::new(),
            FieldVerdict::Broken(what) | FieldVerdict::NotCompared(what) | FieldVerdict::NotKnown(what) => what.clone(),
            FieldVerdict::Extra => "is in the second file only".into(),
        }
    }

    pub fn to_json(&self) -> Value {
        let mut of = self.judged().map_or_else(|| json!({}), Judged::to_json);
        of["verdict"] = json!(self.name().to_lowercase());
        if !self.is_kept() || matches!(self.name(), NOT_KNOWN | "not compared") {
            of["why"] = json!(self.words());
        }
        of
    }
}

impl Judged {
    fn name(&self) -> &'static str {
        match (self.difference.violations, self.difference.changed) {
            (0, 0) => "identical",
            (0, _) if !self.is_bound => NOT_KNOWN,
            (0, _) if !self.mode.has_bound() => "no bound",
            (0, _) => "within bound",
            _ => BROKEN,
        }
    }

    fn words(&self) -> String {
        let Judged { promise, difference: d, .. } = self;
        let counted = |n: u64, words: &dyn Fn(u64) -> String| if n > 0 { words(n) } else { String::new() };
        let missing = counted(d.missing, &|n| format!("; {n} missing values agree"));
        if d.violations + d.changed == 0 {
            return missing.trim_start_matches("; ").to_owned();
        }
        let share = if d.of_bound > 0.0 { format!(", {:.4} of the bound", d.of_bound) } else { String::new() };
        let worst = d.worst.as_ref().map_or_else(String::new, |ComparedElement { index, original, restored }| {
            format!(", the worst at {index:?}: {original:e} became {restored:e}")
        });
        let left = counted(d.left_valid, &|n| format!("; {n} left the valid range: programs take them for missing"));
        let masks = counted(d.missing_violations, &|n| format!(", of {n} the missing values do not agree"));
        let broken = counted(d.violations, &|n| format!(": {n} elements{masks}"));
        let missing = if d.violations > 0 { "" } else { &missing };
        format!("{promise}, max error {}{share}{broken}{worst}{left}{missing}", figure(d.max_error))
    }

    fn to_json(&self) -> Value {
        let Judged { mode, promise, difference: d, .. } = self;
        let worst = d.worst.as_ref();
        json!({
            "mode": mode.name(),
            "promise": promise,
            "count": d.count,
            "max_error": d.max_error,
            "mean_error": d.bias(),
            "rms_error": d.rms(),
            "psnr": d.psnr(),
            "error_over_bound": mode.has_bound().then_some(d.of_bound),
            "changed": d.changed,
            "violations": d.violations,
            "special_values": d.special,
            "missing_values": d.missing,
            "missing_violations": d.missing_violations,
            "left_valid_range": d.left_valid,
            "worst": worst.map(|e| json!({"index": e.index, "original": e.original, "restored": e.restored})),
        })
    }
}

pub struct Report {
    /// Of those of floats with figures, if they are asked for.
    datasets: Vec<(String, FieldVerdict, Option<Figures>)>,
    limits: Limits,
}

impl Report {
    /// Nothing yet, to be held to these limits.
    pub fn new(limits: Limits) -> Report {
        Report { datasets: Vec::new(), limits }
    }

    pub fn add(&mut self, name: String, verdict: FieldVerdict, figures: Option<Figures>) {
        self.datasets.push((name, verdict, figures));
    }

    /// Those that were taken.
    pub fn figures(&self) -> impl Iterator<Item = &Figures> + Clone {
        self.datasets.iter().filter_map(|(.., figures)| figures.as_ref())
    }

    /// Whether all figures are within their limits.
    pub fn met(&self) -> bool {
        self.figures().all(|figures| self.limits.missed(figures).is_empty())
    }

    /// Whether nothing is broken, if that is known of all.
    pub fn kept(&self) -> Option<bool> {
        let has = |name| self.datasets.iter().any(|(_, verdict, _)| verdict.name() == name);
        if has(BROKEN) { Some(false) } else { (!has(NOT_KNOWN)).then_some(true) }
    }

    pub fn show(&self, as_json: bool) {
        match as_json {
            true => say_json(&self.to_json()),
            false => self.print(),
        }
    }

    fn print(&self) {
        let widest =
            self.datasets.iter().map(|(name, ..)| printable(name).chars().count()).max().unwrap_or(0).clamp(7, 40);
        for (name, verdict, _) in &self.datasets {
            let line = format!("{:<widest$} {:<14}{}", printable(name), verdict.name(), printable(&verdict.words()));
            say!("{}", line.trim_end());
        }
        let names = ["identical", "within bound", "no bound", BROKEN, "extra", "not compared", NOT_KNOWN];
        let counts = names.map(|name| (name, self.datasets.iter().filter(|(_, v, _)| v.name() == name).count()));
        let counts = counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}"));
        if self.figures().next().is_some() {
            self.print_figures(widest);
        }
        say!(
            "{:<widest$} {}: {}",
            "verdict",
            self.kept().map_or(NOT_KNOWN, |kept| if kept { "kept" } else { BROKEN }),
            counts.collect::<Vec<_>>().join(", ")
        );
    }

    fn print_figures(&self, widest: usize) {
        let head: String = Figure::ALL.iter().map(|figure| format!("{:>13}", figure.names()[2])).collect();
        say!("\n{:<widest$} {head}", "figures");
        let each = || self.datasets.iter().filter_map(|(name, _, figures)| Some((name, figures.as_ref()?)));
        for (name, figures) in each() {
            let cells: String = Figure::ALL.iter().map(|figure| format!("{:>13}", figures.words(*figure))).collect();
            say!("{:<widest$} {cells}", printable(name));
        }
        say!("");
        for (name, figures) in each() {
            let missed = self.limits.missed(figures);
            missed.iter().for_each(|missed| say!("{:<widest$} MISSED        {missed}", printable(name)));
        }
    }

    pub fn to_json(&self) -> Value {
        let each = self.datasets.iter().map(|(name, verdict, figures)| {
            let mut of = verdict.to_json();
            of["name"] = json!(name);
            if let Some(figures) = figures {
                (of["quality"], of["missed"]) = (figures.to_json(), json!(self.limits.missed(figures)));
            }
            of
        });
        json!({"kept": self.kept(), "met": self.met(), "datasets": each.collect::<Vec<_>>()})
    }
}
