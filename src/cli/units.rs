//! Durations and byte counts as people write and read them.

use std::time::Duration;

/// Reads `5s`, `500ms`, `2m`, `1h`, `0`; a bare number other than zero is refused: nobody should
/// guess its unit.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?}: expected a number with a unit: 500ms, 5s, 2m or 1h");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1_000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3_600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Reads `4096`, `64KiB`, `64MiB`, `1GiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?}: expected bytes: 4096, 64KiB, 64MiB or 1GiB");
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let shift = match unit {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// `0.21 s`, `4.2 s`, `3 min`, `2.5 h`: as much as a person compares.
pub fn duration(d: Duration) -> String {
    let s = d.as_secs_f64();
    match d.as_secs() {
        0 => format!("{} ms", d.as_millis()),
        1..=119 => format!("{s:.1} s"),
        120..=7_199 => format!("{:.0} min", s / 60.0),
        7_200..=172_799 => format!("{:.1} h", s / 3_600.0),
        _ => format!("{:.0} d", s / 86_400.0),
    }
}

/// `512 B`, `64.0 KiB`, `21.4 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1_024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1_024.0;
    let mut unit = 0;
    while value >= 1_024.0 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `12,345,678`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Whole milliseconds, for JSON.
pub fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert!(parse_duration("5").is_err());
        assert!(parse_duration("5 weeks").is_err());
    }

    #[test]
    fn bytes_are_binary_and_never_overflow() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("17"), Ok(17));
        assert!(parse_bytes("64MB").is_err());
        assert!(parse_bytes("99999999999999GiB").is_err());
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(grouped(100), "100");
        assert_eq!(bytes(65_536), "64.0 KiB");
        assert_eq!(duration(Duration::from_millis(210)), "210 ms");
        assert_eq!(duration(Duration::from_millis(4_200)), "4.2 s");
    }
}
