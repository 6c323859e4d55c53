//! What is set, what can be set, where it lies, and which version this is.

use super::*;

fn run(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(home, arguments).output().unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_was_probably_meant() {
    let home = tempfile::tempdir().unwrap();
    let (code, out, _) = run(home.path(), &["config", "check"]);
    assert!(code == Some(0) && out.contains("not there"), "{out}");
    let config = home.path().join("config");
    std::fs::create_dir_all(config.join("themes")).unwrap();
    std::fs::write(
        config.join("config.toml"),
        "# mine\nmuose = true\nkeys = \"vmi\"\ntheme = \"nrd\"\n\n[[account]]\nname = \"a\"\nkind = \"iris\"\nuri = \"x\"\n",
    )
    .unwrap();
    std::fs::write(
        config.join("keys.toml"),
        "[composer]\n\"ctrl+s\" = \"sned\"\n",
    )
    .unwrap();
    std::fs::write(
        config.join("themes/mine.toml"),
        "name = \"mine\"\n[colors]\nbackgruond = \"#000\"\n[roles]\ntext = \"accent blod\"\n",
    )
    .unwrap();
    let (code, _, wrong) = run(home.path(), &["config", "check"]);
    assert_eq!(code, Some(2), "{wrong}");
    for part in [
        "config.toml:2: muose",
        "did you mean `mouse`",
        "config.toml:3: keys",
        "did you mean `vim`",
        "config.toml:4: theme",
        "did you mean `nord`",
        "config.toml:9: account.uri",
        "did you mean `url`",
        "keys.toml:2",
        "mine.toml:3: no colour of a theme is called `backgruond`; did you mean `background`?",
        "mine.toml:5: `blod` is no colour and no style; did you mean `bold`?",
        "mine.toml: these colours are missing under [colors]: background, panel, raised, code, \
         selection, text, muted, border, accent, red, orange, yellow, green, cyan, blue, purple, pink",
    ] {
        assert!(wrong.contains(part), "{part} is missing:\n{wrong}");
    }
}

#[test]
fn the_program_starts_with_a_slip_in_its_settings_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(
        config.join("config.toml"),
        "muose = false\ntheme = \"nrod\"\n\n[[account]]\nname = \"a\"\nkind = \"pheby\"\nurl = \"127.0.0.1:9\"\nlabel = 1\n",
    )
    .unwrap();
    let (code, out, err) = run(home.path(), &["account", "list"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("127.0.0.1:9"), "{out}");
    for part in [
        "config.toml:1: muose",
        "did you mean `mouse`",
        "`nord`",
        "config.toml:8: account.label",
    ] {
        assert!(err.contains(part), "{part} is missing:\n{err}");
    }
    let mut pty = super::support::pty::Pty::start(
        super::support::pty::program(home.path(), &["--no-keyring"]),
        120,
        40,
    );
    // Standard error is under the screen, so the screen says it too.
    pty.wait_for("Passed over");
    pty.wait_for("muose");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
    // What is no TOML tells nothing of the accounts there are.
    std::fs::write(config.join("config.toml"), "theme = [\n").unwrap();
    let (code, _, err) = run(home.path(), &["account", "list"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("config.toml:") && err.contains("config check"),
        "{err}"
    );
    let (code, _, err) = run(home.path(), &["config", "check"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn the_example_is_well_as_it_stands_and_with_every_line_switched_on() {
    let home = tempfile::tempdir().unwrap();
    let (_, example, _) = run(home.path(), &["config", "example"]);
    let config = home.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), &example).unwrap();
    assert_eq!(run(home.path(), &["config", "check"]).0, Some(0));
    let switched_on: String = example
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with("[["))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(config.join("config.toml"), &switched_on).unwrap();
    let (code, out, wrong) = run(home.path(), &["config", "check"]);
    assert_eq!(code, Some(0), "{wrong}\n{switched_on}");
    assert!(out.contains("3 accounts"), "{out}");
}

#[test]
fn the_schema_is_json_and_knows_every_setting_of_the_example() {
    let home = tempfile::tempdir().unwrap();
    let (_, schema, _) = run(home.path(), &["config", "schema"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let (_, example, _) = run(home.path(), &["config", "example"]);
    let (settings, accounts) = example.split_once("[[account]]").unwrap();
    let keys = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.strip_prefix("# ")?.split_once(" = "))
            .map(|(key, _)| key.to_owned())
            .filter(|key| !key.contains(' '))
            .collect()
    };
    for key in keys(settings) {
        assert!(!schema["properties"][&key].is_null(), "{key}");
    }
    for key in keys(accounts) {
        let known = &schema["$defs"]["account"]["properties"][&key];
        assert!(!known.is_null(), "{key}");
    }
}

#[test]
fn paths_version_help_and_pages_are_printed() {
    let home = tempfile::tempdir().unwrap();
    let (code, paths, _) = run(home.path(), &["--print-paths"]);
    assert_eq!(code, Some(0));
    let file = home.path().join("config/config.toml");
    assert!(paths.contains(file.to_str().unwrap()), "{paths}");
    let (_, version, _) = run(home.path(), &["--version"]);
    assert!(
        version.starts_with(concat!("trialogue ", env!("CARGO_PKG_VERSION"))),
        "{version}"
    );
    assert!(version.contains("speaks Iris"), "{version}");
    let (_, help, _) = run(home.path(), &["--help"]);
    assert!(help.contains("Exit codes") && help.lines().all(|line| line.chars().count() <= 100));
    for page in ["send", "config", "keys"] {
        let (code, text, _) = run(home.path(), &["man", page]);
        assert!(
            code == Some(0) && text.contains(".TH") && text.len() > 500,
            "{page}"
        );
    }
    assert_eq!(run(home.path(), &["man", "nothing"]).0, Some(2));
    let folder = home.path().join("man");
    run(home.path(), &["man", "--dir", folder.to_str().unwrap()]);
    let count = std::fs::read_dir(folder.join("man1")).unwrap().count();
    assert!(count > 15, "{count} pages");
    assert!(folder.join("man5/trialogue-config.5").exists());
    assert!(folder.join("man7/trialogue-keys.7").exists());
}

#[test]
fn a_fresh_profile_has_an_empty_list_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [&["list"][..], &["list", "--json"], &["search", "word"]] {
        let (code, out, said) = run(home.path(), arguments);
        assert_eq!((code, out.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(said.contains("nothing is kept here yet"), "{said}");
    }
}

#[test]
fn options_of_every_command_stand_apart_from_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (_, help, _) = run(home.path(), &["send", "--help"]);
    let (own, every) = help.split_once("Options of every command:").unwrap();
    assert!(
        own.contains("--attach") && own.contains("--timeout"),
        "{own}"
    );
    assert!(every.contains("--no-mouse") && !own.contains("--no-mouse"));
    assert!(!every.contains("--attach"), "{every}");
}

#[test]
fn advice_fits_what_is_being_done() {
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", &["speed=400"]);
    for protocol in ["iris", "pheby"] {
        let url = &served.gateway(protocol).url;
        let add = ["account", "add", protocol, "new", url, "--no-keyring"];
        let output = command(home.path(), &add)
            .env("TRIALOGUE_SECRET_NEW", "wrong")
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert!(said.contains("nothing was saved"), "{said}");
        assert!(!said.contains("account login"), "{said}");
    }
    let plain = [
        "account",
        "add",
        "iris",
        "far",
        "ws://192.0.2.1",
        "--no-keyring",
    ];
    let output = command(home.path(), &plain)
        .env("TRIALOGUE_SECRET_FAR", "secret")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(
        said.contains("--allow-plain") && !said.contains(".."),
        "{said}"
    );

    // Nobody can be asked for a secret here, so it is said how one is given.
    let add = ["account", "add", "pheby", "a-b", "192.0.2.1", "--no-check"];
    let (code, _, said) = run(home.path(), &add);
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "standard input is no terminal, so the secret of a-b cannot be asked for",
        "--secret-stdin",
        "--secret-command",
        "TRIALOGUE_SECRET_A_B",
    ] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }

    let add = [
        "account",
        "add",
        "omi",
        "local",
        "--no-check",
        "--",
        "false",
    ];
    assert_eq!(run(home.path(), &add).0, Some(0));
    let (code, page, _) = run(home.path(), &["doctor", "--no-keyring"]);
    assert_eq!(code, Some(1), "{page}");
    assert!(page.contains("The runtime ended with code 1"), "{page}");
    assert!(page.contains("Does its program run"), "{page}");
    assert!(!page.contains("Does the server run"), "{page}");
}

#[test]
fn an_account_that_cannot_be_used_as_it_is_written_is_a_wrong_configuration() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(
        config.join("config.toml"),
        "[[account]]\nname = \"far\"\nkind = \"pheby\"\nurl = \"ws://192.0.2.1/ws\"\n\n\
         [[account]]\nname = \"none\"\nkind = \"omi\"\ncommand = [\"/nowhere/at/all\"]\n",
    )
    .unwrap();
    for account in ["far", "none"] {
        let output = command(
            home.path(),
            &["send", "--no-keyring", "-a", account, "hello"],
        )
        .env("TRIALOGUE_SECRET_FAR", "secret")
        .output()
        .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{account}: {said}");
    }
}
