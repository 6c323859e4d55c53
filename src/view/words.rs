//! Times, lengths of time, sizes and counts in words.

use crate::domain::Moment;
use crate::text::SafeText;
pub(crate) use crate::text::size_words as size;

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A day by the calendar, counted from 1970-01-01.
pub(crate) fn day(wall_ms: i64, offset_minutes: i32) -> i64 {
    (wall_ms + i64::from(offset_minutes) * 60_000).div_euclid(86_400_000)
}

/// Hours and minutes.
pub(crate) fn clock(wall_ms: i64, offset_minutes: i32) -> String {
    let ms = (wall_ms + i64::from(offset_minutes) * 60_000).rem_euclid(86_400_000);
    format!("{:02}:{:02}", ms / 3_600_000, ms / 60_000 % 60)
}

/// Year, month and day of a day, by the rules of the Gregorian calendar (Howard Hinnant's
/// `civil_from_days`).
fn civil(day: i64) -> (i64, i64, i64) {
    let z = day + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}

/// How a day is called today.
pub(crate) fn day_name(day: i64, today: i64) -> String {
    let (year, month, date) = civil(day);
    let weekday = WEEKDAYS[usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)];
    let month = MONTHS[usize::try_from(month - 1).unwrap_or(0).min(11)];
    match today - day {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        2..=6 => weekday.to_owned(),
        _ if civil(today).0 == year => format!("{weekday} {date} {month}"),
        _ => format!("{date} {month} {year}"),
    }
}

/// A time of this day as the hour, one of another day as the date.
pub(crate) fn when(wall_ms: i64, now: Moment, offset_minutes: i32) -> String {
    let (that, today) = (
        day(wall_ms, offset_minutes),
        day(now.wall_ms, offset_minutes),
    );
    if that == today {
        return clock(wall_ms, offset_minutes);
    }
    let (year, month, date) = civil(that);
    if civil(today).0 == year {
        let month = MONTHS[usize::try_from(month - 1).unwrap_or(0).min(11)];
        format!("{date} {}", &month[..3])
    } else {
        format!("{year}-{month:02}-{date:02}")
    }
}

/// A length of time.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    if ms < 1000 {
        return format!("{ms} ms");
    }
    if ms < 10_000 {
        return format!("{}.{} s", seconds, ms % 1000 / 100);
    }
    if seconds < 60 {
        return format!("{seconds} s");
    }
    if seconds < 3600 {
        return format!("{} min {:02} s", seconds / 60, seconds % 60);
    }
    format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60)
}

/// A running clock.
pub(crate) fn stopwatch(ms: u64) -> String {
    let seconds = ms / 1000;
    if seconds < 3600 {
        return format!("{:02}:{:02}", seconds / 60, seconds % 60);
    }
    format!(
        "{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// How long something has waited, to the unit that matters.
pub(crate) fn age(ms: u64) -> String {
    match ms / 1000 {
        s @ 0..=59 => format!("{s} s"),
        s @ 60..=3599 => format!("{} min", s / 60),
        s @ 3600..=86_399 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// A number of tokens and the like.
pub(crate) fn count(n: u64) -> String {
    match n {
        0..=999 => n.to_string(),
        1000..=9999 => format!("{}.{}k", n / 1000, n % 1000 / 100),
        10_000..=999_999 => format!("{}k", n / 1000),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// Money in millionths of a US dollar.
pub(crate) fn cost(micro_usd: u64) -> String {
    if micro_usd >= 1_000_000 {
        format!(
            "${}.{:02}",
            micro_usd / 1_000_000,
            micro_usd % 1_000_000 / 10_000
        )
    } else {
        format!("$0.{:03}", micro_usd.div_ceil(1000))
    }
}

/// "1 file", "2 files".
pub fn plural(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

/// The first line of a message as plain words, without the marks of Markdown.
pub(crate) fn gist(text: &SafeText) -> String {
    first_line(text).replace("**", "").replace('`', "")
}

/// The first line of a text, without leading marks of Markdown.
pub(crate) fn first_line(text: &SafeText) -> &str {
    text.as_str()
        .lines()
        .map(|line| line.trim_start_matches(['#', '>', '-', '*', ' ']).trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_by_how_far_they_are() {
        // 2026-11-30 is a Monday.
        let today = day(1_796_000_400_000, 0);
        assert_eq!(civil(today), (2026, 11, 30));
        assert_eq!(day_name(today, today), "Today");
        assert_eq!(day_name(today - 1, today), "Yesterday");
        assert_eq!(day_name(today - 3, today), "Friday");
        assert_eq!(day_name(today - 20, today), "Tuesday 10 November");
        assert_eq!(day_name(today - 400, today), "26 October 2025");
    }

    #[test]
    fn the_clock_follows_the_zone() {
        assert_eq!(clock(0, 0), "00:00");
        assert_eq!(clock(0, 90), "01:30");
        assert_eq!(clock(0, -60), "23:00");
    }

    #[test]
    fn lengths_sizes_and_money_are_short() {
        assert_eq!(duration(400), "400 ms");
        assert_eq!(duration(6_200), "6.2 s");
        assert_eq!(duration(123_000), "2 min 03 s");
        assert_eq!(size(1_234_567), "1.2 MB");
        assert_eq!(cost(12_000), "$0.012");
        assert_eq!(cost(3_450_000), "$3.45");
        assert_eq!(count(12_345), "12k");
    }
}
