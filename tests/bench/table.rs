//! The numbers that the reading pane is held to, measured on the real program in a pseudo terminal
//! with data that is made here. Prints each figure with its limit as it is found, and at the end
//! the table as it stands in the README.
//!
//! `cargo bench --bench table` runs everything, about six minutes and a history of a million
//! messages the first time; `cargo bench --bench table -- stream` one part (`cost`, `start`,
//! `stream`, `long`, `memory`, `idle`, `size`). `TRIALOGUE_BENCH_RUNS` says how often the noisy
//! ones are repeated; the median is taken.
#![allow(clippy::unwrap_used)]

#[path = "../markdown/corpus.rs"]
mod corpus;
#[path = "table/cost.rs"]
mod cost;
#[path = "table/gateway.rs"]
mod gateway;
#[path = "table/profile.rs"]
mod profile;
#[path = "table/terminal.rs"]
mod terminal;

use gateway::{Answer, Gateway, UPDATES, end};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::{Terminal, program};

/// One line of the table.
struct Line {
    measure: String,
    /// In the unit of the limit; the median of the runs.
    figure: f64,
    /// All runs, when there is more than one.
    runs: Vec<f64>,
    limit: f64,
    unit: &'static str,
    /// What the README says in brackets behind the measure.
    note: String,
    beside: String,
}

#[derive(Default)]
struct Table {
    lines: Vec<Line>,
}

impl Table {
    fn add(
        &mut self,
        measure: &str,
        mut runs: Vec<f64>,
        limit: f64,
        unit: &'static str,
        (note, beside): (String, String),
    ) {
        runs.sort_by(f64::total_cmp);
        let line = Line {
            measure: measure.to_owned(),
            figure: runs[runs.len() / 2],
            runs,
            limit,
            unit,
            note,
            beside,
        };
        line.print();
        self.lines.push(line);
    }
}

impl Line {
    fn spread(&self) -> String {
        match (self.runs.first(), self.runs.last()) {
            (Some(least), Some(most)) if self.runs.len() > 1 => {
                format!(" ({} to {})", short(*least), short(*most))
            }
            _ => String::new(),
        }
    }

    fn print(&self) {
        let verdict = if self.figure <= self.limit {
            "met"
        } else {
            "MISSED"
        };
        println!(
            "| {} | {}{} {} | {} {} | {verdict} | {} {} |",
            self.measure,
            short(self.figure),
            self.spread(),
            self.unit,
            short(self.limit),
            self.unit,
            self.note,
            self.beside
        );
    }

    /// The line in the README.
    fn told(&self) -> String {
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!(" ({note})"),
        };
        format!(
            "| {}{note} | {} {}{} | {} {} |",
            self.measure,
            short(self.figure),
            self.unit,
            self.spread(),
            short(self.limit),
            self.unit
        )
    }
}

