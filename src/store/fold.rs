//! Text as the trigram table sees it: lower case, plain Latin letters without their accents, and
//! without loose accents.
//!
//! The table only says in which rows a piece of three characters stands. Whether the pieces follow
//! each other is looked up in the text, which has to be folded as SQLite folds it.

/// First and last character (lower and upper case may alternate within) of what SQLite takes for
/// the letter behind them with an accent; `\0` are accents by themselves. From
/// `fts5_remove_diacritic` of SQLite.
const ACCENTS: &[(u32, u32, char)] = &[
    (0x00e0, 0x00e5, 'a'),
    (0x00e7, 0x00e7, 'c'),
    (0x00e8, 0x00eb, 'e'),
    (0x00ec, 0x00ef, 'i'),
    (0x00f1, 0x00f1, 'n'),
    (0x00f2, 0x00f6, 'o'),
    (0x00f9, 0x00fc, 'u'),
    (0x00fd, 0x00fd, 'y'),
    (0x00ff, 0x00ff, 'y'),
    (0x0101, 0x0105, 'a'),
    (0x0107, 0x010d, 'c'),
    (0x010f, 0x010f, 'd'),
    (0x0113, 0x0119, 'e'),
    (0x011b, 0x011b, 'e'),
    (0x011d, 0x0123, 'g'),
    (0x0125, 0x0125, 'h'),
    (0x0129, 0x0130, 'i'),
    (0x0135, 0x0135, 'j'),
    (0x0137, 0x0137, 'k'),
    (0x013a, 0x013e, 'l'),
    (0x0144, 0x0148, 'n'),
    (0x014d, 0x0151, 'o'),
    (0x0155, 0x0159, 'r'),
    (0x015b, 0x0161, 's'),
    (0x0163, 0x0165, 't'),
    (0x0169, 0x016f, 'u'),
    (0x0171, 0x0173, 'u'),
    (0x0175, 0x0175, 'w'),
    (0x0177, 0x0177, 'y'),
    (0x017a, 0x017e, 'z'),
    (0x01a1, 0x01a1, 'o'),
    (0x01b0, 0x01b0, 'u'),
    (0x01ce, 0x01ce, 'a'),
    (0x01d0, 0x01d0, 'i'),
    (0x01d2, 0x01d2, 'o'),
    (0x01d4, 0x01d4, 'u'),
    (0x01d6, 0x01dc, 'u'),
    (0x01df, 0x01df, 'a'),
    (0x01e7, 0x01e7, 'g'),
    (0x01e9, 0x01e9, 'k'),
    (0x01eb, 0x01eb, 'o'),
    (0x01ed, 0x01ed, 'o'),
    (0x01f0, 0x01f0, 'j'),
    (0x01f5, 0x01f5, 'g'),
    (0x01f9, 0x01f9, 'n'),
    (0x01fb, 0x01fb, 'a'),
    (0x0201, 0x0203, 'a'),
    (0x0205, 0x0207, 'e'),
    (0x0209, 0x020b, 'i'),
    (0x020d, 0x020f, 'o'),
    (0x0211, 0x0213, 'r'),
    (0x0215, 0x0217, 'u'),
    (0x0219, 0x0219, 's'),
    (0x021b, 0x021b, 't'),
    (0x021f, 0x021f, 'h'),
    (0x0227, 0x0227, 'a'),
    (0x0229, 0x0229, 'e'),
    (0x022b, 0x022d, 'o'),
    (0x022f, 0x022f, 'o'),
    (0x0231, 0x0231, 'o'),
    (0x0233, 0x0233, 'y'),
    (0x0300, 0x0304, '\0'),
    (0x0306, 0x030c, '\0'),
    (0x030f, 0x030f, '\0'),
    (0x0311, 0x0311, '\0'),
    (0x031b, 0x031b, '\0'),
    (0x0323, 0x0328, '\0'),
    (0x032d, 0x032e, '\0'),
    (0x0330, 0x0331, '\0'),
    (0x1e01, 0x1e01, 'a'),
    (0x1e03, 0x1e07, 'b'),
    (0x1e09, 0x1e09, 'c'),
    (0x1e0b, 0x1e11, 'd'),
    (0x1e13, 0x1e13, 'd'),
    (0x1e15, 0x1e17, 'e'),
    (0x1e19, 0x1e1b, 'e'),
    (0x1e1d, 0x1e1d, 'e'),
    (0x1e1f, 0x1e1f, 'f'),
    (0x1e21, 0x1e21, 'g'),
    (0x1e23, 0x1e29, 'h'),
    (0x1e2b, 0x1e2b, 'h'),
    (0x1e2d, 0x1e2d, 'i'),
    (0x1e2f, 0x1e2f, 'i'),
    (0x1e31, 0x1e35, 'k'),
    (0x1e37, 0x1e37, 'l'),
    (0x1e39, 0x1e39, 'l'),
    (0x1e3b, 0x1e3d, 'l'),
    (0x1e3f, 0x1e43, 'm'),
    (0x1e45, 0x1e4b, 'n'),
    (0x1e4d, 0x1e53, 'o'),
    (0x1e55, 0x1e57, 'p'),
    (0x1e59, 0x1e5b, 'r'),
    (0x1e5d, 0x1e5d, 'r'),
    (0x1e5f, 0x1e5f, 'r'),
    (0x1e61, 0x1e63, 's'),
    (0x1e65, 0x1e69, 's'),
    (0x1e6b, 0x1e71, 't'),
    (0x1e73, 0x1e77, 'u'),
    (0x1e79, 0x1e7b, 'u'),
    (0x1e7d, 0x1e7f, 'v'),
    (0x1e81, 0x1e87, 'w'),
    (0x1e89, 0x1e89, 'w'),
    (0x1e8b, 0x1e8d, 'x'),
    (0x1e8f, 0x1e8f, 'y'),
    (0x1e91, 0x1e95, 'z'),
    (0x1e96, 0x1e96, 'h'),
    (0x1e97, 0x1e97, 't'),
    (0x1e98, 0x1e98, 'w'),
    (0x1e99, 0x1e99, 'y'),
    (0x1ea1, 0x1ea3, 'a'),
    (0x1ea5, 0x1eab, 'a'),
    (0x1ead, 0x1eb3, 'a'),
    (0x1eb5, 0x1eb7, 'a'),
    (0x1eb9, 0x1ebd, 'e'),
    (0x1ebf, 0x1ec5, 'e'),
    (0x1ec7, 0x1ec7, 'e'),
    (0x1ec9, 0x1ecb, 'i'),
    (0x1ecd, 0x1ecf, 'o'),
    (0x1ed1, 0x1ed7, 'o'),
    (0x1ed9, 0x1edf, 'o'),
    (0x1ee1, 0x1ee3, 'o'),
    (0x1ee5, 0x1ee7, 'u'),
    (0x1ee9, 0x1eef, 'u'),
    (0x1ef1, 0x1ef1, 'u'),
    (0x1ef3, 0x1ef9, 'y'),
];

