//! A text as words with their positions, like C++'s `>>`: line breaks do not matter.

use thiserror::Error;

/// Reason for which a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ImportError {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Error and advice.
    pub message: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    file: &'a str,
    pub(super) line: usize,
    column: usize,
    pub(super) text: &'a str,
}

impl Word<'_> {
    pub(super) fn wrong(&self, message: impl Into<String>) -> ImportError {
        ImportError {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }

    /// Returns a whole number up to `most`.
    pub(super) fn number(&self, what: &str, most: u64) -> Result<u64, ImportError> {
        let number = self.text.parse::<u64>();
        let number = number
            .map_err(|_| self.wrong(format!("`{}` is no whole number: {what}", self.text)))?;
        if number > most {
            return Err(self.wrong(format!("{number}: {what}, {most} at most")));
        }
        Ok(number)
    }
}

pub(super) struct Words<'a> {
    file: &'a str,
    words: Box<dyn Iterator<Item = Word<'a>> + 'a>,
    /// Position of the last word.
    last: (usize, usize),
}

impl<'a> Words<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let lines = text.lines().enumerate();
        let words = lines.flat_map(move |(line, text)| {
            text.split_ascii_whitespace().map(move |word| {
                let offset = word.as_ptr() as usize - text.as_ptr() as usize;
                let before = text.get(..offset).unwrap_or_default();
                Word {
                    file,
                    line: line + 1,
                    column: before.chars().count() + 1,
                    text: word,
                }
            })
        });
        Self {
            file,
            words: Box::new(words),
            last: (1, 1),
        }
    }

    /// Returns the next word; `what` names it in errors.
    pub(super) fn next(&mut self, what: &str) -> Result<Word<'a>, ImportError> {
        match self.words.next() {
            Some(word) => {
                self.last = (word.line, word.column + word.text.chars().count());
                Ok(word)
            }
            None => Err(ImportError {
                file: self.file.to_owned(),
                line: self.last.0,
                column: self.last.1,
                message: format!("the file ends here; expected {what}"),
            }),
        }
    }

    /// Returns the next word as a whole number up to `most`.
    pub(super) fn number(&mut self, what: &str, most: u64) -> Result<u64, ImportError> {
        self.next(what)?.number(what, most)
    }
}
