//! Walking through earlier inputs: those of this run of the program first, then the store's. The
//! draft that was there comes back after the newest.

use super::{Browsing, Composer, Edit, HistoryStep};

impl Composer {
    /// One input back.
    pub fn older(&mut self) -> HistoryStep {
        let back = self.browsing.as_ref().map_or(0, |browsing| browsing.back) + 1;
        let draft = self
            .browsing
            .as_ref()
            .map_or_else(|| self.text.clone(), |browsing| browsing.draft.text.clone());
        match self.input(back, &draft) {
            Some(text) => {
                let draft = match self.browsing.take() {
                    Some(browsing) => browsing.draft,
                    None => {
                        self.remember(Edit::Other);
                        self.step()
                    }
                };
                self.browsing = Some(Browsing { back, draft });
                self.show_input(&text);
                HistoryStep::Moved
            }
            None if self.stored.is_none() => HistoryStep::NeedsStore,
            None => HistoryStep::End,
        }
    }

    /// One input on; after the newest comes the draft again.
    pub fn newer(&mut self) -> HistoryStep {
        let Some(browsing) = self.browsing.take() else {
            return HistoryStep::End;
        };
        if browsing.back <= 1 {
            self.go_to(browsing.draft);
            return HistoryStep::Moved;
        }
        let back = browsing.back - 1;
        let text = self.input(back, &browsing.draft.text).unwrap_or_default();
        self.browsing = Some(Browsing { back, ..browsing });
        self.show_input(&text);
        HistoryStep::Moved
    }

    /// Takes what the store knows, newest first.
    pub fn learn_inputs(&mut self, texts: Vec<String>) {
        self.stored = Some(texts);
    }

    /// The input so many steps back. An unchanged draft is not offered as its own history.
    fn input(&self, back: usize, draft: &str) -> Option<String> {
        let stored = self.stored.iter().flatten();
        self.recent
            .iter()
            .rev()
            .chain(stored.filter(|text| !self.recent.contains(text)))
            .filter(|text| *text != draft)
            .nth(back - 1)
            .cloned()
    }

    fn show_input(&mut self, text: &str) {
        self.text = text.to_owned();
        self.chips.clear();
        self.fold_if_long();
        self.place(self.text.len());
        self.last_edit = Edit::Other;
    }
}