/// Ranges in which capital letters of younger versions of Unicode stand, which SQLite leaves as they
/// are. Small ones between them stay anyway.
const CAPITALS: &[(u32, u32)] = &[
    (0x037f, 0x037f),
    (0x0528, 0x052e),
    (0x13a0, 0x13f5),
    (0x1c89, 0x1c89),
    (0x1c90, 0x1cba),
    (0x1cbd, 0x1cbf),
    (0x2c2f, 0x2c2f),
    (0xa698, 0xa69a),
    (0xa796, 0xa79e),
    (0xa7ab, 0xa7dc),
    (0xa7f5, 0xa7f5),
];

/// Folds a text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            folded.push(character.to_ascii_lowercase());
            continue;
        }
        match base(lower(character)) {
            '\0' => {}
            base => folded.push(base),
        }
    }
    folded
}

/// The small letter of a character.
fn lower(character: char) -> char {
    let code = u32::from(character);
    let is_left = match code {
        0x10400..0x10428 => false,
        0x10000.. => true,
        _ => CAPITALS
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&code)),
    };
    if is_left {
        return character;
    }
    match character {
        '\u{b5}' => 'μ',
        'ſ' | 'ẛ' => 's',
        '\u{345}' | '\u{1fbe}' => 'ι',
        'ς' => 'σ',
        'ϐ' => 'β',
        'ϑ' => 'θ',
        'ϕ' => 'φ',
        'ϖ' => 'π',
        'ϰ' => 'κ',
        'ϱ' => 'ρ',
        'ϵ' => 'ε',
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        _ => {
            let mut lower = character.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => character,
            }
        }
    }
}

/// A lower-case letter without its accent.
fn base(character: char) -> char {
    let code = u32::from(character);
    let index = ACCENTS.partition_point(|(first, _, _)| *first <= code);
    match index.checked_sub(1).map(|index| ACCENTS[index]) {
        Some((_, last, base)) if code <= last => base,
        _ => character,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::collections::BTreeMap;

    #[test]
    fn every_character_is_folded_as_sqlite_folds_it() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE VIRTUAL TABLE grams USING fts5 (
                   text, content = '', tokenize = 'trigram remove_diacritics 1', detail = none);
                 CREATE VIRTUAL TABLE words USING fts5vocab (grams, instance);
                 BEGIN;",
            )
            .unwrap();
        let all: Vec<char> = ('\u{80}'..='\u{1ffff}').collect();
        let mut insert = connection
            .prepare("INSERT INTO grams (rowid, text) VALUES (?1, ?2)")
            .unwrap();
        for character in &all {
            let text = format!("<{character}>");
            insert.execute((u32::from(*character), text)).unwrap();
        }
        let mut terms = connection.prepare("SELECT doc, term FROM words").unwrap();
        let terms: BTreeMap<u32, String> = terms
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let differ: Vec<_> = all
            .into_iter()
            .map(|character| {
                let folded = Some(fold(&format!("<{character}>")));
                let ours = folded.filter(|folded| folded.chars().count() == 3);
                let theirs = terms.get(&u32::from(character)).cloned();
                (character, ours, theirs)
            })
            .filter(|(_, ours, theirs)| ours != theirs)
            .collect();
        assert_eq!(differ, []);
    }
}
