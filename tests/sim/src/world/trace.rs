//! What happened, in words, when somebody wants to read it.

/// Lines, or nothing at all.
pub struct Trace(Option<Vec<String>>);

impl Trace {
    /// A trace that keeps its lines only if `wanted`.
    pub fn new(wanted: bool) -> Self {
        Self(wanted.then(Vec::new))
    }

    /// Writes a line; `line` is not even called when nobody wants it.
    pub fn note(&mut self, now: u64, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(format!("{:>12.3} ms  {}", now as f64 / 1_000.0, line()));
        }
    }

    /// All lines.
    pub fn into_lines(self) -> Vec<String> {
        self.0.unwrap_or_default()
    }
}
