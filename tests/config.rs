//! The configuration: what is read, what is complained about and where, and that writing back
//! leaves everything else alone.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint};
use trialogue::config::file::{self, Config};
use trialogue::config::{ConfigErrors, keys, theme};

fn parse(text: &str) -> Config {
    match file::parse(Path::new("config.toml"), text) {
        Ok(config) if config.complaints.is_empty() => config,
        Ok(config) => panic!("{:?}", config.complaints),
        Err(errors) => panic!("{errors}"),
    }
}

/// What holds of a text with faults in it.
fn parse_with_faults(text: &str) -> Config {
    file::parse(Path::new("config.toml"), text).unwrap()
}

/// The complaints about a text, one a line.
fn complaints(text: &str) -> String {
    match file::parse(Path::new("config.toml"), text) {
        Ok(config) => ConfigErrors(config.complaints).to_string(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn everything_of_a_file_is_read() {
    let config = parse(
        r##"
theme = "light"
keys = "vim"
bell = false
downloads = "/srv/in"

[[account]]
name = "home"
kind = "iris"
url = "gateway.example"
secret_command = "pass show 'my gateway'"
color = "#7cb7ff"
proxy = ""
ca_file = "/etc/ca.pem"
allow_plain = true

[[account]]
kind = "pheby"
url = "https://agent.example"
disabled = true

[[account]]
name = "laptop"
kind = "omi"
command = ["omi-runtime", "--stdio"]
environment = { A = "b" }
directory = "/srv/proj"
owner = "me"
adapter = "local"
model = "m"
main_chat = true

[account.tools]
look = ["look", "-j"]
find = { command = "find it" }
"##,
    );
    assert_eq!(config.settings.theme.as_deref(), Some("light"));
    assert_eq!(config.settings.keys.as_deref(), Some("vim"));
    assert_eq!(config.settings.bell, Some(false));
    assert_eq!(config.settings.mouse, None);
    assert!(config.mouse() && config.has_theme());
    let [home, vps, laptop] = &config.accounts[..] else {
        panic!("{:?}", config.accounts);
    };
    assert_eq!(
        home.secret_command.as_deref().unwrap(),
        ["pass", "show", "my gateway"]
    );
    assert_eq!(home.color, Some((0x7c, 0xb7, 0xff)));
    assert_eq!(
        home.endpoint,
        Endpoint::Iris(NetworkEndpoint {
            url: "wss://gateway.example/".to_owned(),
            ca_file: Some("/etc/ca.pem".into()),
            allow_plain: true,
            proxy: Some(String::new()),
        })
    );
    assert_eq!(
        (vps.name.as_str(), vps.is_disabled),
        ("pheby@agent.example", true)
    );
    let Endpoint::Omi(process) = &laptop.endpoint else {
        panic!("{laptop:?}");
    };
    assert_eq!(process.command, ["omi-runtime", "--stdio"]);
    assert_eq!(process.environment["A"], "b");
    assert_eq!(process.tools["look"].command, ["look", "-j"]);
    assert_eq!(process.tools["find"].command, ["find", "it"]);
    assert!(process.main_chat);
}

#[test]
fn complaints_say_where_what_and_what_was_meant() {
    let check = |text: &str, wanted: &[&str]| {
        assert_eq!(complaints(text), wanted.join("\n"), "{text}");
    };
    check(
        "tehme = \"dark\"\n",
        &["config.toml:1: tehme: this key is not known; did you mean `theme`?"],
    );
    check(
        "bell = 3\nkeys = \"vi\"\n",
        &[
            "config.toml:1: bell: expected true or false",
            "config.toml:2: keys: `vi` is none of default, vim, emacs; did you mean `vim`?",
        ],
    );
    check(
        "\n[[account]]\nname = \"a\"\nkind = \"ires\"\nurl = \"x\"\n",
        &[
            "config.toml:4: account.kind: `ires` is none of pheby, iris, omi; did you mean `iris`? \
           The account `a` is left out.",
        ],
    );
    check(
        "[[account]]\nname = \"a\"\nkind = \"iris\"\nurl = \"ftp://x\"\nsecret = \"x\"\n",
        &[
            "config.toml:4: account.url: expected a host, or an http(s) or ws(s) address, not ftp://. \
           The account `a` is left out.",
            "config.toml:5: account.secret: this key is not known",
        ],
    );
    check(
        "[[account]]\nname = \"a\"\nkind = \"iris\"\nurl = \"x\"\ntheme = \"nord\"\n",
        &[
            "config.toml:5: account.theme: this is a setting, and settings stand above the first \
           [[account]]; here it belongs to the account. Move the line up",
        ],
    );
    check(
        "[[account]]\nname = \"a\"\nkind = \"omi\"\n",
        &[
            "config.toml:2: account.command: missing; expected a command: a list of words like \
           [\"pass\", \"show\", \"name\"]. The account `a` is left out.",
        ],
    );
    check(
        "[account]\nname = \"a\"\n",
        &[
            "config.toml:1: account: expected [[account]], in two brackets. This account is left out.",
        ],
    );
    check(
        "account = [1, { kind = \"pheby\", url = \"x\", command = \"y\", colour = 3, color = 4 }]\n",
        &[
            "config.toml:1: account: expected a table like { kind = \"iris\" }",
            "config.toml:1: account.color: expected a colour like \"#7cb7ff\"",
            "config.toml:1: account.command: this key is for accounts that run a program here",
            "config.toml:1: account.colour: this key is not known; did you mean `color`?",
        ],
    );
    let twice = "[[account]]\nname = \"a\"\nkind = \"iris\"\nurl = \"x\"\n".repeat(2);
    check(
        &twice,
        &[
            "config.toml:6: account.name: there is another account called `a`. The second one is \
           left out.",
        ],
    );
    assert!(complaints("theme = \n").starts_with("config.toml:1: "));
}

#[test]
fn what_is_in_order_holds_beside_what_is_wrong() {
    let config = parse_with_faults(
        "muose = false\nbell = 3\nmouse = false\nhide_content = \"yess\"\n\
         [[account]]\nname = \"a\"\nkind = \"iris\"\nurl = \"x\"\nproxi = \"y\"\ncolor = \"red\"\n\
         [[account]]\nname = \"b\"\nkind = \"iris\"\nurl = \"x\"\nproxy = 3\n\
         [[account]]\nname = \"c\"\nkind = \"iris\"\nurl = \"x\"\ndisabled = \"perhaps\"\n\
         [[account]]\nname = \"a\"\nkind = \"iris\"\nurl = \"other\"\n",
    );
    assert_eq!(config.settings.mouse, Some(false));
    assert_eq!(config.settings.bell, None);
    // Hiding is not switched off by a slip.
    assert_eq!(config.settings.hide_content, Some(true));
    // An account whose proxy or switch cannot be read would go where it must not.
    let names: Vec<_> = config.accounts.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["a"]);
    let Endpoint::Iris(endpoint) = &config.accounts[0].endpoint else {
        panic!("{config:?}");
    };
    assert_eq!(endpoint.url, "wss://x/");
    assert_eq!(config.complaints.len(), 8, "{:?}", config.complaints);
    assert!(file::parse(Path::new("config.toml"), "theme = [\n").is_err());
}

#[test]
fn a_file_with_a_fault_is_written_into_and_the_fault_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let wrong = "muose = true # mine\n[[account]]\nname = \"left\"\nkind = \"ires\"\n";
    std::fs::write(&path, wrong).unwrap();
    file::save_setting(&path, "bell", "false").unwrap();
    file::add_account(&path, &account("new")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("muose = true # mine\n"), "{text}");
    assert!(
        text.contains("bell = false") && text.contains("\"ires\""),
        "{text}"
    );
    let config = file::load(&path).unwrap();
    assert_eq!(config.accounts, [account("new")]);
    // The name of an account that was left out is taken all the same.
    assert!(file::add_account(&path, &account("left")).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn the_example_changes_nothing_and_holds_when_switched_on() {
    let example = file::example();
    assert_eq!(parse(&example), Config::default());
    let on: String = example
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with("[["))
        .map(|line| format!("{line}\n"))
        .collect();
    let config = parse(&on);
    assert_eq!(config.accounts.len(), 3);
    assert_eq!(config.settings.theme.as_deref(), Some("dark"));
}

#[test]
fn the_schema_is_json_and_knows_every_setting() {
    let schema: serde_json::Value = serde_json::from_str(&file::schema()).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    assert!(properties.contains_key("account"));
    for setting in trialogue::config::settings::SETTINGS {
        assert!(properties.contains_key(setting.name), "{}", setting.name);
    }
}

#[test]
fn a_missing_file_is_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        file::load(&folder.path().join("config.toml")).unwrap(),
        Config::default()
    );
}

