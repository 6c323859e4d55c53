//! A recording in place of a server: plays what came in, at the pace at which it came, and swallows
//! what goes out. For looking at a person's report; nothing is sent anywhere.

use super::{Ends, Link, Outgoing, failed, link};
use crate::link::{CloseReason, Frame, LinkFailure};
use std::path::Path;
use std::time::Duration;

/// No pause is longer, however long it was.
const PAUSE_AT_MOST: Duration = Duration::from_secs(2);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Frame(Frame),
    Pause(Duration),
}

/// Reads a recording and begins to play its first link.
pub async fn start(path: &Path) -> Result<Link, CloseReason> {
    let text = tokio::fs::read_to_string(path).await.map_err(|error| {
        failed(
            LinkFailure::CannotStart,
            format!("The recording {} cannot be read: {error}", path.display()),
        )
    })?;
    let steps = steps(&text);
    let (mut link, ends) = link();
    let Ends {
        arrivals,
        mut outgoing,
        probes: _,
    } = ends;
    let told = arrivals.clone();
    link.tasks.0.push(tokio::spawn(async move {
        for step in steps {
            match step {
                Step::Frame(frame) => {
                    if !arrivals.frame(frame).await {
                        return;
                    }
                }
                Step::Pause(pause) => tokio::time::sleep(pause.min(PAUSE_AT_MOST)).await,
            }
        }
        // The end of a recording is not the end of the link: the person is still reading.
    }));
    link.tasks.0.push(tokio::spawn(async move {
        while let Some(next) = outgoing.recv().await {
            match next {
                Outgoing::Frame(_) => {}
                Outgoing::Close { .. } => {
                    told.down(CloseReason::Ours).await;
                    return;
                }
            }
        }
    }));
    Ok(link)
}

/// What a recording holds of the server, all links in a row.
fn steps(text: &str) -> Vec<Step> {
    text.lines()
        .filter_map(|line| {
            if let Some(frame) = line.strip_prefix("< ") {
                return Some(Step::Frame(Frame::text(frame)));
            }
            let pause = line.strip_prefix("+ ")?.strip_suffix("ms")?.parse().ok()?;
            Some(Step::Pause(Duration::from_millis(pause)))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Arrival;
    use super::super::tap::Tap;
    use super::*;

    #[tokio::test]
    async fn what_was_recorded_is_played_again_and_ours_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.txt");
        let mut tap = Tap::create(&path).unwrap();
        tap.up(1_000);
        tap.frame(1_000, true, &Frame::text("{\"type\":\"hello\"}"));
        tap.frame(1_002, false, &Frame::text("{\"type\":\"ready\"}"));
        tap.frame(1_002, false, &Frame::Binary(vec![0; 3].into()));
        tap.down(9_000, &CloseReason::Silent);
        drop(tap);
        // The writer is a thread; the file is whole when its last line is there.
        let text = loop {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.ends_with("down silent\n") {
                break text;
            }
            std::thread::yield_now();
        };
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "up",
                "> {\"type\":\"hello\"}",
                "+ 2ms",
                "< {\"type\":\"ready\"}",
                "<bytes 3",
                "+ 7998ms",
                "down silent",
            ]
        );
        let mut link = start(&path).await.unwrap();
        match link.next().await {
            Arrival::Frame(frame) => assert_eq!(frame, Frame::text("{\"type\":\"ready\"}")),
            Arrival::Down(reason) => panic!("{reason:?}"),
        }
    }
}