fn short(number: f64) -> String {
    if number == 0.0 || number >= 100.0 {
        format!("{number:.0}")
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

fn main() {
    let parts: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let runs: usize = std::env::var("TRIALOGUE_BENCH_RUNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    let mut table = Table::default();
    println!("| measure | figure | limit | | beside it |\n|---|---:|---:|---|---|");
    if wants("start") {
        start(&mut table, runs);
    }
    if wants("stream") {
        stream(&mut table, runs);
    }
    if wants("cost") {
        update_cost(&mut table);
    }
    if wants("long") {
        long(&mut table, runs);
    }
    if wants("memory") {
        memory(&mut table);
    }
    if wants("idle") {
        idle(&mut table);
    }
    if wants("size") {
        size(&mut table);
    }
    println!("\n| measure | figure | limit |\n|---|---:|---:|");
    for line in &table.lines {
        println!("{}", line.told());
    }
    let missed = table
        .lines
        .iter()
        .filter(|line| line.figure > line.limit)
        .count();
    println!(
        "\n{} of {} limits are met.",
        table.lines.len() - missed,
        table.lines.len()
    );
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("Load of the machine at the end: {}", load.trim());
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn percentile(samples: &mut [f64], percent: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[(samples.len() * percent / 100).min(samples.len() - 1)]
}

fn size(table: &mut Table) {
    // Benchmarks are built with symbols; what is released is stripped.
    let stripped = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stripped");
    let program = env!("CARGO_BIN_EXE_trialogue");
    let status = std::process::Command::new("strip")
        .args(["-o".as_ref(), stripped.as_os_str(), program.as_ref()])
        .status();
    let (file, beside) = match status {
        Ok(status) if status.success() => (stripped, String::new()),
        _ => (
            program.into(),
            "not stripped: there is no `strip` here".to_owned(),
        ),
    };
    let bytes = std::fs::metadata(file).unwrap().len();
    let figure = bytes as f64 / f64::from(1 << 20);
    let words = (String::new(), beside);
    table.add("binary, stripped", vec![figure], 20.0, "MiB", words);
}

fn update_cost(table: &mut Table) {
    // The first rounds warm up.
    let small: Vec<_> = (0..4).map(|_| cost::of(10_000)).skip(1).collect();
    let large: Vec<_> = (0..4).map(|_| cost::of(1_000_000)).skip(1).collect();
    // The one comparison that cumulative text asks for is printed beside.
    let ratio = |large: Duration, small: Duration| large.as_secs_f64() / small.as_secs_f64();
    let ratios = small
        .iter()
        .zip(&large)
        .map(|(small, large)| ratio(large.update - large.prefix, small.update - small.prefix))
        .collect();
    let (small, large) = (&small[1], &large[1]);
    let note = format!(
        "with the one comparison of both texts: {:.2} times",
        ratio(large.update, small.update)
    );
    let beside = format!(
        "{:.0?} against {:.0?}, {} bytes painted; alone at 1 MB: prefix comparison {:.0?}, JSON scan {:.0?}, memory copy {:.0?}; from scratch {:.0?}",
        large.update,
        small.update,
        large.bytes,
        large.prefix,
        large.scan,
        large.copy,
        large.from_scratch
    );
    table.add(
        "one update at 1 MB of answer against 10 KB",
        ratios,
        1.5,
        "times",
        (note, beside),
    );
}

fn is_ready(screen: &vt100::Screen) -> bool {
    let (row, column) = screen.cursor_position();
    row + 6 > terminal::ROWS
        && column > 0
        && !screen.hide_cursor()
        && screen.contents().contains(profile::LAST)
}

/// Starts the program on a profile until the newest message stands over a composer.
fn open(home: &std::path::Path) -> (Terminal, Duration) {
    let terminal = Terminal::start(program(home), is_ready);
    let ready = terminal.found("a composer under the newest message");
    let took = ready - terminal.started;
    terminal.quiet(Duration::from_millis(300));
    (terminal, took)
}

fn start(table: &mut Table, runs: usize) {
    let home = profile::made(100_000);
    let (mut took, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..runs * 3 {
        let (terminal, one) = open(&home);
        took.push(ms(one));
        cpu.push(ms(terminal.exact_cpu().unwrap_or_else(|| terminal.cpu())));
    }
    let note = format!(
        "processor {:.0} ms, what follows in 0.3 s included",
        percentile(&mut cpu, 50)
    );
    table.add(
        "exec to usable composer, 100,000 messages, network dead",
        took,
        20.0,
        "ms",
        (note, String::new()),
    );
}

/// Types and deletes a letter this many times; how long each took to be painted, in milliseconds.
fn keys(terminal: &Terminal, times: usize, until: impl Fn() -> bool) -> Vec<f64> {
    terminal.send("ab");
    terminal.quiet(Duration::from_millis(30));
    terminal.wait_for("› ab");
    let (row, column) = terminal.cursor();
    let mut samples = Vec::new();
    while samples.len() < times && !until() {
        for (key, is_there) in [("x", true), ("\x7f", false)] {
            terminal.watch(move |screen| {
                screen
                    .cell(row, column)
                    .is_some_and(|cell| (cell.contents() == "x") == is_there)
            });
            let sent = terminal.send(key);
            samples.push(ms(terminal.found("a key on the screen") - sent));
            // Uneven, so that keys do not fall into step with the updates.
            std::thread::sleep(Duration::from_micros(
                20_000 + (samples.len() as u64 * 7_919) % 23_000,
            ));
        }
    }
    samples
}

fn stream(table: &mut Table, runs: usize) {
    const HISTORY: u64 = 10_000;
    let answer = Arc::new(Answer::new(cost::answer(60_000)));
    let gateway = Gateway::start(Arc::clone(&answer), HISTORY);
    let home = tempfile::tempdir().unwrap();
    profile::fresh(home.path(), HISTORY, &gateway.url);
    let terminal = Terminal::start(program(home.path()), is_ready);
    terminal.found("a composer under the newest message");
    terminal.wait_for("online");
    terminal.quiet(Duration::from_secs(2));

    let (mut median, mut p95) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut samples = keys(&terminal, 200, || false);
        median.push(percentile(&mut samples, 50));
        p95.push(percentile(&mut samples, 95));
        terminal.send("\x7f\x7f");
    }
    median.sort_by(f64::total_cmp);
    let note = format!("median {} ms", short(median[median.len() / 2]));
    let words = (note, String::new());
    table.add("key to painted bytes, p95, idle", p95, 1.5, "ms", words);

    let (mut cpu, mut bytes, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..runs {
        terminal.quiet(Duration::from_millis(500));
        let id = format!("a{run}");
        let last_words = end(&id);
        terminal.watch(move |screen| screen.contents().contains(&last_words));
        let (cpu_before, bytes_before) = (terminal.cpu(), terminal.bytes());
        gateway.stream(&id);
        let sent = gateway.sent();
        let found = terminal.found("the end of the answer");
        assert!(sent.began.elapsed() > Duration::from_secs(14));
        terminal.quiet(Duration::from_millis(300));
        cpu.push((terminal.cpu() - cpu_before).as_secs_f64());
        bytes.push((terminal.bytes() - bytes_before) as f64 / 1000.0);
        last.push(ms(found.saturating_duration_since(sent.final_text)));
    }
    let frames: Vec<String> = answer.frames().collect();
    let began = Instant::now();
    for frame in &frames {
        let _: serde::de::IgnoredAny = serde_json::from_str(frame).unwrap();
    }
    let scan = began.elapsed();
    let began = Instant::now();
    for frame in &frames {
        std::hint::black_box(frame.clone());
    }
    let note = format!(
        "a bare scan of its {} MB of JSON: {} s",
        frames.iter().map(String::len).sum::<usize>() / 1_000_000,
        short(scan.as_secs_f64())
    );
    let beside = format!(
        "{UPDATES} updates; a copy of them {} s",
        short(began.elapsed().as_secs_f64())
    );
    drop(frames);
    let words = (note, beside);
    table.add("whole stream: processor time", cpu, 0.6, "s", words);
    let rows = trialogue::render::markdown(&answer.text, &trialogue::render::Options::new(91));
    let least: usize = rows.iter().map(|row| row.text().trim_end().len() + 2).sum();
    let note = format!("each row once, without styles: {} KB", least / 1000);
    table.add(
        "whole stream: bytes to the terminal",
        bytes,
        250.0,
        "KB",
        (note, String::new()),
    );
    let words = Default::default();
    table.add("last update to final paint", last, 20.0, "ms", words);

    let (mut median, mut p95) = (Vec::new(), Vec::new());
    for run in 0..runs {
        terminal.quiet(Duration::from_millis(500));
        gateway.stream(&format!("k{run}"));
        let began = Instant::now();
        let mut samples = keys(&terminal, 400, || began.elapsed() > Duration::from_secs(14));
        gateway.sent();
        terminal.send("\x7f\x7f");
        median.push(percentile(&mut samples, 50));
        p95.push(percentile(&mut samples, 95));
    }
    median.sort_by(f64::total_cmp);
    let note = format!("median {} ms", short(median[median.len() / 2]));
    table.add(
        "key to painted bytes, p95, while the answer streams",
        p95,
        3.0,
        "ms",
        (note, String::new()),
    );
}

fn long(table: &mut Table, runs: usize) {
    const COUNT: u64 = 1_000_000;
    let home = profile::made(COUNT);
    let (mut opened, mut up, mut resized) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs * 2 + 1 {
        let (terminal, took) = open(&home);
        opened.push(ms(took));
        for _ in 0..10 {
            let sent = terminal.send("\x1b[5~");
            up.push(ms(terminal.painted(sent) - sent));
        }
        for columns in [80, 120, 100, 140, 120] {
            let sent = terminal.resize(columns, terminal::ROWS);
            resized.push(ms(terminal.painted(sent) - sent));
        }
    }
    // Every time it is opened a new process reads the file; the cache of the system is warm.
    for (measure, runs, limit) in [
        ("open 1,000,000 messages", opened, 50.0),
        ("page up there", up, 3.0),
        ("resize there", resized, 16.0),
    ] {
        table.add(measure, runs, limit, "ms", Default::default());
    }
}

fn memory(table: &mut Table) {
    for (count, name, limit) in [(5_000, "5,000", 25.0), (1_000_000, "1,000,000", 30.0)] {
        let home = profile::made(count);
        let (terminal, _) = open(&home);
        for _ in 0..20 {
            terminal.send("\x1b[5~");
            terminal.quiet(Duration::from_millis(60));
        }
        terminal.quiet(Duration::from_millis(500));
        let (resident, proportional) = terminal.memory();
        table.add(
            &format!("resident memory, {name} messages, highlighter loaded"),
            vec![resident as f64 / 1024.0],
            limit,
            "MiB",
            (
                String::new(),
                format!("proportional set {:.1} MiB", proportional as f64 / 1024.0),
            ),
        );
    }
}

fn idle(table: &mut Table) {
    let answer = Arc::new(Answer::new(cost::answer(1_000)));
    let gateway = Gateway::start(answer, 100);
    let home = tempfile::tempdir().unwrap();
    profile::fresh(home.path(), 1_000, &gateway.url);
    let terminal = Terminal::start(program(home.path()), is_ready);
    terminal.found("a composer under the newest message");
    terminal.wait_for("online");
    terminal.quiet(Duration::from_secs(8));
    let (cpu, bytes) = (terminal.cpu(), terminal.bytes());
    std::thread::sleep(Duration::from_secs(60));
    let spent = terminal.cpu() - cpu;
    let note = format!("processor {} ms, the heartbeat included", spent.as_millis());
    let painted = (terminal.bytes() - bytes) as f64;
    table.add(
        "idle for 60 s: bytes to the terminal",
        vec![painted],
        0.0,
        "bytes",
        (note, String::new()),
    );
}
