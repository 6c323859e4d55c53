//! Pictures decoded, scaled and encoded on a thread of its own, made when the first one is in sight. A
//! file came from a server, so its format is found by its bytes, and its size and the memory it may
//! take are bounded.

use super::abilities::PictureWay;
use crate::view::picture::{Picture, PictureWish};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Wishes that may wait; what does not fit is wished for again by the next frame.
const WAITING: usize = 16;
/// Numbers under which the terminal may keep pictures: those of the palette above the sixteen that
/// every terminal paints as it likes.
const FIRST_ID: u8 = 16;

/// How pictures are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    pub way: PictureWay,
    /// Width and height of a cell in pixels.
    pub cell: Option<(u16, u16)>,
    pub in_tmux: bool,
}

/// What was made of a wish.
#[derive(Debug)]
pub struct Made {
    pub wish: PictureWish,
    /// None when it cannot be shown.
    pub picture: Option<Picture>,
    /// What the terminal has to be sent before the picture can be shown.
    pub transmission: Vec<u8>,
    plan: Plan,
}

/// The thread and what it has done.
#[derive(Default)]
pub struct Painter {
    plan: Plan,
    wishes: Option<SyncSender<(PictureWish, Plan, u8)>>,
    done: Arc<Mutex<Vec<Made>>>,
    /// Wishes that were handed over and whose result was not taken yet.
    asked: Vec<PictureWish>,
    /// How many numbers were used.
    used: u8,
}

impl Painter {
    /// Pictures are made in this way from now on; true when that is another way than before, and
    /// those that were made have to be made again.
    pub fn set_plan(&mut self, plan: Plan) -> bool {
        let is_new = plan != self.plan;
        self.plan = plan;
        if is_new {
            self.asked.clear();
        }
        is_new
    }

    /// Whether the next picture would need a number that another one has.
    pub fn is_full(&self) -> bool {
        self.used >= u8::MAX - FIRST_ID
    }

    /// The terminal keeps none any more.
    pub fn forget(&mut self) {
        self.used = 0;
        self.asked.clear();
    }

    /// What makes the terminal drop the pictures it keeps for us.
    pub fn farewell(&self) -> Vec<u8> {
        if self.plan.way != PictureWay::Kitty {
            return Vec::new();
        }
        (0..self.used)
            .flat_map(|n| {
                let sequence = format!("\x1b_Ga=d,d=I,q=2,i={}\x1b\\", FIRST_ID + n);
                encode::for_terminal(sequence, self.plan.in_tmux).into_bytes()
            })
            .collect()
    }