#[test]
fn fields_of_the_wizard_make_an_account() {
    let field = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let account = file::account_from_fields(&[
        field("kind", "pheby"),
        field("url", "localhost:8765"),
        field("allow_plain", "yes"),
        field("secret_command", "pass show it"),
    ])
    .unwrap();
    assert_eq!(account.name, "pheby@localhost");
    assert_eq!(account.secret_command.unwrap(), ["pass", "show", "it"]);
    let errors = file::account_from_fields(&[field("kind", "omi"), field("command", "")]);
    assert!(
        errors
            .unwrap_err()
            .to_string()
            .starts_with("command: expected a command")
    );
}

fn account(name: &str) -> AccountConfig {
    let network = NetworkEndpoint {
        url: "wss://agent.example/ws".to_owned(),
        ..NetworkEndpoint::default()
    };
    AccountConfig::new(name, Endpoint::Pheby(network))
}

#[test]
fn accounts_come_and_go_and_comments_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/config.toml");
    file::add_account(&path, &account("one")).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let own = "# mine\ntheme  =  \"dark\" # good\n\n# first\n[[account]]\nname = \"x\"\n\
               kind = \"omi\"\ncommand = \"c\"\n[account.tools]\nt = [\"t\"]\n# end\n";
    std::fs::write(&path, own).unwrap();
    file::add_account(&path, &account("two")).unwrap();
    file::add_account(&path, &account("three")).unwrap();
    let names = || -> Vec<String> {
        let config = file::load(&path).unwrap();
        config
            .accounts
            .into_iter()
            .map(|account| account.name)
            .collect()
    };
    assert_eq!(names(), ["x", "two", "three"]);
    assert_eq!(file::load(&path).unwrap().accounts[1], account("two"));
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with(own.strip_suffix("# end\n").unwrap())
    );
    assert!(file::add_account(&path, &account("two")).is_err());
    file::remove_account(&path, "two").unwrap();
    assert_eq!(names(), ["x", "three"]);
    assert!(file::remove_account(&path, "two").is_err());
    file::remove_account(&path, "three").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for kept in [
        "# mine\ntheme  =  \"dark\" # good\n",
        "# first\n[[account]]",
        "# end",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn an_account_survives_writing_and_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let example = file::example();
    let on: String = example
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with("[["))
        .map(|line| format!("{line}\n"))
        .collect();
    let accounts = parse(&on).accounts;
    for account in &accounts {
        file::add_account(&path, account).unwrap();
    }
    assert_eq!(file::load(&path).unwrap().accounts, accounts);
}

