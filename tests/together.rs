//! State, store, driver and gateway together, in virtual time: wherever the link is cut or the
//! program dies, what is on screen in the end is what the server has, nothing twice and nothing
//! lost.
#![allow(clippy::unwrap_used)]

#[path = "together/world.rs"]
mod world;

use trialogue::demo::engine::Setup;
use trialogue::domain::*;
use world::{Kind, World};

/// A text that the library plays as this scene, with a mark of its own.
fn words(word: &str) -> String {
    format!("{word}: please, number one")
}

/// A gateway of a kind, with one conversation of it on screen.
fn world_of(kind: Kind) -> World {
    let setup = Setup {
        speed: 1000,
        ..Setup::default()
    };
    match kind {
        Kind::Pheby => {
            let readings = trialogue::demo::pheby::Readings::seen();
            let gateway = trialogue::demo::pheby::Pheby::new(setup, readings);
            let mut world = World::new(kind, Box::new(gateway));
            world.open("Welcome");
            world
        }
        Kind::Iris => {
            let readings = trialogue::demo::iris::Readings::default();
            let gateway = trialogue::demo::iris::Iris::new(setup, readings);
            let mut world = World::new(kind, Box::new(gateway));
            world.open_default();
            world
        }
        Kind::Omi => {
            let readings = trialogue::demo::omi::Readings::default();
            let gateway = trialogue::demo::omi::Omi::new(setup, readings, "/artifacts");
            let mut world = World::new(kind, Box::new(gateway));
            world.open("First conversation");
            world
        }
    }
}

/// One message from each side, each once.
fn check(world: &World, text: &str, how: &str) {
    let talk = world.talk();
    let mine = talk
        .iter()
        .filter(|(author, said)| *author == Author::User && said == text)
        .count();
    assert_eq!(mine, 1, "{how}: own message\n{talk:#?}");
    let mut answers: Vec<&str> = talk
        .iter()
        .filter(|(author, said)| *author == Author::Assistant && !said.is_empty())
        .map(|(_, said)| said.as_str())
        .collect();
    let count = answers.len();
    answers.sort_unstable();
    answers.dedup();
    assert_eq!(answers.len(), count, "{how}: an answer twice\n{talk:#?}");
    for entry in world.entries() {
        if let Some(message) = entry.message() {
            assert!(!message.is_streaming, "{how}: still streaming {message:?}");
            assert_ne!(
                message.delivery,
                Some(Delivery::InFlight),
                "{how}: still in flight"
            );
        }
        if let EntryBody::Tool(tool) = &entry.body {
            assert_ne!(tool.status, ToolStatus::Running, "{how}: still running");
        }
    }
}

/// Plays a scene without a fault and says how many frames it took and what was said.
fn undisturbed(kind: Kind, word: &str) -> (u64, Vec<(Author, String)>) {
    let mut world = world_of(kind);
    let before = world.client.frames;
    world.say(&words(word));
    world.run(60_000);
    check(&world, &words(word), "undisturbed");
    (world.client.frames - before, world.talk())
}

/// What happens to the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Cut,
    Kill,
}

/// Plays a scene with a fault at so many places; `EVERY_FRAME` in the environment tries them all.
fn survives(kind: Kind, word: &str, fault: Fault, places: u64) {
    let (frames, talk) = undisturbed(kind, word);
    let step = if std::env::var_os("EVERY_FRAME").is_some() {
        1
    } else {
        (frames / places).max(1)
    };
    for n in (1..=frames).step_by(usize::try_from(step).unwrap()) {
        let how = format!("{kind:?} {word}, {fault:?} at frame {n} of {frames}");
        let mut world = world_of(kind);
        let at = Some(world.client.frames + n);
        match fault {
            Fault::Kill => world.client.kill_at = at,
            Fault::Cut => world.client.cut_at = at,
        }
        world.say(&words(word));
        world.run(90_000);
        check(&world, &words(word), &how);
        // What a restart cut off stays only where it was seen.
        if word != "restart" {
            assert_eq!(world.talk(), talk, "{how}");
        }
    }
}

#[test]
fn a_pheby_answer_survives_a_cut_anywhere() {
    survives(Kind::Pheby, "plain", Fault::Cut, 30);
    survives(Kind::Pheby, "tools", Fault::Cut, 16);
    for word in [
        "think", "todo", "table", "empty", "file", "notice", "fail", "restart", "cut",
    ] {
        survives(Kind::Pheby, word, Fault::Cut, 4);
    }
}

