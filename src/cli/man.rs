//! Manual pages, made from the same source as `--help`, the list of settings and the live keymap:
//! the program with a page for each command (section 1), the configuration (5), the keys (7).

use super::args::Cli;
use super::{Exit, Failure};
use crate::app::keymap::Keymap;
use crate::config::file;
use crate::domain::io_words;
use clap::{Command, CommandFactory};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Prints one page: of the program, of a command, `config` or `keys`.
pub fn print(page: Option<&str>) -> Result<Exit, Failure> {
    let pages = pages()?;
    let wanted = match page {
        None => "trialogue.1".to_owned(),
        Some("config") => "trialogue-config.5".to_owned(),
        Some("keys") => "trialogue-keys.7".to_owned(),
        Some(command) => format!("trialogue-{command}.1"),
    };
    let (_, text) = pages
        .iter()
        .find(|(name, _)| *name == wanted)
        .ok_or_else(|| {
            Failure::usage(format!(
                "there is no page {:?}; there are config, keys, and one for each command",
                page.unwrap_or_default()
            ))
        })?;
    let _ = std::io::stdout().write_all(text);
    Ok(Exit::Done)
}

/// Writes every page below a folder of manuals, each into the folder of its section.
pub fn write(folder: &Path) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("{}: {}", folder.display(), io_words(&error)))
    };
    for (name, text) in pages()? {
        let section = name.rsplit_once('.').map_or("1", |(_, section)| section);
        let folder = folder.join(format!("man{section}"));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(Exit::Done)
}

fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    let page = |command: Command, name: &str| {
        let mut bytes = Vec::new();
        clap_mangen::Man::new(command)
            .title(name.to_uppercase())
            .render(&mut bytes)
            .map_err(|error| Failure::usage(error.to_string()))?;
        Ok::<_, Failure>((format!("{name}.1"), bytes))
    };
    pages.push(page(command.clone(), "trialogue")?);
    for verb in command.get_subcommands() {
        let name = format!("trialogue-{}", verb.get_name());
        pages.push(page(verb.clone(), &name)?);
    }
    pages.push(("trialogue-config.5".to_owned(), config_page().into_bytes()));
    pages.push(("trialogue-keys.7".to_owned(), keys_page().into_bytes()));
    Ok(pages)
}

/// Text that roff takes for nothing else.
fn roff(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if line.starts_with(['.', '\'']) {
            out.push_str("\\&");
        }
        out.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
        out.push('\n');
    }
    out
}

fn head(name: &str, section: u8, about: &str) -> String {
    format!(
        ".TH {} {section} \"\" \"trialogue {}\"\n.SH NAME\n{} \\- {}",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        roff(name).trim_end(),
        roff(about)
    )
}

fn config_page() -> String {
    let mut out = head("trialogue-config", 5, "configuration of trialogue");
    out.push_str(".SH FILES\n");
    for (file, meaning) in [
        (
            "config.toml",
            "Settings and accounts. Comments are never rewritten.",
        ),
        ("keys.toml", "Your own keys; see trialogue-keys(7)."),
        ("themes/NAME.toml", "Themes of your own."),
    ] {
        let _ = write!(out, ".TP\n.B {}{}", roff(file), roff(meaning));
    }
    out.push_str(".PP\n");
    out.push_str(&roff(
        "They lie in the folder that trialogue --print-paths names. trialogue config check says \
         what is wrong in them, with lines.",
    ));
    out.push_str(".SH EXAMPLE\n.nf\n");
    out.push_str(&roff(&file::example()));
    out.push_str(".fi\n");
    out
}

fn keys_page() -> String {
    let mut out = head("trialogue-keys", 7, "keys of trialogue and what they do");
    out.push_str(&roff(
        "The default scheme. trialogue keys lists those that hold with your own keys.toml, whose \
         tables are the contexts and whose values are the names of actions:",
    ));
    out.push_str(".PP\n.nf\n");
    out.push_str(&roff(
        "[composer]\n\"ctrl+s\" = \"send\"\n\"ctrl+x q\" = \"none\"",
    ));
    out.push_str(".fi\n");
    for (context, bindings) in Keymap::default().help() {
        let _ = write!(out, ".SH {}", roff(&context.name().to_uppercase()));
        for (chords, action) in bindings {
            let _ = write!(
                out,
                ".TP\n.B {}{} (\\fI{}\\fR)\n",
                roff(&chords.to_string()),
                roff(action.title()).trim_end(),
                roff(action.name()).trim_end()
            );
        }
    }
    out
}
