//! Pictures decoded and scaled on a thread of its own, made when the first one is in sight. A file
//! came from a server, so its format is found by its bytes, and its size and the memory it may take
//! are bounded.

use crate::view::picture::{Picture, PictureWish};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Wishes that may wait; what does not fit is wished for again by the next frame.
const WAITING: usize = 16;

/// What was made of a wish; none when it cannot be shown.
type Made = (PictureWish, Option<Picture>);

/// The thread and what it has done.
#[derive(Default)]
pub struct Painter {
    wishes: Option<SyncSender<PictureWish>>,
    done: Arc<Mutex<Vec<Made>>>,
    /// Wishes that were handed over and whose result was not taken yet.
    asked: Vec<PictureWish>,
}

impl Painter {
    /// Hands a wish over; `notify` is called on the thread when the picture is there.
    pub fn paint(&mut self, wish: PictureWish, notify: impl Fn() + Send + 'static) {
        if self.asked.contains(&wish) {
            return;
        }
        let wishes = match &self.wishes {
            Some(wishes) => wishes,
            None => {
                let (sender, receiver) = sync_channel::<PictureWish>(WAITING);
                let done = Arc::clone(&self.done);
                let thread = std::thread::Builder::new()
                    .name("pictures".to_owned())
                    .spawn(move || {
                        while let Ok(wish) = receiver.recv() {
                            let picture = decode(&wish);
                            if let Ok(mut done) = done.lock() {
                                done.push((wish, picture));
                            }
                            notify();
                        }
                    });
                if thread.is_err() {
                    return;
                }
                self.wishes.insert(sender)
            }
        };
        if wishes.try_send(wish.clone()).is_ok() {
            self.asked.push(wish);
        }
    }

    /// What was made since the last call.
    pub fn take(&mut self) -> Vec<Made> {
        let made = self
            .done
            .lock()
            .map(|mut done| std::mem::take(&mut *done))
            .unwrap_or_default();
        self.asked
            .retain(|asked| !made.iter().any(|(wish, _)| wish == asked));
        made
    }
}

#[cfg(feature = "images")]
fn decode(wish: &PictureWish) -> Option<Picture> {
    let mut reader = image::ImageReader::open(&wish.path)
        .ok()?
        .with_guessed_format()
        .ok()?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(16_384);
    limits.max_image_height = Some(16_384);
    limits.max_alloc = Some(128 * 1024 * 1024);
    reader.limits(limits);
    let image = reader.decode().ok()?;
    // A cell is about twice as high as wide and holds two pixels, so pixels are square.
    let (most_width, most_height) = (u32::from(wish.columns), u32::from(wish.rows) * 2);
    let small = if image.width() > most_width || image.height() > most_height {
        image.thumbnail(most_width, most_height)
    } else {
        image
    };
    let pixels = small.to_rgb8();
    Some(Picture {
        width: u16::try_from(pixels.width()).ok()?,
        height: u16::try_from(pixels.height()).ok()?,
        pixels: pixels.into_raw().into(),
    })
}

#[cfg(not(feature = "images"))]
fn decode(_wish: &PictureWish) -> Option<Picture> {
    None
}
