//! The state drawn into a buffer. Pure: `draw` reads the state and a memo of what it laid out
//! before; an emptied memo gives the identical frame. Nothing here reads a clock or changes state;
//! what drawing finds out (the resolved scroll, what is in sight) goes back as facts.

mod canvas;
mod color;
mod composer;
mod decision_bar;
mod drawer;
mod fingerprint;
pub mod glyphs;
mod hints;
mod item;
pub mod layout;
mod overlay;
pub mod picture;
pub mod plain;
mod prose;
mod selection;
mod sidebar;
mod status;
mod svg;
pub mod theme;
mod timeline;
mod todo_strip;
mod words;

pub use canvas::LinkSpan;
pub use layout::HitMap;
pub use svg::{film, svg};
pub use theme::{Depth, Role, Theme};

use crate::app::Action;
use crate::app::screen::overlay::{DecisionPopup, Overlay};
use crate::app::screen::viewport::{Anchor, LayoutFacts};
use crate::app::screen::{SidebarRow, Target};
use crate::app::state::{PictureChoice, State};
use crate::domain::LinkState;
use crate::render::{Coloured, Colours, Job};
use canvas::Canvas;
use glyphs::Glyphs;
use item::Scene;
use picture::{Graphic, Picture, PictureWish, Pictures};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::cell::RefCell;
use std::sync::Arc;

/// What was laid out before. It saves work and nothing else.
#[derive(Debug, Default)]
pub struct Memo {
    cards: timeline::Cards,
    document: prose::Prose,
    colours: Colours,
    pictures: Arc<Pictures>,
}

impl Memo {
    /// Forgets every layout.
    pub fn clear(&mut self) {
        self.cards.clear();
        self.document = prose::Prose::default();
    }

    /// Keeps the colours of a block of code that a worker found.
    pub fn coloured(&mut self, coloured: Coloured) {
        self.colours.insert(coloured);
    }

    /// Forgets the pictures; those in sight are wished for again.
    pub fn forget_pictures(&mut self) {
        Arc::make_mut(&mut self.pictures).clear();
    }

    /// Keeps a picture that a worker decoded and scaled; none when it could not.
    pub fn picture(&mut self, wish: &PictureWish, picture: Option<Picture>) {
        Arc::make_mut(&mut self.pictures).insert(wish, picture);
    }
}

/// Icons that are decoded at a time.
const ICONS_AT_ONCE: usize = 8;

/// What drawing found out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Drawn {
    /// For the state, when a timeline was drawn.
    pub facts: Option<LayoutFacts>,
    pub hits: HitMap,
    /// Where the terminal's own cursor belongs: column and row.
    pub cursor: Option<(u16, u16)>,
    /// Cells that are links.
    pub links: Vec<LinkSpan>,
    /// Code in sight that could have colours; `Memo::coloured` takes what comes of it.
    pub wants: Vec<Job>,
    /// Pictures over cells that the buffer leaves alone.
    pub graphics: Vec<Graphic>,
    /// Pictures in sight that are not decoded; `Memo::picture` takes them.
    pub pictures: Vec<PictureWish>,
}

/// Draws the whole screen.
pub fn draw(state: &State, memo: &mut Memo, theme: &Theme, buffer: &mut Buffer) -> Drawn {
    let mut hits = HitMap::default();
    let mut links = Vec::new();
    let mut pictures = Vec::new();
    let area = buffer.area;
    let mut canvas = Canvas {
        buffer,
        theme,
        glyphs: Glyphs::of(state.settings.ascii),
        hits: &mut hits,
        links: &mut links,
        pictures: &mut pictures,
        is_bare: state.screen.is_bare,
        popup: None,
    };
    canvas.fill(area, Role::Background);
    let mut drawn = Drawn::default();
    if layout::is_too_small(area) {
        too_small(&mut canvas, area);
    } else {
        whole(&mut canvas, state, memo, area, &mut drawn);
    }
    drawn.hits = hits;
    drawn.links = links;
    drawn.graphics = picture::uncovered(buffer, pictures);
    drawn
}

