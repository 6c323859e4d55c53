//! Markdown to HTML for a file that a browser opens. Nothing of the source becomes markup of its
//! own: HTML in it is shown as text, a link leads only where [`may_open`] allows, and a picture is
//! a link, so that opening the file fetches nothing.

use super::blocks::syntax;
use super::links::may_open;
use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};
use std::fmt::Write;

/// The HTML of a Markdown text that is already clean.
pub fn html(source: &str) -> String {
    let mut writer = Writer::default();
    for event in Parser::new_ext(source, syntax()) {
        writer.event(event);
    }
    writer.out
}

/// Text as it stands between tags and in attributes.
pub fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[derive(Default)]
struct Writer {
    out: String,
    alignments: Vec<Alignment>,
    cell: usize,
    is_head: bool,
    /// For each open link or picture whether it was written as a link.
    links: Vec<bool>,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            // Entities of Markdown can bring back what cleaning took out.
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.wrapped("code", &text),
            Event::InlineMath(text) => self.wrapped("code", &format!("${text}$")),
            Event::DisplayMath(text) => self.wrapped("pre", &format!("$${text}$$")),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::FootnoteReference(name) => self.wrapped("sup", &name),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " });
            }
        }
    }

    fn text(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            self.out
                .push_str(&escape_html(&crate::text::clean_line(line)));
        }
    }

    fn wrapped(&mut self, tag: &str, text: &str) {
        let _ = write!(self.out, "<{tag}>");
        self.text(text);
        let _ = write!(self.out, "</{tag}>");
    }

    fn open_link(&mut self, target: &CowStr<'_>) {
        let is_link = may_open(target);
        if is_link {
            let _ = write!(
                self.out,
                "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
                escape_html(target)
            );
        }
        self.links.push(is_link);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.push_str("<p>"),
            Tag::Heading { level, .. } => {
                // The page itself has the first two.
                let _ = write!(self.out, "<h{}>", (level as usize + 2).min(6));
            }
            Tag::BlockQuote(_) => self.out.push_str("<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or(""),
                    CodeBlockKind::Indented => "",
                };
                self.out.push_str("<pre><code");
                if !language.is_empty() {
                    let _ = write!(
                        self.out,
                        " class=\"language-{}\"",
                        escape_html(&crate::text::clean_line(language))
                    );
                }
                self.out.push('>');
            }
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.out.push_str("<pre>"),
            Tag::List(None) => self.out.push_str("<ul>\n"),
            Tag::List(Some(1)) => self.out.push_str("<ol>\n"),
            Tag::List(Some(first)) => {
                let _ = writeln!(self.out, "<ol start=\"{first}\">");
            }
            Tag::Item => self.out.push_str("<li>"),
            Tag::FootnoteDefinition(name) => {
                self.out.push_str("<div class=\"footnote\"><sup>");
                self.text(&name);
                self.out.push_str("</sup> ");
            }
            Tag::DefinitionList => self.out.push_str("<dl>\n"),
            Tag::DefinitionListTitle => self.out.push_str("<dt>"),
            Tag::DefinitionListDefinition => self.out.push_str("<dd>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.out.push_str("<table>\n");
            }
            Tag::TableHead => {
                self.is_head = true;
                self.cell = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => {
                let align = match self.alignments.get(self.cell) {
                    Some(Alignment::Center) => " class=\"center\"",
                    Some(Alignment::Right) => " class=\"right\"",
                    Some(Alignment::Left | Alignment::None) | None => "",
                };
                let _ = write!(self.out, "<{}{align}>", self.cell_tag());
                self.cell += 1;
            }
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<del>"),
            Tag::Superscript => self.out.push_str("<sup>"),
            Tag::Subscript => self.out.push_str("<sub>"),
            Tag::Link { dest_url, .. } => self.open_link(&dest_url),
            Tag::Image { dest_url, .. } => self.open_link(&dest_url),
        }
    }

    fn cell_tag(&self) -> &'static str {
        if self.is_head { "th" } else { "td" }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.out.push_str("</p>\n"),
            TagEnd::Heading(level) => {
                let _ = writeln!(self.out, "</h{}>", (level as usize + 2).min(6));
            }
            TagEnd::BlockQuote(_) => self.out.push_str("</blockquote>\n"),
            TagEnd::CodeBlock => self.out.push_str("</code></pre>\n"),
            TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => self.out.push_str("</pre>\n"),
            TagEnd::List(is_ordered) => {
                self.out
                    .push_str(if is_ordered { "</ol>\n" } else { "</ul>\n" });
            }
            TagEnd::Item => self.out.push_str("</li>\n"),
            TagEnd::FootnoteDefinition => self.out.push_str("</div>\n"),
            TagEnd::DefinitionList => self.out.push_str("</dl>\n"),
            TagEnd::DefinitionListTitle => self.out.push_str("</dt>\n"),
            TagEnd::DefinitionListDefinition => self.out.push_str("</dd>\n"),
            TagEnd::Table => self.out.push_str("</table>\n"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.out.push_str("</tr>\n");
            }
            TagEnd::TableRow => self.out.push_str("</tr>\n"),
            TagEnd::TableCell => {
                let _ = write!(self.out, "</{}>", self.cell_tag());
            }
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</del>"),
            TagEnd::Superscript => self.out.push_str("</sup>"),
            TagEnd::Subscript => self.out.push_str("</sub>"),
            TagEnd::Link | TagEnd::Image => {
                if self.links.pop() == Some(true) {
                    self.out.push_str("</a>");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn markdown_becomes_markup_and_markup_becomes_text() {
        assert_eq!(
            html("a **b** `c<d>`\n\n- x\n- y"),
            "<p>a <strong>b</strong> <code>c&lt;d&gt;</code></p>\n<ul>\n<li>x</li>\n<li>y</li>\n</ul>\n"
        );
        assert_eq!(
            html("<script>alert(1)</script>"),
            "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>\n"
        );
        assert_eq!(
            html("a <img src=x onerror=alert(1)> b"),
            "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n"
        );
        assert_eq!(
            html("```rust\nlet a = \"<\";\n```"),
            "<pre><code class=\"language-rust\">let a = &quot;&lt;&quot;;\n</code></pre>\n"
        );
        assert_eq!(
            html("| a | b |\n|---|--:|\n| 1 | 2 |"),
            "<table>\n<tr><th>a</th><th class=\"right\">b</th></tr>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</table>\n"
        );
    }

    #[test]
    fn links_lead_only_where_a_terminal_would_let_them() {
        assert_eq!(
            html("[a](https://example.org/?a=1&b=\"2\")"),
            "<p><a href=\"https://example.org/?a=1&amp;b=&quot;2&quot;\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
        );
        assert_eq!(
            html("[a](https://example.org/?a=1&b=2)"),
            "<p><a href=\"https://example.org/?a=1&amp;b=2\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
        );
        for target in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
        ] {
            assert_eq!(html(&format!("[a]({target})")), "<p>a</p>\n");
        }
        assert_eq!(
            html("![plan](https://example.org/a.png)"),
            "<p><a href=\"https://example.org/a.png\" rel=\"noopener noreferrer nofollow\">plan</a></p>\n",
        );
    }
}
