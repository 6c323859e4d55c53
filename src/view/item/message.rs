//! A message: header, quote, reasoning, text, attachments, what became of it, footer.

use super::{Card, Lead, Scene, Segment, Speaker, at_ms, attachment, notice, reasoning};
use crate::app::screen::Target;
use crate::domain::{Author, Delivery, Entry, Footer, Message, MessageSort};
use crate::text::width;
use crate::view::canvas::{Row, wrap};
use crate::view::theme::Role;
use crate::view::words;

pub(crate) fn card(scene: &Scene<'_>, entry: &Entry, message: &Message, lead: &Lead) -> Card {
    match message.sort {
        MessageSort::Notice => return notice::notice(scene, message),
        MessageSort::Aside => return notice::aside(scene, entry, message, lead.is_open),
        MessageSort::Ordinary | MessageSort::Commentary => {}
    }
    let mut head = Vec::new();
    if lead.has_header {
        head.push(header(scene, entry, message, lead.speaker));
    }
    if let Some(remote) = &message.reply_to {
        head.push(quote(scene, remote));
    }
    let mut card = Card {
        has_rail: message.author == Author::User,
        is_streaming: message.is_streaming,
        ..Card::default()
    };
    let has_reasoning = !message.reasoning.is_empty();
    if has_reasoning {
        head.push(reasoning::fold_line(scene, entry, message, lead.is_open));
        if !lead.is_open && !message.body.is_empty() {
            head.push(Row::blank());
        }
    }
    if !head.is_empty() {
        card.segments.push(Segment::Rows(head));
    }
    if has_reasoning && lead.is_open {
        card.segments.push(Segment::Reasoning { indent: 2 });
        if !message.body.is_empty() {
            card.segments.push(Segment::Rows(vec![Row::blank()]));
        }
    }
    if !message.body.is_empty() {
        card.segments.push(Segment::Body {
            indent: 0,
            is_dim: message.sort == MessageSort::Commentary,
        });
    }
    let mut tail = Vec::new();
    if message.is_interrupted {
        tail.push(Row::of(
            format!("{} cut off here: the run ended", scene.glyphs.ellipsis),
            Role::Muted,
        ));
    }
    if !message.attachments.is_empty() && !message.body.is_empty() {
        tail.push(Row::blank());
    }
    for id in &message.attachments {
        tail.extend(attachment::rows(scene, id));
        let account = &scene.account.account.id;
        if attachment::shown(scene, id).is_some()
            && let Some(pictures) = scene.pictures
            && let Some(picture) = pictures.find(account, id, scene.columns)
        {
            card.segments.push(Segment::Rows(std::mem::take(&mut tail)));
            card.segments
                .push(Segment::Picture(id.clone(), picture.rows()));
        }
    }
    tail.extend(trouble(scene, message));
    if scene.account.is_deleting(entry.key) {
        tail.push(Row::of(
            format!("{} being deleted", scene.glyphs.in_flight),
            Role::Muted,
        ));
    }
    if let Some(row) = footer(scene, message, lead.has_header) {
        tail.push(row);
    }
    if !tail.is_empty() {
        card.segments.push(Segment::Rows(tail));
    }
    card
}

fn header(scene: &Scene<'_>, entry: &Entry, message: &Message, speaker: Speaker) -> Row {
    let row = speaker_row(scene, speaker, at_ms(entry));
    let row = match &message.footer.model {
        Some(model) if message.author != Author::User => {
            row.and("  ", Role::Muted).and(model.as_str(), Role::Muted)
        }
        _ => row,
    };
    match &message.delivery {
        Some(delivery) => {
            let (mark, role) = delivery_mark(scene, delivery);
            row.and(" ", Role::Muted).and(mark, role)
        }
        None => row,
    }
}

/// Name and time of who speaks.
pub(crate) fn speaker_row(scene: &Scene<'_>, speaker: Speaker, at_ms: i64) -> Row {
    let (name, role) = match speaker {
        Speaker::You => ("you", Role::You),
        Speaker::Agent | Speaker::Nobody => ("agent", Role::Agent),
        Speaker::System => ("system", Role::System),
        Speaker::Automation => ("automation", Role::Automation),
    };
    Row::of(name, role)
        .and(" ", Role::Muted)
        .and(scene.clock(at_ms), Role::Muted)
}

/// The state of our own message; told apart by shape, and by a word while it is not over.
fn delivery_mark(scene: &Scene<'_>, delivery: &Delivery) -> (String, Role) {
    let g = scene.glyphs;
    match delivery {
        Delivery::Queued => (format!("{} queued", g.queued), Role::Muted),
        Delivery::InFlight => (format!("{} sending", g.in_flight), Role::Muted),
        Delivery::Accepted => (g.accepted.to_owned(), Role::Muted),
        Delivery::Read => (g.read.to_owned(), Role::Good),
        Delivery::Uncertain => (format!("{} uncertain", g.uncertain), Role::Warning),
        Delivery::Failed(_) => (format!("{} not sent", g.failed), Role::Danger),
    }
}

