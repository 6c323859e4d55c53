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
];
