//! Errors as one line.

use std::error::Error;

/// An error with its causes, without duplicates: many errors include the text of their cause.
pub fn told(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text += ": ";
            text += &words;
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("cannot make {path}: {source}")]
        Named {
            path: &'static str,
            source: std::io::Error,
        },
        #[error("port {0}")]
        Around(&'static str, #[source] Box<Failure>),
    }

    #[test]
    fn each_cause_is_printed_once() {
        let refused = std::io::Error::from_raw_os_error(13);
        let cause = refused.to_string();
        let named = Failure::Named {
            path: "/run/weir/s1",
            source: refused,
        };
        assert_eq!(told(&named), format!("cannot make /run/weir/s1: {cause}"));
        assert_eq!(
            told(&Failure::Around("s2", Box::new(named))),
            format!("port s2: cannot make /run/weir/s1: {cause}")
        );
    }
}