/// What went wrong with our own message and what can be done.
fn trouble(scene: &Scene<'_>, message: &Message) -> Vec<Row> {
    let (mark, text, role) = match &message.delivery {
        Some(Delivery::Uncertain) => (
            scene.glyphs.uncertain,
            "The link broke before an answer came, so it may or may not have arrived. Select it and press Enter to send it again or to discard it.".to_owned(),
            Role::Warning,
        ),
        Some(Delivery::Failed(refusal)) => (
            scene.glyphs.failed,
            format!("{} Select it and press Enter for what can be done.", sentence(refusal.text.as_str())),
            Role::Danger,
        ),
        _ => return Vec::new(),
    };
    let columns = usize::from(scene.columns).saturating_sub(2);
    wrap(&text, columns)
        .into_iter()
        .enumerate()
        .map(|(at, line)| {
            let mark = if at == 0 { mark } else { " " };
            Row::of(format!("{mark} "), role).and(line, role)
        })
        .collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// The message that this one answers.
fn quote(scene: &Scene<'_>, remote: &crate::domain::RemoteId) -> Row {
    let quoted = quoted(scene, remote);
    let row = Row::of(format!("{} ", scene.glyphs.reply), Role::Muted);
    match quoted {
        Some(message) => {
            let who = match message.author {
                Author::User => "you",
                Author::Assistant => "agent",
                Author::System => "system",
                Author::Automation => "automation",
            };
            row.and(format!("{who}: "), Role::Muted)
                .and(words::gist(message.body.text()), Role::Quote)
        }
        None => row.and("an earlier message", Role::Quote),
    }
}

/// The message of the window with this id on the server.
pub(crate) fn quoted<'a>(
    scene: &Scene<'a>,
    remote: &crate::domain::RemoteId,
) -> Option<&'a Message> {
    let entries = &scene.conversation.timeline.entries;
    entries
        .iter()
        .rev()
        .filter_map(Entry::message)
        .find(|message| message.remote.as_ref() == Some(remote))
}

fn footer(scene: &Scene<'_>, message: &Message, has_header: bool) -> Option<Row> {
    let between = format!(" {} ", scene.glyphs.dot);
    let mut footer = message.footer.clone();
    let mut line = footer_parts(scene, &footer, !has_header).join(&between);
    // Where there is little room, what matters least goes first, whole.
    let less: [fn(&mut Footer); 4] = [
        |footer| footer.tokens_cached = None,
        |footer| (footer.tokens_in, footer.tokens_out, footer.tokens) = (None, None, None),
        |footer| footer.directory = None,
        |footer| footer.model = None,
    ];
    for leave_out in less {
        if width(&line) <= usize::from(scene.columns) {
            break;
        }
        leave_out(&mut footer);
        let shorter = footer_parts(scene, &footer, !has_header).join(&between);
        if !shorter.is_empty() {
            line = shorter;
        }
    }
    (!line.is_empty()).then(|| Row::of(line, Role::Muted))
}

/// The parts of a footer that the person wants to see.
pub(crate) fn footer_parts(scene: &Scene<'_>, footer: &Footer, with_model: bool) -> Vec<String> {
    let settings = &scene.state.settings;
    let mut parts = Vec::new();
    if with_model
        && settings.show_model
        && let Some(model) = &footer.model
    {
        parts.push(model.to_string());
    }
    match (footer.tokens_in, footer.tokens_out, footer.tokens) {
        (Some(tokens_in), Some(tokens_out), _) => {
            let (up, down) = (scene.glyphs.up, scene.glyphs.down);
            parts.push(format!(
                "{up}{} {down}{}",
                words::count(tokens_in),
                words::count(tokens_out)
            ));
        }
        (_, _, Some(tokens)) => parts.push(format!("{} tokens", words::count(tokens))),
        (Some(tokens), None, None) | (None, Some(tokens), None) => {
            parts.push(format!("{} tokens", words::count(tokens)));
        }
        (None, None, None) => {}
    }
    if let Some(cached) = footer.tokens_cached.filter(|cached| *cached > 0) {
        parts.push(format!("{} cached", words::count(cached)));
    }
    if settings.show_context
        && let Some(percent) = footer.context_percent
    {
        parts.push(format!("ctx {percent}%"));
    }
    if settings.show_directory
        && let Some(directory) = &footer.directory
    {
        parts.push(directory.to_string());
    }
    if settings.show_latency
        && let Some(ms) = footer.latency_ms
    {
        parts.push(words::duration(ms));
    }
    if settings.show_cost
        && let Some(cost) = footer.cost_micro_usd
    {
        parts.push(words::cost(cost));
    }
    parts
}

/// The line that folds an entry.
pub(crate) fn fold_row(scene: &Scene<'_>, entry: &Entry, is_open: bool) -> Row {
    let mark = if is_open {
        scene.glyphs.open
    } else {
        scene.glyphs.folded
    };
    Row::of(format!("{mark} "), Role::Muted).hits(Target::Fold(entry.key))
}
