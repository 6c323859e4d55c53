//! Texts as agents write them, each with something that is easily laid out wrong.

/// Name and text.
pub const ALL: &[(&str, &str)] = &[
    (
        "headings",
        "# One\n\nTwo\nlines\n---\n\nthree\n===\n### Four **bold** `code`\ntext right below\n\n####### seven\n",
    ),
    (
        "late definitions",
        "See [the guide][g] and [other], [Third][].\n\n> quoted [g]\n\n- item [other]\n\nText.\n\n[g]: https://a.example/guide \"Title\"\n[other]: <https://b.example/with space>\n\n[third]: https://c.example\n[g]: https://ignored.example\n\nAfter [g].\n",
    ),
    (
        "lists",
        "Steps:\n- one\n- two\n  continued\n  - nested a\n  - nested b\n\n    with paragraph\n- three\n\n1. loose\n\n2. list\n\n   ```rust\n   fn x() {}\n   ```\n\n3. end\n\n10) ten\n11) eleven\n\n- [ ] open\n- [x] done\n  1. deep\n     - deeper\n       - deepest **bold text that is long enough to wrap around the line**\n* other list\n+ third list\n\n-\n- \n   - x\n",
    ),
    (
        "fences",
        "Text before\n```rust\nfn main() {\n    println!(\"hi, this is a long line that does not fit into the sixty cells\");\n}\n```\n~~~\nplain\n\n\nlines\n~~~\n\n    indented code\n      more\n\n````md\n```inner\n````\nopen:\n```python\ndef f():\n\n    return 1\n",
    ),
    (
        "tables",
        "| Name | 数量 | Note |\n|:-----|----:|:----:|\n| 配置 | 1 | `code` and **bold** |\n| 👨‍👩‍👧 family | 22 | 🇩🇪 flag e\u{301} |\n| long | 333 | a cell with a good many words that will have to wrap somewhere in the column |\n\nafter\n\na | b\n--|--\n1 | 2 | 3\n4\n\n| a | b | c | d | e | f | g | h | i | j | k | l |\n|-|-|-|-|-|-|-|-|-|-|-|-|\n| one | two | three | four | five | six | seven | eight | nine | ten | eleven | twelve |\n",
    ),
    (
        "html",
        "<div class=\"x\">\n<b>bold</b>\n\n</div>\n\ntext <span>inline</span> and<br>break\n\n<!-- comment\n\nover lines -->\n\n<details><summary>S</summary>\n\nInside *md*\n\n</details>\n",
    ),
    (
        "quotes",
        "> a quote that is long enough to be wrapped when the pane is only sixty cells wide\n> - list in it\n>\n>   more\n>> nested\nlazy\n\n> [!NOTE]\n> Remember **this**.\n\n> [!WARNING]\n> Careful.\n> ```sh\n> rm -rf /\n> ```\n\n>\n\ntext\n",
    ),
    (
        "links",
        "[https://bank.example](https://evil.example) [same](https://a.example) <https://auto.example> https://bare.example/path_(x). ![pic](https://img.example/a.png) [x](javascript:alert(1)) [y](<file:///etc/passwd>) mail <a@b.example>\n\n`https://code.example` **https://bold.example/very/long/path/that/goes/on/and/on/and/on/until/it/wraps**\n",
    ),
    (
        "footnotes",
        "Text[^1] and[^note], not[^none].\n\n[^1]: The first.\n[^note]:\n    With a paragraph.\n\n    - and a list\n\nEnd[^1].\n",
    ),
    (
        "maths",
        "Euler: $e^{i\\pi} + 1 = 0$ and it costs $5 or $6.\n\n$$\n\\int_0^1 x^2 dx\n$$\n",
    ),
    (
        "front matter",
        "---\ntitle: x\ntags: [a]\n---\n\n# Body\n\n---\na: b\n---\n",
    ),
    (
        "entities",
        "&lt;b&gt; &amp; &#27;[2J &#x202e;abc &#10; &zwj; x&ZeroWidthSpace;y\n\n[a](https://x&#x202e;y.example)\n",
    ),
    (
        "prose",
        "Line one\nline two  \nline three\\\nline four\n\n***\n\nA **bold *both* text** with ~~strike~~ and `a  b` code — 日本語の文章は、どこでも折り返すことができますが、句読点は行頭に来ません。(はい)\n\nsupercalifragilisticexpialidocious-and-some-more-letters-without-any-space-at-all-in-it\n",
    ),
    (
        "diff",
        "```diff\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-let old = 1;\n+let new = 1;\n same\n```\n",
    ),
    (
        "def traps",
        "[a]: https://one.example\n[a]\n\n- x\n\n  [b]: https://two.example\n\n[b] and [c][b]\n\n> [c]: https://three.example\n\n[c]\n\n[d]:\nhttps://four.example\n'title'\n\n[d]\n[e]: not a definition, it is in a paragraph\n",
    ),
    ("answer: build failure", ANSWER_BUILD),
    ("answer: comparison", ANSWER_COMPARISON),
    ("answer: review", ANSWER_REVIEW),
    ("answer: 日本語", ANSWER_JAPANESE),
    (
        "answer: right to left",
        "**שלום**, זה טקסט מעורב with English and `code` בתוך משפט.\n\n- العنصر الأول\n- می‌خواهم\n\n| שם | value |\n|---|---|\n| אחד | 1 |\n",
    ),
    ("answer: runbook", ANSWER_RUNBOOK),
    ("answer: config", include_str!("answers/config.md")),
    ("answer: html", include_str!("answers/html.md")),
    ("answer: incident", include_str!("answers/incident.md")),
    ("answer: letter", include_str!("answers/letter.md")),
    ("answer: links", include_str!("answers/links.md")),
    ("answer: maths", include_str!("answers/maths.md")),
    ("answer: nested", include_str!("answers/nested.md")),
    ("answer: plan", include_str!("answers/plan.md")),
    ("answer: rust", include_str!("answers/rust.md")),
    ("answer: shell", include_str!("answers/shell.md")),
    ("answer: sql", include_str!("answers/sql.md")),
    ("answer: travel", include_str!("answers/travel.md")),
    ("answer: typescript", include_str!("answers/typescript.md")),
    ("answer: unicode", include_str!("answers/unicode.md")),
];

