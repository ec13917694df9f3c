//! The size rules and their ratchet: what is too large today is listed and may only shrink.
//!
//! Why a list and not a looser limit: a limit that fits the worst file invites the next one.

use super::rules::{COLUMNS, FILE_LINES, FUNCTION_LINES, functions};
use super::source::Source;
use std::collections::BTreeMap;
use std::fmt;

/// A section of the list: what is counted, its limit, and whose fault an excess is.
struct Section {
    name: &'static str,
    limit: usize,
    measure: fn(&Source) -> Vec<(String, usize)>,
}

const SECTIONS: &[Section] = &[
    Section { name: "file_lines", limit: FILE_LINES, measure: file_lines },
    Section { name: "function_lines", limit: FUNCTION_LINES, measure: function_lines },
    Section { name: "wide_lines", limit: 0, measure: wide_lines },
];

/// Sizes over their limits, by section and place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratchet(BTreeMap<String, BTreeMap<String, usize>>);

impl Ratchet {
    /// What the tree holds today, over the limits only.
    pub fn measure(sources: &[Source]) -> Ratchet {
        let mut all = Ratchet::default();
        for section in SECTIONS {
            let rows = all.0.entry(section.name.to_owned()).or_default();
            for source in sources {
                let over = (section.measure)(source).into_iter().filter(|r| r.1 > section.limit);
                rows.extend(over);
            }
        }
        all
    }

    /// Reads the list: `[section]` and `"place" = number`, nothing else.
    pub fn parse(text: &str) -> Result<Ratchet, String> {
        let mut all = Ratchet::default();
        let mut section = None;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                if !SECTIONS.iter().any(|s| s.name == name) {
                    return Err(format!("unknown section {name:?}"));
                }
                section = Some(all.0.entry(name.to_owned()).or_default());
                continue;
            }
            let row = line.split_once(" = ").and_then(|(place, number)| {
                let place = place.strip_prefix('"')?.strip_suffix('"')?;
                Some((place.to_owned(), number.parse().ok()?))
            });
            let (place, number) = row.ok_or(format!("expected \"place\" = number: {line:?}"))?;
            let rows = section.as_mut().ok_or(format!("before any section: {line:?}"))?;
            rows.insert(place, number);
        }
        Ok(all)
    }

    /// Everything that grew, is new over its limit, or is listed larger than it is.
    pub fn violations(&self, measured: &Ratchet) -> Vec<String> {
        let mut found = Vec::new();
        for section in SECTIONS {
            let (name, limit) = (section.name, section.limit);
            for (place, now) in measured.rows(name) {
                let allowed = self.rows(name).get(place).copied().unwrap_or(limit);
                if *now > allowed {
                    found.push(format!("{place}: {name} = {now}, expected at most {allowed}"));
                }
            }
            for (place, listed) in self.rows(name) {
                let now = measured.rows(name).get(place).copied().unwrap_or(0);
                if now < *listed {
                    found.push(format!(
                        "{place}: {name} shrank from {listed} to {now}; keep it: TENURE_BLESS=1 \
                         cargo test --test tidy"
                    ));
                }
            }
        }
        found
    }

    /// The list with every number brought down to today's. Never adds, never raises.
    pub fn lowered(&self, measured: &Ratchet) -> Ratchet {
        let mut next = Ratchet::default();
        for (name, rows) in &self.0 {
            let kept = next.0.entry(name.clone()).or_default();
            for (place, listed) in rows {
                if let Some(now) = measured.rows(name).get(place) {
                    kept.insert(place.clone(), *now.min(listed));
                }
            }
        }
        next
    }

    fn rows(&self, section: &str) -> &BTreeMap<String, usize> {
        static NONE: BTreeMap<String, usize> = BTreeMap::new();
        self.0.get(section).unwrap_or(&NONE)
    }
}

impl fmt::Display for Ratchet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# What is larger than the house rules allow, with its present size.")?;
        writeln!(f, "# Numbers only shrink: TENURE_BLESS=1 cargo test --test tidy lowers them.")?;
        for section in SECTIONS {
            writeln!(f, "\n[{}]", section.name)?;
            for (place, number) in self.rows(section.name) {
                writeln!(f, "\"{place}\" = {number}")?;
            }
        }
        Ok(())
    }
}

fn file_lines(source: &Source) -> Vec<(String, usize)> {
    if !source.is_rust() || source.is_test() {
        return Vec::new();
    }
    vec![(source.path.clone(), source.text.lines().count())]
}

fn function_lines(source: &Source) -> Vec<(String, usize)> {
    if !source.is_rust() || source.is_test() {
        return Vec::new();
    }
    let rows = functions(source).into_iter();
    rows.map(|(name, lines)| (format!("{}::{name}", source.path), lines)).collect()
}

/// Lines wider than the page; a link cannot be broken and is let through.
fn wide_lines(source: &Source) -> Vec<(String, usize)> {
    let prose = source.path.ends_with(".md");
    let looked_at = ["rs", "c", "h", "hpp", "cpp", "md"];
    if !looked_at.iter().any(|e| source.path.ends_with(&format!(".{e}"))) {
        return Vec::new();
    }
    let wide = |line: &&str| {
        let unbreakable = line.contains("://") || prose && line.trim_start().starts_with('|');
        line.chars().count() > COLUMNS && !unbreakable
    };
    vec![(source.path.clone(), source.text.lines().filter(wide).count())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Ratchet {
        Ratchet::parse(text).expect("a good list")
    }

    #[test]
    fn a_long_file_a_long_function_and_a_wide_line_are_found() {
        let body = "    work();\n".repeat(FUNCTION_LINES);
        let long = format!("{}fn f() {{\n{body}}}\n", "// line\n".repeat(FILE_LINES));
        let wide = format!("// {}\n", "x".repeat(COLUMNS));
        let tree = [Source::new("src/a.rs", &long), Source::new("src/b.rs", &wide)];
        let found = Ratchet::default().violations(&Ratchet::measure(&tree));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_listed_size_may_stay_but_not_grow() {
        let list = listed("[wide_lines]\n\"src/a.rs\" = 2\n");
        assert!(list.violations(&listed("[wide_lines]\n\"src/a.rs\" = 2\n")).is_empty());
        assert_eq!(list.violations(&listed("[wide_lines]\n\"src/a.rs\" = 3\n")).len(), 1);
    }

    #[test]
    fn a_size_that_shrank_must_be_written_down() {
        let list = listed("[file_lines]\n\"src/a.rs\" = 900\n");
        assert_eq!(list.violations(&listed("[file_lines]\n\"src/a.rs\" = 800\n")).len(), 1);
    }

    #[test]
    fn blessing_lowers_and_never_raises_or_adds() {
        let list = listed("[file_lines]\n\"src/a.rs\" = 900\n\"src/b.rs\" = 700\n");
        let now = listed("[file_lines]\n\"src/a.rs\" = 950\n\"src/c.rs\" = 800\n");
        assert_eq!(list.lowered(&now), listed("[file_lines]\n\"src/a.rs\" = 900\n"));
    }

    #[test]
    fn the_list_survives_a_round_trip() {
        let list = listed("[file_lines]\n\"src/a.rs\" = 900\n[function_lines]\n[wide_lines]\n");
        assert_eq!(listed(&list.to_string()), list);
        assert!(Ratchet::parse("\"src/a.rs\" = 1").is_err());
        assert!(Ratchet::parse("[lines]").is_err());
    }
}
