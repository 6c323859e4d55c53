//! Dates as people type them, for jumping to one.

const DAY: i64 = 86_400_000;

/// The local wall milliseconds of a date; `now` is local too. Without a year the latest such day
/// that is not in the future is meant.
pub fn parse(text: &str, now: i64) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let today = now.div_euclid(DAY);
    let (date, time) = match text.split_once([' ', 't']) {
        Some((date, time)) if date.contains(['-', '.', '/']) => (date.to_owned(), Some(time)),
        _ => (text.clone(), None),
    };
    let day = match date.as_str() {
        "today" => today,
        "yesterday" => today - 1,
        "" => return None,
        other => ago(other, today)
            .or_else(|| weekday(other, today))
            .or_else(|| calendar(other, today))?,
    };
    let minutes = match time {
        Some(time) => clock(time.trim())?,
        None => 0,
    };
    Some(day * DAY + minutes * 60_000)
}

/// "3 days", "2w", "1 month".
fn ago(text: &str, today: i64) -> Option<i64> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let count: i64 = text[..digits].parse().ok().filter(|n| *n < 100_000)?;
    let unit = text[digits..].trim().trim_end_matches("ago").trim();
    let days = match unit {
        "d" | "day" | "days" => 1,
        "w" | "week" | "weeks" => 7,
        "m" | "month" | "months" => 30,
        "y" | "year" | "years" => 365,
        _ => return None,
    };
    Some(today - count * days)
}

fn weekday(text: &str, today: i64) -> Option<i64> {
    let names = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];
    let at = names
        .iter()
        .position(|name| text.len() >= 3 && text.starts_with(name))?;
    let wanted = i64::try_from(at).ok()?;
    // The first day of the epoch was a Thursday.
    let back = (today - wanted).rem_euclid(7);
    Some(today - if back == 0 { 7 } else { back })
}

/// "2026-08-31", "08-31", "31.8.2026", "31.8.".
fn calendar(text: &str, today: i64) -> Option<i64> {
    let parts = |mark: char| -> Option<Vec<i64>> {
        text.trim_end_matches(mark)
            .split(mark)
            .map(|part| part.parse().ok())
            .collect()
    };
    let (year, month, day) = if text.contains('.') {
        match parts('.')?[..] {
            [day, month, year] => (Some(year), month, day),
            [day, month] => (None, month, day),
            _ => return None,
        }
    } else {
        let mark = if text.contains('/') { '/' } else { '-' };
        match parts(mark)?[..] {
            [year, month, day] => (Some(year), month, day),
            [month, day] => (None, month, day),
            _ => return None,
        }
    };
    let valid = |year: i64| {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        ((1970..=9999).contains(&year) && (1..=length).contains(&day))
            .then(|| days(year, month, day))
    };
    match year {
        Some(year) => valid(if year < 100 { year + 2000 } else { year }),
        None => {
            let this = 1970 + today / 366;
            (this - 1..=this + 2)
                .rev()
                .filter_map(valid)
                .find(|day| *day <= today)
        }
    }
}

/// "14:02" in minutes.
fn clock(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':').unwrap_or((text, "0"));
    let hours: i64 = hours.parse().ok().filter(|h| (0..24).contains(h))?;
    let minutes: i64 = minutes.parse().ok().filter(|m| (0..60).contains(m))?;
    Some(hours * 60 + minutes)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_people_type_them() {
        // 2026-08-31 is a Monday.
        let monday = days(2026, 8, 31);
        let now = monday * DAY + 15 * 3_600_000;
        for (text, day) in [
            ("2026-08-31", monday),
            ("today", monday),
            ("yesterday", monday - 1),
            ("3 days", monday - 3),
            ("2w ago", monday - 14),
            ("31.8.", monday),
            ("1.9.", days(2025, 9, 1)),
            ("08-30", monday - 1),
            ("mon", monday - 7),
            ("friday", monday - 3),
            ("29.2.2024", days(2024, 2, 29)),
        ] {
            assert_eq!(parse(text, now), Some(day * DAY), "{text}");
        }
        assert_eq!(
            parse("2026-08-31 14:02", now),
            Some(monday * DAY + 842 * 60_000)
        );
        for text in ["", "soon", "2026-13-01", "29.2.2025", "2026-08-31 25:00"] {
            assert_eq!(parse(text, now), None, "{text}");
        }
    }

    #[test]
    fn the_calendar_counts_from_1970() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 3, 1), 11_017);
    }
}
