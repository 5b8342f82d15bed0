//! Limits the texts of switches to the lengths that the page is designed for.

use std::cmp::Ordering;

/// Maximum length of a name in characters.
pub const NAME_MAX: usize = 48;
/// Maximum length of a sentence in characters.
pub const SENTENCE_MAX: usize = 300;

/// Returns at most `most` characters of `text`, without control characters.
pub fn cut(text: &str, most: usize) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut kept: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Orders `s2` before `s10`: consecutive digits count as a number.
pub fn by_number(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let (a_part, a_next) = part(a_rest);
        let (b_part, b_next) = part(b_rest);
        if a_part.is_empty() || b_part.is_empty() {
            return a_part.len().cmp(&b_part.len()).then_with(|| a.cmp(b));
        }
        let number = |text: &str| text.parse::<u64>().ok();
        let order = match (number(a_part), number(b_part)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a_part.cmp(b_part),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a_rest, b_rest) = (a_next, b_next);
    }
}

/// Returns the longest beginning that is all digits or has none, and the rest.
fn part(text: &str) -> (&str, &str) {
    let Some(first) = text.chars().next() else {
        return ("", "");
    };
    let digits = first.is_ascii_digit();
    let end = text.find(|c: char| c.is_ascii_digit() != digits);
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = ["s10", "s2", "leaf1", "s2a", "s02", "", "10", "9"];
        names.sort_by(|a, b| by_number(a, b));
        assert_eq!(names, ["", "9", "10", "leaf1", "s02", "s2", "s2a", "s10"]);
    }

    proptest! {
        #[test]
        fn the_order_is_one(names in proptest::collection::vec("[a-b0-1]{0,4}", 3)) {
            let (a, b, c) = (&names[0], &names[1], &names[2]);
            prop_assert_eq!(by_number(a, b), by_number(b, a).reverse());
            prop_assert_eq!(by_number(a, b) == Ordering::Equal, a == b);
            if by_number(a, b).is_le() && by_number(b, c).is_le() {
                prop_assert!(by_number(a, c).is_le());
            }
        }

        #[test]
        fn a_cut_text_is_short_and_printable(text: String, most in 1_usize..80) {
            let kept = cut(&text, most);
            prop_assert!(kept.chars().count() <= most);
            prop_assert!(!kept.contains(char::is_control));
        }
    }
}
