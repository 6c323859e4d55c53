//! Drawn buffers as a picture or a film (SVG), for the README and for looking at screens without a
//! terminal.

use super::theme::Theme;
use super::{Role, color::Rgb};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 12.0;

/// The buffer as an SVG document. Colours that the terminal would decide come from the theme's
/// ground and text, and from the usual sixteen.
pub fn svg(buffer: &Buffer, theme: &Theme) -> String {
    let paper = Paper::of(theme);
    let mut out = paper.begin(buffer);
    let (mut grounds, mut texts) = (String::new(), String::new());
    for y in buffer.area.top()..buffer.area.bottom() {
        paper.row(buffer, y, &mut grounds, &mut texts);
    }
    out.push_str(&grounds);
    out.push_str(&texts);
    out.push_str("</svg>\n");
    out
}

/// Buffers of one size, each with the milliseconds it is shown, as an SVG document that plays them
/// again and again. A row that stays the same is in it once.
pub fn film(frames: &[(Buffer, u32)], theme: &Theme) -> String {
    let Some((first, _)) = frames.first() else {
        return String::new();
    };
    let paper = Paper::of(theme);
    let mut out = paper.begin(first);
    let total: u32 = frames.iter().map(|(_, ms)| ms).sum::<u32>().max(1);
    for y in first.area.top()..first.area.bottom() {
        let rows: Vec<String> = frames
            .iter()
            .map(|(buffer, _)| {
                let (mut grounds, mut texts) = (String::new(), String::new());
                paper.row(buffer, y, &mut grounds, &mut texts);
                grounds + &texts
            })
            .collect();
        let mut drawn: Vec<&str> = Vec::new();
        for row in &rows {
            if row.is_empty() || drawn.contains(&row.as_str()) {
                continue;
            }
            drawn.push(row);
            if rows.iter().all(|other| other == row) {
                out.push_str(row);
                continue;
            }
            let (mut times, mut values) = (Vec::new(), Vec::new());
            let (mut at, mut was) = (0, None);
            for (other, (_, ms)) in rows.iter().zip(frames) {
                let is_shown = other == row;
                if was != Some(is_shown) {
                    times.push(format!("{:.4}", f64::from(at) / f64::from(total)));
                    values.push(if is_shown { "visible" } else { "hidden" });
                    was = Some(is_shown);
                }
                at += ms;
            }
            let _ = writeln!(
                out,
                "<g visibility=\"hidden\"><animate attributeName=\"visibility\" \
                 dur=\"{:.2}s\" repeatCount=\"indefinite\" calcMode=\"discrete\" \
                 keyTimes=\"{}\" values=\"{}\"/>\n{row}</g>",
                f64::from(total) / 1_000.0,
                times.join(";"),
                values.join(";")
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// What a terminal would decide: ground and text.
struct Paper {
    ground: Rgb,
    text: Rgb,
}

impl Paper {
    fn of(theme: &Theme) -> Self {
        let or = |color: Option<Color>, dark: Rgb, light: Rgb| {
            let fallback = if theme.is_dark { dark } else { light };
            Rgb::of(color.unwrap_or(Color::Reset)).unwrap_or(fallback)
        };
        Self {
            ground: or(
                theme.style(Role::Background).bg,
                Rgb(20, 20, 20),
                Rgb(255, 255, 255),
            ),
            text: or(
                theme.style(Role::Text).fg,
                Rgb(220, 220, 220),
                Rgb(20, 20, 20),
            ),
        }
    }

    /// Grounds have sharp edges, so that no seam shows between rows when the picture is scaled.
    fn begin(&self, buffer: &Buffer) -> String {
        let width = f64::from(buffer.area.width) * CELL_WIDTH + MARGIN * 2.0;
        let height = f64::from(buffer.area.height) * CELL_HEIGHT + MARGIN * 2.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" \
             height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" shape-rendering=\"crispEdges\">\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" shape-rendering=\"auto\" fill=\"{}\"/>\n",
            hex(self.ground)
        )
    }

    /// One row: what lies behind, and the text.
    fn row(&self, buffer: &Buffer, y: u16, grounds: &mut String, texts: &mut String) {
        let area = buffer.area;
        let (ground, text) = (self.ground, self.text);
        let mut x = area.left();
        while x < area.right() {
            let look = Look::of(&buffer[(x, y)], ground, text);
            let start = x;
            let mut run = String::new();
            while x < area.right() && Look::of(&buffer[(x, y)], ground, text) == look {
                let symbol = buffer[(x, y)].symbol();
                run.push_str(symbol);
                x += u16::try_from(crate::text::width(symbol).max(1)).unwrap_or(1);
            }
            let left = MARGIN + f64::from(start - area.x) * CELL_WIDTH;
            let top = MARGIN + f64::from(y - area.y) * CELL_HEIGHT;
            let wide = f64::from(x.min(area.right()) - start) * CELL_WIDTH;
            if look.bg != ground {
                let _ = writeln!(
                    grounds,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" \
                     height=\"{CELL_HEIGHT:.1}\" fill=\"{}\"/>",
                    hex(look.bg)
                );
            }
            if run.trim().is_empty() && !look.modifier.contains(Modifier::UNDERLINED) {
                continue;
            }
            let _ = writeln!(
                texts,
                "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{wide:.1}\" fill=\"{}\"{} \
                 xml:space=\"preserve\">{}</text>",
                top + 13.5,
                hex(look.fg),
                look.attributes(),
                escape(&run)
            );
        }
    }
}

#[derive(PartialEq)]
struct Look {
    fg: Rgb,
    bg: Rgb,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell, ground: Rgb, text: Rgb) -> Look {
        let fg = Rgb::usual(cell.fg).unwrap_or(text);
        let bg = Rgb::usual(cell.bg).unwrap_or(ground);
        let is_reversed = cell.modifier.contains(Modifier::REVERSED);
        let (fg, bg) = if is_reversed { (bg, fg) } else { (fg, bg) };
        Look {
            fg,
            bg,
            modifier: cell.modifier - Modifier::REVERSED,
        }
    }

    fn attributes(&self) -> String {
        let mut out = String::new();
        if self.modifier.contains(Modifier::BOLD) {
            out.push_str(" font-weight=\"bold\"");
        }
        if self.modifier.contains(Modifier::ITALIC) {
            out.push_str(" font-style=\"italic\"");
        }
        if self.modifier.contains(Modifier::DIM) {
            out.push_str(" opacity=\"0.6\"");
        }
        let mut lines = Vec::new();
        if self.modifier.contains(Modifier::UNDERLINED) {
            lines.push("underline");
        }
        if self.modifier.contains(Modifier::CROSSED_OUT) {
            lines.push("line-through");
        }
        if !lines.is_empty() {
            let _ = write!(out, " text-decoration=\"{}\"", lines.join(" "));
        }
        out
    }
}

fn hex(color: Rgb) -> String {
    format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