fn too_small(canvas: &mut Canvas<'_>, area: Rect) {
    let words = format!(
        "{}x{} is too small: {}x{} are needed",
        area.width,
        area.height,
        layout::LEAST_COLUMNS,
        layout::LEAST_ROWS
    );
    let lines = canvas::wrap(&words, usize::from(area.width));
    let height = u16::try_from(lines.len()).unwrap_or(0);
    let top = area.y + area.height.saturating_sub(height) / 2;
    for (y, line) in (top..).zip(&lines) {
        canvas.put_middle(area, y, line, Role::Text);
    }
}

fn whole(canvas: &mut Canvas<'_>, state: &State, memo: &mut Memo, area: Rect, drawn: &mut Drawn) {
    let areas = layout::areas(&state.screen, area);
    let is_bare = canvas.is_bare && state.screen.overlays.is_empty();
    canvas.is_bare = is_bare;
    let pictures = Arc::clone(&memo.pictures);
    let scene = scene(state, &pictures, canvas.theme, area);
    if is_bare
        && let Some(scene) = &scene
        && let Some((account, _)) = &state.focus
    {
        let (facts, _) =
            timeline::draw(canvas, scene, &mut memo.cards, &memo.colours, area, account);
        drawn.facts = Some(facts);
        return;
    }
    match (&scene, &state.focus) {
        (Some(scene), Some((account, _))) => {
            if let Some(header) = areas.header {
                status::header(canvas, scene, header);
            }
            conversation(canvas, scene, memo, areas.main, account, drawn);
        }
        _ => {
            if let Some(header) = areas.header {
                canvas.fill(header, Role::Bar);
                canvas.put(
                    header.x + 2,
                    header.y,
                    "trialogue",
                    header.width,
                    Role::Title,
                );
            }
            nowhere(canvas, state, areas.main);
        }
    }
    if let Some(line) = areas.status {
        status::status(canvas, state, scene.as_ref(), line);
    }
    if let Some(sidebar) = areas.sidebar {
        let rows = crate::app::screen::sidebar::rows(state);
        let shown = shows_pictures(state, canvas.theme).then_some(&*pictures);
        sidebar::draw(canvas, state, &rows, sidebar, areas.is_over, shown);
        if let Some(shown) = shown {
            drawn.pictures.extend(icon_wishes(state, &rows, shown));
        }
    }
    // Where it needs every row, the header's too.
    let top = areas.header.map_or(areas.main.y, |header| header.y);
    let over = Rect {
        y: top,
        height: areas.main.bottom() - top,
        ..areas.main
    };
    hints::following(canvas, state, over);
    if let Some(overlay) = state.screen.overlays.last() {
        popup(canvas, state, memo, overlay, area, drawn);
    }
    hints::toasts(canvas, state, areas.main);
}

/// Whether pictures can be drawn with the colours there are.
fn shows_pictures(state: &State, theme: &Theme) -> bool {
    theme.depth >= Depth::Indexed
        && !state.settings.ascii
        && state.settings.pictures != PictureChoice::Off
}

/// Icons of the sidebar that have to be decoded first.
fn icon_wishes(state: &State, rows: &[SidebarRow], pictures: &Pictures) -> Vec<PictureWish> {
    rows.iter()
        .filter_map(|row| match row {
            SidebarRow::Conversation(account, id) => {
                let conversation = state.account(account)?.conversations.get(id)?;
                pictures.wanted_icon(account, id, &conversation.info)
            }
            SidebarRow::Attention | SidebarRow::Account(_) | SidebarRow::Archive(_) => None,
        })
        .take(ICONS_AT_ONCE)
        .collect()
}

