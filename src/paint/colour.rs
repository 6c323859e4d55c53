//! Colours as the terminal can show them.

use ratatui::style::Color;

/// How many colours a terminal has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Depth {
    /// Red, green and blue, 256 of each.
    #[default]
    True,
    /// The palette of 256.
    Palette,
    /// The sixteen that the terminal's own theme sets.
    Sixteen,
    /// None; weight, underline and reversal are left.
    Mono,
}

/// A colour ready to be sent: kind in the highest byte, values below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Colour(u32);

const INDEXED: u32 = 1 << 24;
const RGB: u32 = 2 << 24;

impl Colour {
    pub const DEFAULT: Self = Self(0);

    const fn indexed(index: u8) -> Self {
        Self(INDEXED | index as u32)
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Adds the parameters that set it, as foreground with base 30, as background with base 40.
    pub fn push(self, base: u32, parameters: &mut Vec<u32>) {
        let byte = |shift: u32| (self.0 >> shift) & 0xff;
        match self.0 & 0xff00_0000 {
            INDEXED if byte(0) < 8 => parameters.push(base + byte(0)),
            INDEXED if byte(0) < 16 => parameters.push(base + 60 + byte(0) - 8),
            INDEXED => parameters.extend([base + 8, 5, byte(0)]),
            RGB => parameters.extend([base + 8, 2, byte(16), byte(8), byte(0)]),
            _ => parameters.push(base + 9),
        }
    }
}

impl Depth {
    /// The colour as this terminal shows it.
    pub(super) fn of(self, color: Color) -> Colour {
        if self == Self::Mono {
            return Colour::DEFAULT;
        }
        match (color, index_of(color)) {
            (Color::Rgb(r, g, b), _) => self.nearest(r, g, b),
            (_, Some(index)) if index < 16 || self != Self::Sixteen => Colour::indexed(index),
            (_, Some(index)) => {
                let (r, g, b) = palette(index);
                self.nearest(r, g, b)
            }
            (_, None) => Colour::DEFAULT,
        }
    }

    fn nearest(self, r: u8, g: u8, b: u8) -> Colour {
        match self {
            Self::True => Colour(RGB | u32::from(r) << 16 | u32::from(g) << 8 | u32::from(b)),
            Self::Palette => {
                let level = |v: u8| match v {
                    0..48 => 0,
                    48..115 => 1,
                    _ => (v - 35) / 40,
                };
                let cube = 16 + 36 * level(r) + 6 * level(g) + level(b);
                let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
                // The ramp runs from 8 to 238 in steps of ten.
                let step = mean.saturating_sub(3) / 10;
                let grey = 232 + u8::try_from(step.min(23)).unwrap_or(23);
                let is_nearer =
                    distance(palette(grey), (r, g, b)) < distance(palette(cube), (r, g, b));
                Colour::indexed(if is_nearer { grey } else { cube })
            }
            Self::Sixteen => {
                let best = (0..16u8).min_by_key(|i| distance(palette(*i), (r, g, b)));
                Colour::indexed(best.unwrap_or(7))
            }
            Self::Mono => Colour::DEFAULT,
        }
    }
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    // The eye weighs green most and blue least.
    let part = |x: u8, y: u8, weight: u32| weight * u32::from(x.abs_diff(y)).pow(2);
    part(a.0, b.0, 3) + part(a.1, b.1, 6) + part(a.2, b.2, 1)
}

/// The place of a colour in the palette; none where the terminal or three numbers decide.
pub fn index_of(color: Color) -> Option<u8> {
    Some(match color {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Indexed(index) => index,
        Color::Reset | Color::Rgb(..) => return None,
    })
}

/// Red, green and blue of the palette as xterm has them.
pub fn palette(index: u8) -> (u8, u8, u8) {
    const SIXTEEN: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ];
    match index {
        0..16 => SIXTEEN[usize::from(index)],
        16..232 => {
            let level = |v: u8| if v == 0 { 0 } else { 55 + 40 * v };
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232.. => {
            let v = 8 + 10 * (index - 232);
            (v, v, v)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_finds_its_neighbour_in_a_smaller_set() {
        assert_eq!(
            Depth::Palette.of(Color::Rgb(255, 0, 0)),
            Colour::indexed(196)
        );
        assert_eq!(
            Depth::Palette.of(Color::Rgb(128, 128, 128)),
            Colour::indexed(244)
        );
        assert_eq!(
            Depth::Sixteen.of(Color::Rgb(250, 10, 10)),
            Colour::indexed(9)
        );
        assert_eq!(Depth::Sixteen.of(Color::Indexed(231)), Colour::indexed(15));
        assert_eq!(Depth::Mono.of(Color::Red), Colour::DEFAULT);
        for index in 16..=255 {
            let (r, g, b) = palette(index);
            let near = Depth::Palette.of(Color::Rgb(r, g, b));
            assert_eq!(palette((near.bits() & 0xff) as u8), (r, g, b), "{index}");
        }
    }
}