const ANSWER_BUILD: &str = r#"# Why the build fails

A dependency is missing: `tokio-util` is used in `src/link.rs:14`, but **not** listed in
`Cargo.toml`. The compiler says so in its first error; the other 23 follow from it.

```text
error[E0432]: unresolved import `tokio_util`
  --> src/link.rs:14:5
   |
14 | use tokio_util::codec::{FramedRead, LinesCodec};
   |     ^^^^^^^^^^ use of undeclared crate or module
```

## What to do

1. Add the dependency:

   ```toml
   [dependencies]
   tokio-util = { version = "0.7", features = ["codec"] }
   ```

2. Run the build again:

   ```console
   $ cargo build --release
      Compiling trialogue v0.1.0
   ```

3. If it *still* fails, look at the [feature list][features] and at
   https://docs.rs/tokio-util/latest/tokio_util/codec/index.html.

> [!TIP]
> `cargo add tokio-util -F codec` does the first step for you.

---

Checked:

- [x] the lock file is not stale
- [x] no `[patch]` section
- [ ] the minimum Rust version

[features]: https://docs.rs/crate/tokio-util/latest/features "Feature flags"
"#;

const ANSWER_COMPARISON: &str = r#"Short answer: **take the second one** unless you need the graph view.

| | Iris | Pheby | Omi |
|:--|:--:|:--:|--:|
| Transport | WebSocket | WebSocket + HTTP | child process |
| Text arrives as | whole text so far | whole text so far | pieces |
| Approvals | a reply in the chat | `approval.respond` with one of the choices that the gateway sent | by local policy |
| Cost of 1,000 messages | 0.12 € | 0.09 € | 0 € |
| 评价 | ★★★☆☆ | ★★★★★ | ★★★★☆ |