/// The conversation on screen with all that its items need.
fn scene<'a>(
    state: &'a State,
    pictures: &'a Pictures,
    theme: &Theme,
    area: Rect,
) -> Option<Scene<'a>> {
    let is_bare = state.screen.is_bare && state.screen.overlays.is_empty();
    let columns = if is_bare {
        area.width
    } else {
        layout::text_columns(layout::areas(&state.screen, area).main)
    };
    let shows_pictures = shows_pictures(state, theme);
    let (account, id, conversation) = state.focused()?;
    Some(Scene {
        state,
        account,
        id,
        conversation,
        glyphs: Glyphs::of(state.settings.ascii),
        columns,
        pictures: shows_pictures.then_some(pictures),
        group: RefCell::default(),
    })
}

/// What the mouse selected on a screen so large, as text without frames and padding.
pub fn selected_text(state: &State, memo: &mut Memo, theme: &Theme, area: Rect) -> Option<String> {
    if layout::is_too_small(area) {
        return None;
    }
    let pictures = Arc::clone(&memo.pictures);
    let scene = scene(state, &pictures, theme, area)?;
    timeline::selected(&scene, &mut memo.cards, &memo.colours)
}

/// What a screen without a conversation says.
fn nowhere(canvas: &mut Canvas<'_>, state: &State, area: Rect) {
    let word = if state.is_loading {
        "Reading what is stored".to_owned()
    } else {
        crate::app::actions::nowhere(state)
    };
    let middle = area.y + area.height / 2;
    // The popups of the first start say it themselves, and would leave fragments of it in sight.
    let is_said = matches!(
        state.screen.overlays.last(),
        Some(Overlay::Welcome { .. } | Overlay::Wizard(_))
    );
    if !is_said {
        canvas.put_middle(area, middle, &word, Role::Muted);
    }
    // An account that was refused is why there is nothing to go to.
    let mut y = middle + 2;
    for (at, account) in state.accounts.iter().enumerate() {
        let reason = match &account.account.link {
            LinkState::Refused { reason } => reason,
            LinkState::NeedsLogin(need) => &need.hint,
            LinkState::Off
            | LinkState::Connecting
            | LinkState::Syncing
            | LinkState::Ready
            | LinkState::Waiting { .. } => continue,
        };
        let words = format!(
            "{}: {}",
            account.account.label,
            reason.as_str().replace('\n', " ")
        );
        let cells = usize::from(area.width.saturating_sub(4)).min(76);
        for line in canvas::wrap(&words, cells) {
            if y < area.bottom() {
                canvas.put_middle(area, y, &line, Role::Warning);
                y += 1;
            }
        }
        if let Some(action) = crate::app::screen::palette::to_account(at + 1)
            && y < area.bottom()
        {
            let way = hints::way_to(state, action);
            let words = format!("{way} opens the account, to sign in there or to try again.");
            canvas.put_middle(area, y, &words, Role::Muted);
            y += 2;
        }
    }
}

/// The popup on top, which takes the cursor.
fn popup(
    canvas: &mut Canvas<'_>,
    state: &State,
    memo: &mut Memo,
    overlay: &Overlay,
    area: Rect,
    drawn: &mut Drawn,
) {
    let found = overlay::draw(canvas, state, overlay, memo, area);
    drawn.cursor = found.cursor;
    if drawn.facts.is_none()
        && let Overlay::Decision(popup) = overlay
    {
        // Its keys wait for the word that it was painted.
        drawn.facts = decision_facts(state, popup, area);
    }
    if let Some(facts) = &mut drawn.facts {
        facts.decision_end_seen = found.decision_end_seen;
        facts.overlay_scroll_max = found.scroll_max;
    }
}

/// Facts about a decision on a screen without a conversation.
fn decision_facts(state: &State, popup: &DecisionPopup, area: Rect) -> Option<LayoutFacts> {
    let account = state.account(&popup.account)?;
    let decision = account
        .decisions
        .iter()
        .find(|decision| decision.id == popup.decision)?;
    Some(LayoutFacts {
        account: popup.account.clone(),
        conversation: decision.conversation.clone(),
        anchor: Anchor::Newest,
        resolved: 0,
        revealed: None,
        rows: area.height,
        columns: area.width,
        is_short_above: false,
        is_short_below: false,
        first_seen: None,
        last_seen: None,
        is_at_newest: false,
        decision_end_seen: false,
        composer_columns: composer::text_columns(area.width),
        overlay_scroll_max: None,
    })
}

