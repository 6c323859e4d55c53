//! A link without a server: somebody on this machine plays what came in and gets what goes out.
//! For looking at a recording; nothing is sent anywhere.

use super::{Ends, Link, Outgoing, link};
use crate::link::{CloseReason, Frame};
use tokio::sync::mpsc;

/// Frames that may wait between the player and the link.
const WAITING: usize = 64;

/// What the player has the link bring.
#[derive(Debug)]
pub enum Played {
    Frame(Frame),
    Down(CloseReason),
}

/// The player's end of a link.
#[derive(Debug)]
pub struct Player {
    pub played: mpsc::Sender<Played>,
    /// What the driver sent.
    pub sent: mpsc::Receiver<Frame>,
}

/// A link that stands, and the end from which it is played.
pub fn start() -> (Link, Player) {
    let (mut link, ends) = link();
    let Ends {
        arrivals,
        mut outgoing,
        probes: _,
    } = ends;
    let (played, mut plays) = mpsc::channel(WAITING);
    let (sends, sent) = mpsc::channel(WAITING);
    let told = arrivals.clone();
    link.tasks.0.push(tokio::spawn(async move {
        while let Some(play) = plays.recv().await {
            match play {
                Played::Frame(frame) => {
                    if !arrivals.frame(frame).await {
                        return;
                    }
                }
                Played::Down(reason) => {
                    arrivals.down(reason).await;
                    return;
                }
            }
        }
        // The end of a recording is not the end of the link: the person is still reading.
    }));
    link.tasks.0.push(tokio::spawn(async move {
        while let Some(next) = outgoing.recv().await {
            match next {
                Outgoing::Frame(frame) => {
                    let _ = sends.send(frame).await;
                }
                Outgoing::Close { .. } => {
                    told.down(CloseReason::Ours).await;
                    return;
                }
            }
        }
    }));
    (link, Player { played, sent })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Arrival;
    use super::*;

    #[tokio::test]
    async fn what_is_played_comes_in_and_what_goes_out_is_told() {
        let (mut link, mut player) = start();
        let ready = Frame::text("ready");
        player
            .played
            .send(Played::Frame(ready.clone()))
            .await
            .unwrap();
        match link.next().await {
            Arrival::Frame(frame) => assert_eq!(frame, ready),
            Arrival::Down(reason) => panic!("{reason:?}"),
        }
        link.try_send(Frame::text("hello")).unwrap();
        assert_eq!(player.sent.recv().await, Some(Frame::text("hello")));
        player
            .played
            .send(Played::Down(CloseReason::Silent))
            .await
            .unwrap();
        assert!(matches!(
            link.next().await,
            Arrival::Down(CloseReason::Silent)
        ));
    }
}