#[test]
fn a_pheby_answer_survives_the_end_of_the_program_anywhere() {
    survives(Kind::Pheby, "plain", Fault::Kill, 30);
    survives(Kind::Pheby, "tools", Fault::Kill, 16);
    for word in ["think", "todo", "empty", "file", "notice", "restart", "cut"] {
        survives(Kind::Pheby, word, Fault::Kill, 3);
    }
}

#[test]
fn an_iris_answer_survives_a_cut_anywhere() {
    survives(Kind::Iris, "plain", Fault::Cut, 30);
    survives(Kind::Iris, "tools", Fault::Cut, 16);
    for word in [
        "think", "todo", "table", "empty", "file", "notice", "fail", "restart", "cut",
    ] {
        survives(Kind::Iris, word, Fault::Cut, 4);
    }
}

#[test]
fn an_iris_answer_survives_the_end_of_the_program_anywhere() {
    survives(Kind::Iris, "plain", Fault::Kill, 30);
    survives(Kind::Iris, "tools", Fault::Kill, 16);
    for word in ["think", "todo", "empty", "file", "notice", "restart", "cut"] {
        survives(Kind::Iris, word, Fault::Kill, 3);
    }
}

/// Plays a scene and kills the program before each of its transactions in turn. What is on disk is
/// then always a beginning of what happened, and the cursor covers no more than that: calls of
/// tools come again by the replay behind the cursor only, never with the history.
fn survives_every_write(kind: Kind, word: &str) {
    let mut whole = world_of(kind);
    let before = whole.client.commits;
    whole.say(&words(word));
    whole.run(60_000);
    check(&whole, &words(word), "undisturbed");
    let commits = whole.client.commits - before;
    assert!(commits > 5, "only {commits} transactions");
    for n in 1..=commits {
        let how = format!("{kind:?} {word}, killed before write {n} of {commits}");
        let mut world = world_of(kind);
        world.client.kill_at_commit = Some(world.client.commits + n);
        world.say(&words(word));
        world.run(90_000);
        if world.talk().is_empty() || !world.talk().iter().any(|(_, said)| *said == words(word)) {
            // Killed before the message was written down: it was never said.
            assert!(n <= 2, "{how}: the message is gone");
            continue;
        }
        check(&world, &words(word), &how);
        assert_eq!(world.talk(), whole.talk(), "{how}");
        if kind == Kind::Iris {
            assert_eq!(world.calls(), whole.calls(), "{how}");
        }
    }
}

#[test]
fn an_iris_answer_survives_the_end_of_the_program_between_any_two_writes() {
    for word in ["plain", "tools", "todo"] {
        survives_every_write(Kind::Iris, word);
    }
}

#[test]
fn a_pheby_answer_survives_the_end_of_the_program_between_any_two_writes() {
    for word in ["plain", "tools"] {
        survives_every_write(Kind::Pheby, word);
    }
}

/// A runtime that ends takes its run along, so an answer may be a part of one. Nothing is said twice,
/// nothing of the person's is lost, nothing goes on that has ended, and the next message is answered.
fn goes_on(word: &str, fault: Fault, places: u64) {
    let (frames, _) = undisturbed(Kind::Omi, word);
    let step = (frames / places).max(1);
    for n in (1..=frames).step_by(usize::try_from(step).unwrap()) {
        let how = format!("omi {word}, {fault:?} at frame {n} of {frames}");
        let mut world = world_of(Kind::Omi);
        let at = Some(world.client.frames + n);
        match fault {
            Fault::Cut => world.client.cut_at = at,
            Fault::Kill => world.client.kill_at = at,
        }
        world.say(&words(word));
        world.run(90_000);
        check(&world, &words(word), &how);
        let before = world.talk().len();
        world.say("plain: and now?");
        world.run(60_000);
        let talk = world.talk();
        assert_eq!(talk.len(), before + 2, "{how}: the next message\n{talk:#?}");
        assert!(talk[before].1 == "plain: and now?", "{how}\n{talk:#?}");
    }
}

#[test]
fn an_omi_conversation_goes_on_wherever_its_process_ends() {
    goes_on("plain", Fault::Cut, 24);
    goes_on("tools", Fault::Cut, 16);
    for word in ["think", "todo", "file", "fail", "restart"] {
        goes_on(word, Fault::Cut, 4);
    }
}

#[test]
fn an_omi_conversation_goes_on_wherever_the_program_ends() {
    goes_on("plain", Fault::Kill, 24);
    goes_on("tools", Fault::Kill, 12);
    for word in ["think", "todo", "file"] {
        goes_on(word, Fault::Kill, 3);
    }
}
