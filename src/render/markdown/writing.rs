//! What the parts of a block become: marks, prefixes, links, code and running text.

use super::{Container, OpenLink, Writer, link_addresses};
use crate::render::blocks::label;
use crate::render::code::{self, Code};
use crate::render::flow::Style;
use crate::render::links::{may_open, target_differs};
use crate::render::row::{Emphasis, Role, Row, Span};
use crate::text::clean_line;
use pulldown_cmark::{BlockQuoteKind, LinkType};
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn start_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.begin();
        let bar = self.glyph("▌ ", "> ");
        let (role, title) = match kind {
            None => (Role::QuoteMark, None),
            Some(BlockQuoteKind::Note) => (Role::AlertNote, Some("Note")),
            Some(BlockQuoteKind::Tip) => (Role::AlertTip, Some("Tip")),
            Some(BlockQuoteKind::Important) => (Role::AlertImportant, Some("Important")),
            Some(BlockQuoteKind::Warning) => (Role::AlertWarning, Some("Warning")),
            Some(BlockQuoteKind::Caution) => (Role::AlertCaution, Some("Caution")),
        };
        if self.has_room_for(2) {
            self.prefix.push(Span::new(bar, role));
        } else {
            self.prefix.push_hidden();
        }
        self.containers.push(Container::Other);
        self.quotes.push(self.out.rows.len());
        match title {
            None => self.roles.push(Role::Quote),
            Some(title) => {
                let style = Style {
                    emphasis: Emphasis::BOLD,
                    ..Style::of(role)
                };
                self.flow.push(title, &style);
                self.flush();
                self.roles.push(Role::Text);
            }
        }
    }

    pub(super) fn start_item(&mut self) {
        self.begin();
        let depth = self.lists.len();
        let mark = match self.lists.last_mut().and_then(|list| list.next.as_mut()) {
            Some(number) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            None => match (self.around.options.ascii, depth % 3) {
                (true, 1) => "- ",
                (true, 2) => "* ",
                (true, _) => "+ ",
                (false, 1) => "• ",
                (false, 2) => "◦ ",
                (false, _) => "▪ ",
            }
            .to_owned(),
        };
        self.indent(vec![Span::new(mark, Role::ListMark)]);
        self.containers.push(Container::Item);
    }

    /// Puts a mark before the next row and indents those below, as long as room is left; deeper
    /// ones only get their mark.
    pub(super) fn indent(&mut self, mark: Vec<Span>) {
        let width = mark.iter().map(Span::width).sum();
        if self.has_room_for(width) {
            self.prefix.push_mark(mark, width);
        } else {
            self.prefix.push_hidden();
            for span in mark {
                self.push_as(span.role, &span.text);
            }
        }
    }

    pub(super) fn has_room_for(&self, cells: usize) -> bool {
        self.prefix.has_room_for(cells, self.around.options.cells())
    }

    /// Ends a container with a mark; what holds nothing shows the mark alone.
    pub(super) fn end_marked(&mut self) {
        self.show_mark();
        self.prefix.pop();
        self.containers.pop();
    }

    pub(super) fn show_mark(&mut self) {
        if self.prefix.has_mark() {
            let spans = self.prefix.next();
            self.out.rows.push(Row::new(spans));
        }
    }

    pub(super) fn task(&mut self, is_done: bool) {
        let (mark, role) = if is_done {
            (self.glyph("☑ ", "[x] "), Role::TaskDone)
        } else {
            (self.glyph("☐ ", "[ ] "), Role::TaskOpen)
        };
        let is_numbered = self.lists.last().is_some_and(|list| list.next.is_some());
        let span = Span::new(mark, role);
        if is_numbered || !self.prefix.replace_mark(&span) {
            self.push_as(role, mark);
        }
    }

    pub(super) fn start_link(&mut self, target: String, role: Role) {
        let link = may_open(&target).then(|| Arc::from(target.as_str()));
        self.links.push(OpenLink {
            link,
            target,
            start: self.flow.text().len(),
        });
        self.roles.push(role);
    }

    pub(super) fn end_link(&mut self) {
        self.roles.pop();
        let Some(link) = self.links.pop() else {
            return;
        };
        let shown = self.flow.text().get(link.start..).unwrap_or_default();
        if !link.target.is_empty() && target_differs(shown, &link.target) {
            let separator = if shown.is_empty() { "" } else { " " };
            let text = format!("{separator}({})", link.target);
            let style = Style {
                role: Role::LinkTarget,
                emphasis: Emphasis::NONE,
                link: link.link,
            };
            self.flow.push(&text, &style);
        }
    }

    /// The target of a link: of labels defined twice the first definition counts, which may stand
    /// in another block.
    pub(super) fn target(&self, link_type: LinkType, target: &str, id: &str) -> String {
        let by_label = match link_type {
            LinkType::Reference
            | LinkType::Collapsed
            | LinkType::Shortcut
            | LinkType::ReferenceUnknown
            | LinkType::CollapsedUnknown
            | LinkType::ShortcutUnknown => self.around.definitions.get(&label(id)),
            LinkType::Inline | LinkType::Autolink | LinkType::Email | LinkType::WikiLink { .. } => {
                None
            }
        };
        let target = by_label.map_or(target, String::as_str);
        let target = clean_line(target);
        if link_type == LinkType::Email && !target.starts_with("mailto:") {
            return format!("mailto:{target}");
        }
        target.into_owned()
    }

    pub(super) fn end_code(&mut self) {
        let Some(open) = self.code.take() else {
            return;
        };
        let code = Code {
            language: &open.language,
            text: &clean_code(&open.text),
            is_closed: open.is_closed,
        };
        let (block, want) = code::rows(
            &code,
            self.around.colours,
            &mut self.prefix,
            self.around.options,
            &mut self.out.rows,
        );
        self.out.code.push(block);
        self.out.wants.extend(want);
        self.after_block();
    }

    /// Begins a block: what ran before is written, and the blank row that is due.
    pub(super) fn begin(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) {
            self.out.rows.push(self.prefix.blank());
        }
    }

    pub(super) fn after_block(&mut self) {
        self.gap = match self.containers.last() {
            Some(Container::Item) => self.lists.last().is_none_or(|list| list.is_loose),
            Some(Container::Other) | None => true,
        };
    }

    /// Writes the text that runs.
    pub(super) fn flush(&mut self) {
        if self.flow.is_empty() {
            return;
        }
        let mut flow = std::mem::take(&mut self.flow);
        link_addresses(&mut flow);
        flow.rows(
            &mut self.prefix,
            self.around.options.cells(),
            &mut self.out.rows,
        );
    }

    pub(super) fn inner(&self) -> usize {
        let cells = self.around.options.cells();
        cells.saturating_sub(self.prefix.width()).max(1)
    }

    pub(super) fn glyph(&self, usual: &'static str, ascii: &'static str) -> &'static str {
        if self.around.options.ascii {
            ascii
        } else {
            usual
        }
    }

    pub(super) fn style(&self, role: Option<Role>) -> Style {
        let base = self.roles.last().copied().unwrap_or(Role::Text);
        Style {
            role: role.unwrap_or(base),
            emphasis: self
                .emphases
                .iter()
                .fold(Emphasis::NONE, |all, one| all.with(*one)),
            link: self.links.last().and_then(|open| open.link.clone()),
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        let style = self.style(None);
        self.flow.push(&clean_line(text), &style);
    }

    pub(super) fn push_as(&mut self, role: Role, text: &str) {
        let style = self.style(Some(role));
        if text == "\n" {
            self.flow.push(text, &style);
        } else {
            self.flow.push(&clean_line(text), &style);
        }
    }

    /// Text of several lines; the line feed at its end is none of them.
    pub(super) fn push_lines(&mut self, role: Role, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.push_as(role, "\n");
            }
            self.push_as(role, line);
        }
    }
}

fn clean_code(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean_line).collect();
    lines.join("\n")
}
