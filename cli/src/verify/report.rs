//! What `sleek verify` says of two files.

use serde_json::{Value, json};
use sleek::Mode;
use sleek::printable::printable;

use crate::io::{say, say_json};
use crate::progress::figure;
use crate::quality::limits::Limits;
use crate::quality::{Figure, Figures};

/// An element of both files.
#[derive(Clone, Copy)]
pub struct Compared {
    pub original: f64,
    pub restored: f64,
}

/// How two datasets of numbers differ.
pub struct Difference {
    mode: Mode,
    /// What the second one promises.
    pub promise: String,
    /// Elements of which a bit differs.
    changed: u64,
    violations: u64,
    /// Of the original.
    pub missing: u64,
    /// Elements of which one side only is missing.
    pub missing_violations: u64,
    max_error: f64,
    of_bound: f64,
    /// Where the worst element is, by its share of the bound: of those that break it if there are any.
    worst: Option<(Vec<u64>, Compared)>,
    worst_share: f64,
}

impl Difference {
    pub fn new(mode: Mode, promise: String) -> Difference {
        Difference {
            mode,
            promise,
            changed: 0,
            violations: 0,
            missing: 0,
            missing_violations: 0,
            max_error: 0.0,
            of_bound: 0.0,
            worst: None,
            worst_share: -1.0,
        }
    }

    /// Takes in an element of which a bit differs; `index` says where it is.
    pub fn take(&mut self, e: &Compared, limit: f64, kept: bool, index: impl Fn() -> Vec<u64>) {
        self.changed += 1;
        let error = (e.original - e.restored).abs();
        let error = if error.is_nan() { f64::INFINITY } else { error };
        self.max_error = self.max_error.max(error);
        let measured = match self.mode {
            Mode::Rel if error > 0.0 => error / e.original.abs(),
            _ => error,
        };
        let share = if limit > 0.0 { measured / limit } else { measured };
        if limit > 0.0 {
            self.of_bound = self.of_bound.max(share);
        }
        let first_violation = !kept && self.violations == 0;
        self.violations += u64::from(!kept);
        // One that breaks the bound, in its mask too, is worse than any that keeps it.
        if first_violation || (share > self.worst_share && (!kept || self.violations == 0)) {
            self.worst = Some((index(), *e));
            self.worst_share = share;
        }
    }
}

/// What came of a dataset.
pub enum FieldVerdict {
    /// Bit for bit; what is known if it is of numbers.
    Identical(Option<Box<Difference>>),
    /// It differs as it may.
    Within(Box<Difference>),
    Differs(Box<Difference>),
    /// In words that follow its name.
    Broken(String),
    /// It is in the second file only.
    Extra,
    /// With what it is.
    NotCompared(&'static str),
}

impl FieldVerdict {
    pub fn of(difference: Difference) -> FieldVerdict {
        let difference = Box::new(difference);
        match (difference.violations, difference.changed) {
            (0, 0) => FieldVerdict::Identical(Some(difference)),
            (0, _) => FieldVerdict::Within(difference),
            _ => FieldVerdict::Differs(difference),
        }
    }

    /// Of what must be the same.
    pub fn exact(same: bool) -> FieldVerdict {
        if same { FieldVerdict::Identical(None) } else { FieldVerdict::Broken("differs".into()) }
    }

    fn name(&self) -> &'static str {
        match self {
            FieldVerdict::Identical(_) => "identical",
            FieldVerdict::Within(difference) if !difference.mode.has_bound() => "no bound",
            FieldVerdict::Within(_) => "within bound",
            FieldVerdict::Differs(_) | FieldVerdict::Broken(_) => "BROKEN",
            FieldVerdict::Extra => "extra",
            FieldVerdict::NotCompared(_) => "not compared",
        }
    }

    fn difference(&self) -> Option<&Difference> {
        match self {
            FieldVerdict::Identical(difference) => difference.as_deref(),
            FieldVerdict::Within(difference) | FieldVerdict::Differs(difference) => Some(difference),
            _ => None,
        }
    }

    /// What there is to say besides.
    fn words(&self) -> String {
        match self {
            FieldVerdict::Identical(difference) => {
                difference.as_ref().map_or(String::new(), |d| missing(d).trim_start_matches("; ").to_owned())
            }
            FieldVerdict::Within(d) => format!("{}{}{}", measured(d), worst(d), missing(d)),
            FieldVerdict::Differs(d) => {
                let masks = match d.missing_violations {
                    0 => String::new(),
                    n => format!(", of {n} the missing values do not agree"),
                };
                format!("{}: {} elements{masks}{}", measured(d), d.violations, worst(d))
            }
            FieldVerdict::Broken(why) => why.clone(),
            FieldVerdict::Extra => "is in the second file only".into(),
            FieldVerdict::NotCompared(what) => (*what).into(),
        }
    }
}

fn measured(d: &Difference) -> String {
    match d.of_bound > 0.0 {
        true => format!("{}, max error {}, {:.4} of the bound", d.promise, figure(d.max_error), d.of_bound),
        false => format!("{}, max error {}", d.promise, figure(d.max_error)),
    }
}

fn worst(d: &Difference) -> String {
    match &d.worst {
        Some((index, e)) => format!(", the worst at {index:?}: {:e} became {:e}", e.original, e.restored),
        None => String::new(),
    }
}

fn missing(d: &Difference) -> String {
    if d.missing > 0 { format!("; {} missing values agree", d.missing) } else { String::new() }
}

/// The datasets by their names.
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
        !self.datasets.iter().any(|(_, v)| matches!(v, FieldVerdict::Differs(_) | FieldVerdict::Broken(_)))
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
        let mut each: Vec<Value> = self.datasets.iter().map(|(name, verdict)| dataset(name, verdict)).collect();
        for (name, figures) in &self.figures {
            let of = each.iter_mut().find(|of| of["name"] == name.as_str());
            of.into_iter().for_each(|of| {
                (of["quality"], of["missed"]) = (figures.to_json(), json!(self.limits.missed(figures)));
            });
        }
        json!({"kept": self.kept(), "met": self.met(), "datasets": each})
    }
}

fn dataset(name: &str, verdict: &FieldVerdict) -> Value {
    let mut of = json!({"name": name, "verdict": verdict.name().to_lowercase()});
    if let Some(d) = verdict.difference() {
        let worst = d.worst.as_ref().map(|(i, e)| json!({"index": i, "original": e.original, "restored": e.restored}));
        of["mode"] = json!(d.mode.name());
        of["promise"] = json!(d.promise);
        of["max_error"] = json!(d.max_error);
        of["error_over_bound"] = json!(d.mode.has_bound().then_some(d.of_bound));
        of["changed"] = json!(d.changed);
        of["violations"] = json!(d.violations);
        of["missing_values"] = json!(d.missing);
        of["missing_violations"] = json!(d.missing_violations);
        of["worst"] = json!(worst);
    }
    if let FieldVerdict::Broken(_) | FieldVerdict::Differs(_) = verdict {
        of["why"] = json!(verdict.words());
    }
    of
}
