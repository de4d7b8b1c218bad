//! What `sleek verify` says of two files.

use serde_json::{Value, json};
use sleek::Mode;
use sleek::printable::printable;

use super::difference::{ComparedElement, Difference};
use crate::io::{say, say_json};
use crate::progress::figure;
use crate::quality::limits::Limits;
use crate::quality::{Figure, Figures};

/// How two datasets of numbers differ, and what the second one promises.
pub struct Judged {
    pub mode: Mode,
    pub promise: String,
    pub difference: Difference,
}

/// What came of a dataset.
pub enum FieldVerdict {
    /// Bit for bit; what is known if it is of numbers.
    Identical(Option<Box<Judged>>),
    /// It differs as it may.
    Within(Box<Judged>),
    Differs(Box<Judged>),
    /// In words that follow its name.
    Broken(String),
    /// It is in the second file only.
    Extra,
    /// With what it is.
    NotCompared(String),
}

impl FieldVerdict {
    pub fn of(judged: Judged) -> FieldVerdict {
        let judged = Box::new(judged);
        match (judged.difference.violations, judged.difference.changed) {
            (0, 0) => FieldVerdict::Identical(Some(judged)),
            (0, _) => FieldVerdict::Within(judged),
            _ => FieldVerdict::Differs(judged),
        }
    }

    /// Of what must be the same.
    pub fn exact(same: bool) -> FieldVerdict {
        if same { FieldVerdict::Identical(None) } else { FieldVerdict::Broken("differs".into()) }
    }

    pub fn is_kept(&self) -> bool {
        !matches!(self, FieldVerdict::Differs(_) | FieldVerdict::Broken(_))
    }

    pub fn name(&self) -> &'static str {
        match self {
            FieldVerdict::Identical(_) => "identical",
            FieldVerdict::Within(judged) if !judged.mode.has_bound() => "no bound",
            FieldVerdict::Within(_) => "within bound",
            FieldVerdict::Differs(_) | FieldVerdict::Broken(_) => "BROKEN",
            FieldVerdict::Extra => "extra",
            FieldVerdict::NotCompared(_) => "not compared",
        }
    }

    pub fn judged(&self) -> Option<&Judged> {
        match self {
            FieldVerdict::Identical(judged) => judged.as_deref(),
            FieldVerdict::Within(judged) | FieldVerdict::Differs(judged) => Some(judged),
            _ => None,
        }
    }

    /// What there is to say besides.
    pub fn words(&self) -> String {
        match self {
            FieldVerdict::Identical(judged) => {
                judged.as_ref().map_or(String::new(), |j| j.missing().trim_start_matches("; ").to_owned())
            }
            FieldVerdict::Within(judged) => {
                format!("{}{}{}{}", judged.measured(), judged.worst(), judged.left_valid(), judged.missing())
            }
            FieldVerdict::Differs(judged) => {
                let masks = match judged.difference.missing_violations {
                    0 => String::new(),
                    n => format!(", of {n} the missing values do not agree"),
                };
                let violations = judged.difference.violations;
                let left = judged.left_valid();
                format!("{}: {violations} elements{masks}{}{left}", judged.measured(), judged.worst())
            }
            FieldVerdict::Broken(why) => why.clone(),
            FieldVerdict::Extra => "is in the second file only".into(),
            FieldVerdict::NotCompared(what) => what.clone(),
        }
    }

    pub fn to_json(&self) -> Value {
        let mut of = json!({"verdict": self.name().to_lowercase()});
        if let Some(Judged { mode, promise, difference: d }) = self.judged() {
            let worst = d.worst.as_ref();
            let worst = worst.map(|e| json!({"index": e.index, "original": e.original, "restored": e.restored}));
            let known = json!({
                "mode": mode.name(),
                "promise": promise,
                "count": d.count,
                "max_error": d.max_error,
                "mean_error": d.bias(),
                "rms_error": d.rms(),
                "psnr": d.psnr(d.range()),
                "error_over_bound": mode.has_bound().then_some(d.of_bound),
                "changed": d.changed,
                "violations": d.violations,
                "special_values": d.special,
                "missing_values": d.missing,
                "missing_violations": d.missing_violations,
                "left_valid_range": d.left_valid,
                "worst": worst,
            });
            of.as_object_mut().into_iter().for_each(|of| of.extend(known.as_object().cloned().unwrap_or_default()));
        }
        if !self.is_kept() {
            of["why"] = json!(self.words());
        }
        of
    }
}