/// Timeline, strips and composer.
fn conversation(
    canvas: &mut Canvas<'_>,
    scene: &Scene<'_>,
    memo: &mut Memo,
    area: Rect,
    account: &crate::domain::AccountId,
    drawn: &mut Drawn,
) {
    let rows = canvas.buffer.area.height;
    let is_roomy = rows >= 30;
    let plan = composer::plan(scene, area.width, rows);
    let key = |action: Action| hints::way_to(scene.state, action);
    let mut strips = decision_bar::rows(scene, &key(Action::OpenDecision), is_roomy);
    strips.extend(hints::link_rows(scene, area.width, is_roomy));
    strips.extend(todo_strip::run_rows(scene, is_roomy, &key(Action::StopRun)));
    if scene.state.screen.todos_open {
        strips.extend(todo_strip::todo_rows(scene, usize::from(rows / 3)));
    } else {
        strips.extend(todo_strip::todo_row(scene, area.width));
    }
    strips.extend(todo_strip::queue_row(scene, &key(Action::ShowQueue)));
    let composer_height = plan.height.min(area.height.saturating_sub(3));
    let strip_room = area.height.saturating_sub(composer_height + 2);
    strips.truncate(usize::from(strip_room));
    let strip_height = u16::try_from(strips.len()).unwrap_or(0);
    // A blank row keeps the text off the strips and the edge of the composer.
    let gap = u16::from(area.height >= composer_height + strip_height + 6);
    let timeline = Rect {
        height: area.height - composer_height - strip_height - gap,
        ..area
    };
    let (mut facts, wants) = timeline::draw(
        canvas,
        scene,
        &mut memo.cards,
        &memo.colours,
        timeline,
        account,
    );
    drawn.wants = wants;
    drawn.pictures = timeline::wishes(scene, &facts);
    facts.composer_columns = composer::text_columns(area.width);
    let mut y = timeline.bottom() + gap;
    for strip in &strips {
        let inner = Rect {
            width: area
                .width
                .saturating_sub(u16::from(strip.ground.is_none()) * 2),
            ..area
        };
        canvas.row(inner, y, strip);
        y += 1;
    }
    pill(canvas, scene, timeline, &facts);
    let composer = Rect {
        y,
        height: composer_height,
        ..area
    };
    drawn.cursor = composer::draw(canvas, scene, &plan, composer);
    drawer::draw(canvas, scene.state, area, composer.y);
    drawn.facts = Some(facts);
}

/// Says that there is something below, when the reader is above.
fn pill(canvas: &mut Canvas<'_>, scene: &Scene<'_>, area: Rect, facts: &LayoutFacts) {
    if facts.is_at_newest || area.height < 3 {
        return;
    }
    let new = scene.conversation.viewport.new_below;
    let down = scene.glyphs.down;
    let word = if new > 0 {
        format!(" {down} {new} new ")
    } else {
        format!(" {down} newest ")
    };
    let role = if new > 0 { Role::Pill } else { Role::Chip };
    let wide = u16::try_from(crate::text::width(&word)).unwrap_or(0);
    if wide + 4 > area.width {
        return;
    }
    let spot = Rect::new(area.right() - wide - 2, area.bottom() - 1, wide, 1);
    // Letters of the text around it would look like a part of it.
    let around = Rect::new(spot.x - 1, spot.y, area.right() - (spot.x - 1), 1);
    canvas.fill(around, Role::Background);
    canvas.fill(spot, role);
    canvas.put(spot.x, spot.y, &word, wide, role);
    canvas.hits.add(spot, Target::NewBelow);
}
