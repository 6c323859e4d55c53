//! The body of an answer over HTTP. Knows nothing of who asked.

use super::super::files::Content;
use bytes::Bytes;
use hyper::body::Body;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Piece of a download.
const PIECE: usize = 64 * 1024;

/// A body that is read piece by piece, and may break off.
pub(super) struct ContentBody {
    content: Content,
    at: u64,
    cut_at: Option<u64>,
}

impl ContentBody {
    pub(super) fn new(content: Content, cut_at: Option<u64>) -> Self {
        Self {
            content,
            at: 0,
            cut_at,
        }
    }
}

impl Body for ContentBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, std::io::Error>>> {
        let piece = match self.cut_at {
            Some(cut) if self.at >= cut => {
                return Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionAborted.into())));
            }
            Some(cut) => PIECE.min((cut - self.at) as usize),
            None => PIECE,
        };
        let bytes = self.content.read(self.at, piece);
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        self.at += bytes.len() as u64;
        Poll::Ready(Some(Ok(hyper::body::Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.cut_at.is_none() && self.at >= self.content.len()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.content.len() - self.at)
    }
}