impl Judged {
    fn measured(&self) -> String {
        let (promise, error, of_bound) = (&self.promise, figure(self.difference.max_error), self.difference.of_bound);
        match of_bound > 0.0 {
            true => format!("{promise}, max error {error}, {of_bound:.4} of the bound"),
            false => format!("{promise}, max error {error}"),
        }
    }

    fn worst(&self) -> String {
        match &self.difference.worst {
            Some(ComparedElement { index, original, restored }) => {
                format!(", the worst at {index:?}: {original:e} became {restored:e}")
            }
            None => String::new(),
        }
    }

    fn left_valid(&self) -> String {
        match self.difference.left_valid {
            0 => String::new(),
            n => format!("; {n} left the valid range: programs take them for missing"),
        }
    }

    fn missing(&self) -> String {
        match self.difference.missing {
            0 => String::new(),
            n => format!("; {n} missing values agree"),
        }
    }
}

pub struct Report {
    datasets: Vec<(String, FieldVerdict)>,
    /// Of those of floats, if they are asked for.
    figures: Vec<(String, Figures)>,
    limits: Limits,
}

impl Report {
    /// Nothing yet, to be held to these limits.
    pub fn new(limits: Limits) -> Report {
        Report { datasets: Vec::new(), figures: Vec::new(), limits }
    }

    pub fn add(&mut self, name: String, verdict: FieldVerdict, figures: Option<Figures>) {
        self.figures.extend(figures.map(|figures| (name.clone(), figures)));
        self.datasets.push((name, verdict));
    }

    /// Those that were taken.
    pub fn figures(&self) -> impl Iterator<Item = &Figures> + Clone {
        self.figures.iter().map(|(_, figures)| figures)
    }

    /// Whether all figures are within their limits.
    pub fn met(&self) -> bool {
        self.figures().all(|figures| self.limits.missed(figures).is_empty())
    }

    /// Whether nothing is broken.
    pub fn kept(&self) -> bool {
        self.datasets.iter().all(|(_, verdict)| verdict.is_kept())
    }

    pub fn show(&self, as_json: bool) {
        match as_json {
            true => say_json(&self.to_json()),
            false => self.print(),
        }
    }

    fn print(&self) {
        let widest =
            self.datasets.iter().map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0).clamp(7, 40);
        for (name, verdict) in &self.datasets {
            say!(
                "{}",
                format!("{:<widest$} {:<14}{}", printable(name), verdict.name(), printable(&verdict.words()))
                    .trim_end()
            );
        }
        let names = ["identical", "within bound", "no bound", "BROKEN", "extra", "not compared"];
        let count = |name: &str| self.datasets.iter().filter(|(_, v)| v.name() == name).count();
        let counts: Vec<String> = names
            .iter()
            .map(|n| (n, count(n)))
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        if !self.figures.is_empty() {
            self.print_figures(widest);
        }
        say!("{:<widest$} {}: {}", "verdict", if self.kept() { "kept" } else { "BROKEN" }, counts.join(", "));
    }

    fn print_figures(&self, widest: usize) {
        let head: String = Figure::ALL.iter().map(|figure| format!("{:>13}", figure.title())).collect();
        say!("\n{:<widest$} {head}", "figures");
        for (name, figures) in &self.figures {
            let cells: String = Figure::ALL.iter().map(|figure| format!("{:>13}", figures.words(*figure))).collect();
            say!("{:<widest$} {cells}", printable(name));
        }
        say!("");
        for (name, figures) in &self.figures {
            let missed = self.limits.missed(figures);
            missed.iter().for_each(|missed| say!("{:<widest$} MISSED        {missed}", printable(name)));
        }
    }

    pub fn to_json(&self) -> Value {
        let mut each: Vec<Value> = self.datasets.iter().map(|(_, verdict)| verdict.to_json()).collect();
        each.iter_mut().zip(&self.datasets).for_each(|(of, (name, _))| of["name"] = json!(name));
        for (name, figures) in &self.figures {
            let of = each.iter_mut().find(|of| of["name"] == name.as_str());
            of.into_iter().for_each(|of| {
                (of["quality"], of["missed"]) = (figures.to_json(), json!(self.limits.missed(figures)));
            });
        }
        json!({"kept": self.kept(), "met": self.met(), "datasets": each})
    }
}