    /// Hands a wish over; `notify` is called on the thread when the picture is there.
    pub fn paint(&mut self, wish: PictureWish, notify: impl Fn() + Send + 'static) {
        if self.asked.contains(&wish) || self.is_full() {
            return;
        }
        let wishes = match &self.wishes {
            Some(wishes) => wishes,
            None => {
                let (sender, receiver) = sync_channel::<(PictureWish, Plan, u8)>(WAITING);
                let done = Arc::clone(&self.done);
                let thread = std::thread::Builder::new()
                    .name("pictures".to_owned())
                    .spawn(move || {
                        while let Ok((wish, plan, id)) = receiver.recv() {
                            let (picture, transmission) = match encode::make(&wish, plan, id) {
                                Some((picture, transmission)) => (Some(picture), transmission),
                                None => (None, Vec::new()),
                            };
                            if let Ok(mut done) = done.lock() {
                                done.push(Made {
                                    wish,
                                    picture,
                                    transmission,
                                    plan,
                                });
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
        let id = FIRST_ID + self.used;
        if wishes.try_send((wish.clone(), self.plan, id)).is_ok() {
            self.used += u8::from(self.plan.way == PictureWay::Kitty);
            self.asked.push(wish);
        }
    }

    /// What was made since the last call; what was made in a way that no longer holds is dropped.
    pub fn take(&mut self) -> Vec<Made> {
        let mut made = self
            .done
            .lock()
            .map(|mut done| std::mem::take(&mut *done))
            .unwrap_or_default();
        made.retain(|made| made.plan == self.plan);
        self.asked
            .retain(|asked| !made.iter().any(|made| made.wish == *asked));
        made
    }
}

#[cfg(feature = "images")]
mod encode {
    use super::Plan;
    use crate::runtime::abilities::{PictureWay, through_tmux};
    use crate::view::picture::{Picture, PictureSource, PictureWish, Sharp};
    use base64::Engine as _;
    use image::{DynamicImage, ImageFormat};
    use ratatui_image::protocol::sixel::Sixel;
    use std::io::Cursor;
    use std::sync::Arc;

    /// Bytes of one picture on the wire at most; a larger one stays coarse.
    const MOST_BYTES: usize = 1 << 20;
    /// Bytes of one chunk, as the kitty protocol allows.
    const CHUNK: usize = 4096;

    /// Decodes, scales and encodes; with what the terminal has to be sent first.
    pub(super) fn make(wish: &PictureWish, plan: Plan, id: u8) -> Option<(Picture, Vec<u8>)> {
        let image = decode(wish)?;
        let is_sharp = plan.way != PictureWay::Blocks;
        // A half block is one pixel wide and two high.
        let (cell_width, cell_height) = match plan.cell {
            Some((width, height)) if is_sharp => (u32::from(width), u32::from(height)),
            // kitty scales by itself; only the shape counts.
            None if is_sharp => (10, 20),
            _ => (1, 2),
        };
        let most = (
            u32::from(wish.columns) * cell_width,
            u32::from(wish.rows) * cell_height,
        );
        let fitted = if image.width() > most.0 || image.height() > most.1 {
            image.thumbnail(most.0, most.1)
        } else {
            image
        };
        let columns = fitted.width().div_ceil(cell_width).max(1);
        let rows = fitted.height().div_ceil(cell_height).max(1);
        let coarse = if is_sharp {
            fitted.thumbnail_exact(columns, rows * 2)
        } else {
            fitted.clone()
        };
        let (sharp, transmission) = match plan.way {
            PictureWay::Blocks => (None, Vec::new()),
            PictureWay::Kitty => match kitty(&fitted, id, (columns, rows), plan.in_tmux) {
                Some(bytes) => (Some(Sharp::Kept { id }), bytes),
                None => (None, Vec::new()),
            },
            PictureWay::Iterm => (
                strips(&fitted, (columns, rows), cell_width, cell_height),
                Vec::new(),
            ),
            PictureWay::Sixel => (
                bands(&fitted, (columns, rows), cell_width, cell_height),
                Vec::new(),
            ),
        };
        let pixels = coarse.to_rgb8();
        let picture = Picture {
            width: u16::try_from(pixels.width()).ok()?,
            height: u16::try_from(pixels.height()).ok()?,
            pixels: pixels.into_raw().into(),
            sharp,
        };
        Some((picture, transmission))
    }

    fn decode(wish: &PictureWish) -> Option<DynamicImage> {
        match &wish.source {
            PictureSource::File(path) => {
                let file = std::fs::File::open(path).ok()?;
                read(std::io::BufReader::new(file))
            }
            PictureSource::Bytes(bytes) => read(Cursor::new(&bytes[..])),
        }
    }

    fn read(bytes: impl std::io::BufRead + std::io::Seek) -> Option<DynamicImage> {
        let mut reader = image::ImageReader::new(bytes).with_guessed_format().ok()?;
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(16_384);
        limits.max_image_height = Some(16_384);
        limits.max_alloc = Some(128 * 1024 * 1024);
        reader.limits(limits);
        reader.decode().ok()
    }

    fn png(image: &DynamicImage) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        DynamicImage::ImageRgba8(image.to_rgba8())
            .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
            .ok()?;
        (bytes.len() <= MOST_BYTES).then_some(bytes)
    }

    fn base64(bytes: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    /// A sequence as it has to be written here.
    pub(super) fn for_terminal(sequence: String, in_tmux: bool) -> String {
        if in_tmux {
            through_tmux(&sequence)
        } else {
            sequence
        }
    }

    /// Sends a picture to be kept and shown by placeholders, in chunks; answers are not wanted.
    fn kitty(
        image: &DynamicImage,
        id: u8,
        (columns, rows): (u32, u32),
        in_tmux: bool,
    ) -> Option<Vec<u8>> {
        let data = base64(&png(image)?);
        let chunks: Vec<&[u8]> = data.as_bytes().chunks(CHUNK).collect();
        let mut out = Vec::with_capacity(data.len() + chunks.len() * 32);
        for (n, chunk) in chunks.iter().enumerate() {
            let more = u8::from(n + 1 < chunks.len());
            let head = if n == 0 {
                format!("a=T,U=1,q=2,f=100,t=d,i={id},c={columns},r={rows},m={more}")
            } else {
                format!("q=2,m={more}")
            };
            // Base 64 is ASCII.
            let chunk = String::from_utf8_lossy(chunk);
            let sequence = format!("\x1b_G{head};{chunk}\x1b\\");
            out.extend_from_slice(for_terminal(sequence, in_tmux).as_bytes());
        }
        Some(out)
    }

    /// The picture on a ground of whole cells, so that every row of cells is covered.
    fn on_cells(image: &DynamicImage, width: u32, height: u32) -> DynamicImage {
        image.thumbnail_exact(width, height)
    }

    /// One picture for each row of cells.
    fn strips(
        image: &DynamicImage,
        (columns, rows): (u32, u32),
        cell_width: u32,
        cell_height: u32,
    ) -> Option<Sharp> {
        let whole = on_cells(image, columns * cell_width, rows * cell_height);
        let mut strips: Vec<Arc<str>> = Vec::new();
        let mut total = 0;
        for row in 0..rows {
            let strip = whole.crop_imm(0, row * cell_height, whole.width(), cell_height);
            let bytes = png(&strip)?;
            total += bytes.len();
            if total > MOST_BYTES {
                return None;
            }
            strips.push(
                format!(
                    "\x1b]1337;File=inline=1;size={};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{}\x07",
                    bytes.len(),
                    base64(&bytes)
                )
                .into(),
            );
        }
        Some(Sharp::Strips(strips.into()))
    }

    /// Sixel, cut into its bands of six rows of pixels.
    fn bands(
        image: &DynamicImage,
        (columns, rows): (u32, u32),
        cell_width: u32,
        cell_height: u32,
    ) -> Option<Sharp> {
        // Whole bands only, so that nothing reaches into the row below.
        let height = (rows * cell_height / 6 * 6).max(6);
        let whole = on_cells(image, columns * cell_width, height);
        let size =
            ratatui::layout::Size::new(u16::try_from(columns).ok()?, u16::try_from(rows).ok()?);
        let encoded = Sixel::new(whole, size, false).ok()?.data;
        if encoded.len() > MOST_BYTES {
            return None;
        }
        let start = encoded.find("\x1bP")?;
        let body = encoded[start..].strip_suffix("\x1b\\")?;
        let (head, rest) = split_head(body)?;
        let bands: Vec<Arc<str>> = rest
            .split_inclusive('-')
            .filter(|band| !band.trim_matches('-').is_empty())
            .map(Arc::from)
            .collect();
        Some(Sharp::Bands {
            head: head.into(),
            bands: bands.into(),
            cell_height: u16::try_from(cell_height).ok()?,
        })
    }

    /// What stands before the first band: introducer and colours. The size is left out, as parts of
    /// the picture are drawn too.
    fn split_head(body: &str) -> Option<(String, &str)> {
        let q = body.find('q')?;
        let mut head = body[..=q].to_owned();
        let mut rest = &body[q + 1..];
        if let Some(raster) = rest.strip_prefix('"') {
            let end = raster.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            rest = &raster[end..];
        }
        // A colour is defined as #1;2;r;g;b and chosen as #1.
        while let Some(definition) = rest.strip_prefix('#') {
            let digits = definition.find(|c: char| !c.is_ascii_digit())?;
            if !definition[digits..].starts_with(';') {
                break;
            }
            let end = definition.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            head.push('#');
            head.push_str(&definition[..end]);
            rest = &definition[end..];
        }
        Some((head, rest))
    }

    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    mod tests {
        use super::*;
        use crate::domain::{AccountId, AttachmentId};

        fn made(way: PictureWay) -> (Picture, String) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("picture.png");
            let image = image::RgbImage::from_fn(200, 130, |x, y| {
                image::Rgb([x as u8, y as u8, ((x / 20 + y / 20) % 2 * 255) as u8])
            });
            image.save(&path).unwrap();
            let wish = PictureWish {
                account: AccountId::new("a"),
                attachment: AttachmentId::new("p"),
                source: PictureSource::File(path),
                columns: 64,
                rows: 20,
            };
            let plan = Plan {
                way,
                cell: Some((10, 20)),
                in_tmux: false,
            };
            let (picture, bytes) = make(&wish, plan, 16).unwrap();
            (picture, String::from_utf8(bytes).unwrap())
        }

        #[test]
        fn a_picture_is_kept_by_the_terminal_and_covers_whole_cells() {
            let (picture, sent) = made(PictureWay::Kitty);
            assert_eq!((picture.width, picture.height), (20, 14));
            assert_eq!(picture.sharp, Some(Sharp::Kept { id: 16 }));
            assert!(sent.starts_with("\x1b_Ga=T,U=1,q=2,f=100,t=d,i=16,c=20,r=7,m="));
            assert!(sent.split("\x1b\\").all(|part| part.len() <= CHUNK + 80));
        }

        #[test]
        fn sixel_is_cut_into_bands_and_colours_come_first() {
            let (picture, _) = made(PictureWay::Sixel);
            let Some(Sharp::Bands { head, bands, .. }) = picture.sharp else {
                panic!("{:?}", picture.sharp);
            };
            assert!(
                head.starts_with("\x1bP") && head.contains("#0;2;"),
                "{head:?}"
            );
            assert!(!head.contains('"'));
            // Seven rows of twenty pixels hold twenty-three bands of six.
            assert_eq!(bands.len(), 23);
            assert!(bands.iter().all(|band| !band.contains('\x1b')));
        }

        #[test]
        fn iterm_gets_a_strip_for_each_row() {
            let (picture, _) = made(PictureWay::Iterm);
            let Some(Sharp::Strips(strips)) = picture.sharp else {
                panic!("{:?}", picture.sharp);
            };
            assert_eq!(strips.len(), 7);
            assert!(
                strips
                    .iter()
                    .all(|strip| strip.contains("width=20;height=1;"))
            );
        }

        #[test]
        fn half_blocks_hold_two_pixels_to_a_cell() {
            let (picture, sent) = made(PictureWay::Blocks);
            assert!(picture.width <= 64 && picture.height <= 40 && picture.sharp.is_none());
            assert!(sent.is_empty());
        }
    }
}

#[cfg(not(feature = "images"))]
mod encode {
    use super::Plan;
    use crate::view::picture::{Picture, PictureWish};

    pub(super) fn make(_wish: &PictureWish, _plan: Plan, _id: u8) -> Option<(Picture, Vec<u8>)> {
        None
    }

    pub(super) fn for_terminal(sequence: String, _in_tmux: bool) -> String {
        sequence
    }
}
