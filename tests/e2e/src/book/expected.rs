//! Compares a command's output with the book's.

/// Lines of output. A line `…` stands for any number of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected(Vec<String>);

const ANY: &str = "…";

impl Expected {
    /// Expects one more line.
    pub fn push(&mut self, line: &str) {
        self.0.push(line.trim_end().to_owned());
    }

    /// Checks that the output has exactly the lines of the book, if the book has any.
    ///
    /// # Errors
    ///
    /// The first line that differs.
    pub fn is_exactly(&self, output: &str) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut lines = output.lines().map(str::trim_end).peekable();
        let mut may_skip = false;
        for expected in &self.0 {
            if expected == ANY {
                may_skip = true;
                continue;
            }
            while may_skip && lines.peek().is_some_and(|line| line != expected) {
                lines.next();
            }
            may_skip = false;
            if lines.next() != Some(expected) {
                return Err(format!("does not come: {expected}"));
            }
        }
        match lines.next() {
            Some(line) if !may_skip => Err(format!("is not in the book: {line}")),
            _ => Ok(()),
        }
    }

    /// Checks the constant part of the output: lines without figures, dashes and curves (headings of tables, messages)
    /// except their spaces, and of all others the first word without its digits.
    ///
    /// # Errors
    ///
    /// The first line that differs.
    pub fn is_alike(&self, output: &str) -> Result<(), String> {
        let missing = self
            .0
            .iter()
            .filter(|line| !line.is_empty() && *line != ANY)
            .find(|line| {
                let wanted = stable(line);
                !output.lines().any(|line| match &wanted {
                    Stable::Line(words) => stable(line) == Stable::Line(words.clone()),
                    Stable::Word(word) => first_word(line) == *word,
                })
            });
        missing.map_or(Ok(()), |line| Err(format!("does not come: {line}")))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Stable {
    Line(Vec<String>),
    Word(String),
}

fn stable(line: &str) -> Stable {
    let changes = |c: char| c.is_ascii_digit() || matches!(c, '–' | '|');
    if line.contains(changes) {
        Stable::Word(first_word(line))
    } else {
        Stable::Line(line.split_whitespace().map(str::to_owned).collect())
    }
}

/// Returns the first word without its digits.
fn first_word(line: &str) -> String {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.chars().filter(|c| !c.is_ascii_digit()).collect()
}