Some details:

* **Iris** keeps a cursor[^cursor]; after a drop it *replays*.
* **Pheby** sends a snapshot, so nothing is replayed at all.
  * It is bounded to 500 messages.
  * Older ones stay as they are ~~until they expire~~.
* **Omi** has no network; the child's standard output *is* the link.

The formula for the delay is $d_n = \min(60, 2^n) \cdot (0.5 + r)$, with $r$ random in $[0, 1)$.

[^cursor]: An opaque string. It is stored in the same transaction as the messages, so a crash
    never skips one.
"#;

const ANSWER_REVIEW: &str = r#"I read the change. Two things are wrong and one is a matter of taste.

### 1. The lock is held across an await

```diff
--- a/src/store.rs
+++ b/src/store.rs
@@ -41,7 +41,8 @@ impl Store {
     pub async fn put(&self, row: Row) -> Result<()> {
-        let mut map = self.map.lock().unwrap();
-        self.disk.write(&row).await?;
+        self.disk.write(&row).await?;
+        let mut map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
         map.insert(row.key, row);
         Ok(())
     }
```

### 2. `is_empty` lies

> A set is empty when its length is zero.
>
> -- the documentation of `is_empty`

But here it is `self.len() <= 1`. That breaks `drain()`:

```rust
/// Takes everything out.
pub fn drain(&mut self) -> Vec<T> {
    let mut out = Vec::with_capacity(self.len()); // one too many
    while !self.is_empty() { out.push(self.pop().expect("not empty, so there is one more element to take")); }
    out
}
```

### 3. Taste

Names like `get_x` are not used elsewhere; see <https://rust-lang.github.io/api-guidelines/naming.html>
and [the house style](https://example.com/house/style#names).
"#;

const ANSWER_JAPANESE: &str = r#"## 設定ファイルの場所

設定は `~/.config/trialogue/config.toml` にあります。次の手順で確認してください：

1. **端末**を開きます。
2. `trialogue doctor` を実行します。長い行は、語の途中でも折り返されますが、句読点（「、」や「。」）が行頭に来ることはありません。
3. 出力を確認します 👍🏽。

| 項目 | 説明 | 既定値 |
|------|------|-------:|
| `theme` | 配色の名前。`dark` または `light` | `dark` |
| `mouse` | マウスを使うかどうか | `true` |
| 👨‍👩‍👧‍👦 家族 | 結合文字 é と 🇯🇵 | 0 |

> 注意：古い形式のファイルは読み込まれません。
"#;

const ANSWER_RUNBOOK: &str = r#"Runbook
=======

Before you start
----------------

* Tell the others.
* Take a snapshot:
  ```sh
  pg_dump --format=custom --file="/var/backups/db-$(date +%F).dump" --jobs=4 --verbose postgresql://backup@db.internal.example/production
  ```
* Check that it is **complete**:
    1. list it,
    2. restore it to `db-test`,
       1. with the same version,
       2. without the owners,
          - unless they exist,
            - which they do not;
    3. count the rows.

The steps
---------

Step | Command | Who
--- | --- | ---
stop | `systemctl stop app` | on call
move | `mv /srv/app /srv/app.old && tar -xf /tmp/app.tar.zst -C /srv` | release manager
start | `systemctl start app` | on call

> [!CAUTION]
> Do not skip the second step.
> > Someone did, once.

<details>
<summary>Why not blue/green?</summary>

Because of the <kbd>license</kbd> server.
</details>

    $ systemctl status app
    ● app.service - The application
       Active: active (running)

Questions? Mail <ops@example.com>.
"#;