#[test]
fn a_setting_is_changed_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.toml");
    let path = folder.path().join("config.toml");
    std::fs::write(
        &real,
        "# top\ntheme = \"dark\" # mine\n\n[[account]]\nkind = \"iris\"\nurl = \"x\"\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    file::save_setting(&path, "theme", "light").unwrap();
    file::save_setting(&path, "bell", "false").unwrap();
    assert_eq!(
        std::fs::read_to_string(&real).unwrap(),
        "# top\ntheme = \"light\" # mine\nbell = false\n\n[[account]]\nkind = \"iris\"\nurl = \"x\"\n"
    );
    assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(file::save_setting(&path, "bell", "loud").is_err());
    assert!(file::save_setting(&path, "nothing", "1").is_err());
}

#[test]
fn a_file_that_is_wrong_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let wrong = "theme = [\n";
    std::fs::write(&path, wrong).unwrap();
    assert!(file::save_setting(&path, "theme", "light").is_err());
    assert!(file::add_account(&path, &account("a")).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
}

#[test]
fn a_file_others_may_write_is_pointed_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(file::load(&path).unwrap().warnings.len(), 1);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(file::load(&path).unwrap().warnings.len(), 0);
}

#[test]
fn keys_come_with_their_place() {
    let file = keys::parse(
        Path::new("keys.toml"),
        "[composer]\n\"ctrl+s\" = \"send\"\n\n[global]\n\"ctrl+x q\" = \"none\"\n",
    )
    .unwrap();
    let found: Vec<_> = file
        .lines
        .iter()
        .map(|line| [&line.context, &line.keys, &line.action, &line.place].map(String::as_str))
        .collect();
    assert_eq!(
        found,
        [
            ["composer", "ctrl+s", "send", "keys.toml:2"],
            ["global", "ctrl+x q", "none", "keys.toml:5"],
        ]
    );
    let file = keys::parse(
        Path::new("keys.toml"),
        "a = 1\n[b]\n\"c\" = 2\n\"d\" = \"send\"\n",
    )
    .unwrap();
    assert_eq!((file.complaints.len(), file.lines.len()), (2, 1));
}

#[test]
fn themes_of_the_person_are_found_in_their_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("themes");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("mine.toml"), "name = \"mine\"").unwrap();
    std::fs::write(inside.join("notes.txt"), "").unwrap();
    std::fs::write(folder.path().join("config.toml"), "").unwrap();
    let names: Vec<_> = theme::themes(&inside)
        .into_iter()
        .map(|theme| theme.name)
        .collect();
    assert_eq!(names, ["mine"]);
    assert!(theme::find(&inside, "mine").is_some());
    assert!(theme::find(&inside, "../config").is_none());
    assert!(theme::themes(&folder.path().join("missing")).is_empty());
}
