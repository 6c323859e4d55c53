//! Colours as numbers: contrast by WCAG 2.1, the 256 of xterm, and finding a legible shade.

use crate::paint;
use ratatui::style::Color;

/// Red, green, blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Reads `#rrggbb` or `#rgb`.
    pub(crate) fn read(text: &str) -> Option<Rgb> {
        let hex = text.strip_prefix('#')?;
        let value = u32::from_str_radix(hex, 16).ok()?;
        let byte = |shift: u32| (value >> shift & 0xff) as u8;
        let nibble = |shift: u32| (value >> shift & 0xf) as u8 * 17;
        match hex.len() {
            6 => Some(Rgb(byte(16), byte(8), byte(0))),
            3 => Some(Rgb(nibble(8), nibble(4), nibble(0))),
            _ => None,
        }
    }

    /// The numbers behind a colour; none where the terminal decides.
    pub(crate) fn of(color: Color) -> Option<Rgb> {
        match color {
            Color::Rgb(r, g, b) => Some(Rgb(r, g, b)),
            Color::Indexed(index) if index >= 16 => Some(Self::of_index(index)),
            _ => None,
        }
    }

    /// The same, with the usual sixteen where the terminal decides among them.
    pub(crate) fn usual(color: Color) -> Option<Rgb> {
        Rgb::of(color).or_else(|| paint::index_of(color).map(Self::of_index))
    }

    fn of_index(index: u8) -> Rgb {
        let (r, g, b) = paint::palette(index);
        Rgb(r, g, b)
    }

    pub(crate) fn color(self) -> Color {
        Color::Rgb(self.0, self.1, self.2)
    }

    fn luminance(self) -> f64 {
        let channel = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(self.0) + 0.7152 * channel(self.1) + 0.0722 * channel(self.2)
    }

    fn toward(self, goal: Rgb, share: f64) -> Rgb {
        let mix = |a: u8, b: u8| {
            (f64::from(a) + (f64::from(b) - f64::from(a)) * share)
                .round()
                .clamp(0.0, 255.0) as u8
        };
        Rgb(
            mix(self.0, goal.0),
            mix(self.1, goal.1),
            mix(self.2, goal.2),
        )
    }
}

/// Contrast of two colours, 1 to 21.
pub(crate) fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (a.luminance(), b.luminance());
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The colour nearest to `wish` that has at least this contrast on all grounds, as `show` renders
/// it; white or black when no shade between has it.
pub(crate) fn legible(
    wish: Rgb,
    grounds: &[Rgb],
    least: f64,
    show: impl Fn(Rgb) -> Color,
) -> Color {
    let worst = |color: Color| {
        let Some(rgb) = Rgb::of(color) else {
            return f64::MAX;
        };
        grounds
            .iter()
            .map(|ground| contrast(rgb, *ground))
            .fold(f64::MAX, f64::min)
    };
    let (white, black) = (Rgb(255, 255, 255), Rgb(0, 0, 0));
    let goal = if worst(show(white)) >= worst(show(black)) {
        white
    } else {
        black
    };
    for step in 0..=20 {
        let color = show(wish.toward(goal, f64::from(step) / 20.0));
        if worst(color) >= least {
            return color;
        }
    }
    show(goal)
}

/// The nearest of xterm's 256 colours above the sixteen that the terminal decides.
pub(crate) fn nearest_index(rgb: Rgb) -> u8 {
    let distance = |other: Rgb| {
        let part = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        part(rgb.0, other.0) * 3 + part(rgb.1, other.1) * 6 + part(rgb.2, other.2)
    };
    (16..=255u8)
        .min_by_key(|index| distance(Rgb::of_index(*index)))
        .unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_of_black_on_white_is_21() {
        let contrast = contrast(Rgb(0, 0, 0), Rgb(255, 255, 255));
        assert!((contrast - 21.0).abs() < 0.001);
    }

    #[test]
    fn a_faint_grey_becomes_legible_and_a_clear_one_stays() {
        let ground = Rgb(20, 20, 20);
        let moved = legible(Rgb(60, 60, 60), &[ground], 4.5, Rgb::color);
        assert!(Rgb::of(moved).is_some_and(|rgb| super::contrast(rgb, ground) >= 4.5));
        let clear = Rgb(200, 210, 220);
        assert_eq!(legible(clear, &[ground], 4.5, Rgb::color), clear.color());
    }

    #[test]
    fn the_cube_and_the_ramp_are_found() {
        assert_eq!(nearest_index(Rgb(255, 0, 0)), 196);
        assert_eq!(nearest_index(Rgb(128, 128, 128)), 244);
    }
}
