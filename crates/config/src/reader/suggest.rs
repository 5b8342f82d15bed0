//! Suggestions for illegal words.

/// Less similar names are not suggested.
const ALIKE: f64 = 0.8;
/// Minimum length of a legal word to be found within another one.
const PART_MIN: usize = 4;

/// "unknown key; did you mean …? (valid: …)"
pub(crate) fn unknown(what: &str, word: &str, legal: &[&str]) -> String {
    let hint =
        nearest(word, legal).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let subject = if what == "key" {
        "unknown key".to_owned()
    } else {
        format!("unknown {what} `{word}`")
    };
    format!("{subject}{hint} (valid: {})", legal.join(", "))
}

/// The legal word that differs only in case and `_`, or is part of `word` (`breaker` of `deadlock-breaker`), or has the
/// most similar spelling.
fn nearest<'a>(word: &str, legal: &[&'a str]) -> Option<&'a str> {
    let word = plain(word);
    let same = legal.iter().find(|name| plain(name) == word);
    let part = || {
        let is_part = |name: &&&str| {
            name.len() >= PART_MIN && format!("-{word}-").contains(&format!("-{}-", plain(name)))
        };
        legal.iter().filter(is_part).max_by_key(|name| name.len())
    };
    let alike = || {
        let likeness = legal
            .iter()
            .map(|name| (strsim::jaro_winkler(&word, &plain(name)), name));
        let likeness = likeness.filter(|(likeness, _)| *likeness > ALIKE);
        likeness
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name)
    };
    same.or_else(part).or_else(alike).copied()
}

fn plain(word: &str) -> String {
    word.trim().to_ascii_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_found() {
        let policies = [
            "off",
            "breaker",
            "loop-breaker",
            "auto",
            "watchdog",
            "lifetime",
        ];
        let modes = ["lossy", "pfc", "level"];
        for (word, legal, meant) in [
            ("PFC", &modes[..], Some("pfc")),
            ("levels", &modes, Some("level")),
            ("deadlock-breaker", &policies, Some("breaker")),
            ("Loop_Breaker", &policies, Some("loop-breaker")),
            ("braker", &policies, Some("breaker")),
            ("nothing", &policies, None),
        ] {
            assert_eq!(nearest(word, legal), meant, "{word}");
        }
        assert_eq!(
            unknown("value", "PFC", &modes),
            "unknown value `PFC`; did you mean `pfc`? (valid: lossy, pfc, level)"
        );
    }
}
