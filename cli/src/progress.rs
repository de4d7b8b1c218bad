//! What a person sees while work goes on, and the line at its end. All of it on standard error.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears once work has taken a second, on a terminal only.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    waiting: bool,
}

impl Progress {
    /// `total` in bytes, if it is known.
    pub fn new(label: &str, total: Option<u64>, quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match total {
            Some(_) => {
                "{msg} [{wide_bar:.cyan}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left"
            }
            None => "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(label.to_owned());
        Progress { bar, start: Instant::now(), waiting: !quiet && std::io::stderr().is_terminal() }
    }

    pub fn add(&mut self, bytes: u64) {
        if self.waiting && self.start.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.waiting = false;
        }
        self.bar.inc(bytes);
    }

    /// Removes the bar; returns the time since the start.
    pub fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.start.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Which side of a command is the array, by which ratio and speed are measured.
#[derive(PartialEq)]
pub enum Array {
    In,
    Out,
}

/// The line at the end: what went in, what came out, how fast.
pub fn summary(array: Array, from: &str, to: &str, bytes_in: u64, bytes_out: u64, time: Duration) -> String {
    let (raw, packed) = if array == Array::In { (bytes_in, bytes_out) } else { (bytes_out, bytes_in) };
    let seconds = time.as_secs_f64();
    format!(
        "{from} -> {to}: {} -> {}, ratio {}, {seconds:.2} s, {:.2} GB/s",
        bytes(bytes_in),
        bytes(bytes_out),
        ratio(raw, packed),
        raw as f64 / seconds.max(1e-9) / 1e9
    )
}

/// `raw / packed` for reading.
pub fn ratio(raw: u64, packed: u64) -> String {
    match raw as f64 / packed.max(1) as f64 {
        r if r < 100.0 => format!("{r:.2}"),
        r => format!("{r:.0}"),
    }
}

/// A size for reading.
pub fn bytes(n: u64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let power = (n.checked_ilog10().unwrap_or(0) / 3) as usize;
    match power {
        0 => format!("{n} bytes"),
        _ => format!("{:.*} {}", 2, n as f64 / 1000f64.powi(power as i32), units[power]),
    }
}

/// Names in a row: ten at most, and how many more there are.
pub fn some_of(names: impl IntoIterator<Item = String>) -> String {
    const NAMED: usize = 10;
    let mut names = names.into_iter();
    let shown = names.by_ref().take(NAMED).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => shown,
        more => format!("{shown}, … and {more} more"),
    }
}

/// A number in full, with an exponent where there would be many zeros.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-4..1e6).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

/// A number for reading: no more digits than anyone reads.
pub fn short(x: f64) -> String {
    // The largest numbers have no such neighbour.
    number(format!("{x:.4e}").parse().ok().filter(|short: &f64| short.is_finite()).unwrap_or(x))
}

/// An SSIM for reading: with as many nines as there are, and two digits behind them.
pub fn similarity(ssim: f64) -> String {
    let digits = (2.0 - (1.0 - ssim).max(1e-13).log10()).clamp(2.0, 15.0) as usize;
    format!("{ssim:.digits$}")
}

/// A measured number for reading: no more digits than anyone reads.
pub fn figure(x: f64) -> String {
    if x == 0.0 { "0".into() } else { format!("{x:.4e}") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_number_is_infinite_for_being_short() {
        assert_eq!([f64::MAX, 0.123456].map(super::short), ["1.7976931348623157e308", "0.12346"]);
    }
}
