//! Markdown to HTML for a file that a browser opens. Nothing of the source becomes markup of its
//! own: HTML in it is shown as text, a link leads only where [`may_open`] allows, and a picture is
//! a link, so that opening the file fetches nothing.

use super::blocks::syntax;
use super::diff::looks_like_diff;
use super::highlight::{Job, colour};
use super::links::may_open;
use super::row::Role;
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

/// The HTML of what a tool printed: as it is, a diff in its colours.
pub fn html_of_output(text: &str) -> String {
    let text = clean(text);
    match looks_like_diff(&text) {
        true => diff(&text),
        false => escape_html(&text),
    }
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
    /// The language and the code of the block that is open.
    code: Option<(String, String)>,
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
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.out.push_str(&escape_html(&clean(text))),
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
                let language = crate::text::clean_line(language).into_owned();
                self.out.push_str("<pre");
                if !language.is_empty() {
                    let _ = write!(self.out, " data-language=\"{}\"", escape_html(&language));
                }
                self.out.push_str("><code>");
                self.code = Some((language, String::new()));
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
                self.out.push_str("<div class=\"table\"><table>\n");
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
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.out.push_str(&code_block(&language, &code));
                }
                self.out.push_str("</code></pre>\n");
            }
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
            TagEnd::Table => self.out.push_str("</table></div>\n"),
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

/// Text of several lines, each without what only a terminal would act on: entities of Markdown can
/// bring back what cleaning took out.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&crate::text::clean_line(line));
    }
    out
}

/// The inside of a code block, with its colours where its language is known.
fn code_block(language: &str, code: &str) -> String {
    let code = &clean(code);
    if matches!(language, "diff" | "patch") {
        return diff(code);
    }
    let Some(job) = Job::new(language, code) else {
        return escape_html(code);
    };
    let coloured = colour(&job);
    let mut out = String::with_capacity(code.len() * 2);
    for (at, line) in code.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let mut rest = line;
        for (length, role) in coloured.line(at).into_iter().flatten() {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let Some((piece, after)) = rest.split_at_checked(length) else {
                break;
            };
            rest = after;
            match class(*role) {
                Some(class) => span(&mut out, class, piece),
                None => out.push_str(&escape_html(piece)),
            }
        }
        out.push_str(&escape_html(rest));
    }
    out
}

fn diff(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let class = match line.as_bytes() {
            [b'@', b'@', ..] => "hunk",
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => "place",
            [b'+', ..] => "added",
            [b'-', ..] => "removed",
            _ => {
                out.push_str(&escape_html(line));
                continue;
            }
        };
        span(&mut out, class, line);
    }
    out
}

fn span(out: &mut String, class: &str, text: &str) {
    let _ = write!(out, "<span class=\"{class}\">{}</span>", escape_html(text));
}

/// What a piece of code is called in the style of the page.
fn class(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::Keyword | Role::Tag => "keyword",
        Role::Type | Role::Attribute => "type",
        Role::Function => "function",
        Role::Constant | Role::Number => "number",
        Role::String | Role::Escape => "string",
        Role::Comment => "comment",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{html, html_of_output};

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
            html("```nothing-known\nlet a = \"<\";\n```"),
            "<pre data-language=\"nothing-known\"><code>let a = &quot;&lt;&quot;;\n</code></pre>\n"
        );
        let page = html("```rust\nlet a = \"</code><script>\"; // <b>\n```");
        assert!(page.contains("<span class=\"type\">let</span>"), "{page}");
        assert!(page.contains("&lt;/code&gt;&lt;script&gt;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert_eq!(
            html("```x\" onload=\"y\na\n```"),
            "<pre data-language=\"x&quot;\"><code>a\n</code></pre>\n"
        );
        assert_eq!(
            html_of_output("@@ -1 +1 @@\n-<a>\n+<b>"),
            "<span class=\"hunk\">@@ -1 +1 @@</span>\n<span class=\"removed\">-&lt;a&gt;</span>\n\
             <span class=\"added\">+&lt;b&gt;</span>"
        );
        assert_eq!(
            html("| a | b |\n|---|--:|\n| 1 | 2 |"),
            "<div class=\"table\"><table>\n<tr><th>a</th><th class=\"right\">b</th></tr>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</table></div>\n"
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
