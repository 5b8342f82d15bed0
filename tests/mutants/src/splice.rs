//! All mutants in one copy of a source tree, each behind a question for its number.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::collect::{Edit, Site};

/// Replacements of one span, or text inserted at an empty one.
struct Place {
    span: Range<usize>,
    mutants: Vec<(u32, Edit)>,
}

/// Writes the files of `source` that have mutants into `tree`, with all mutants that are not `unviable`.
pub fn write(
    source: &Path,
    tree: &Path,
    sites: &[(u32, &Site)],
    unviable: &BTreeSet<u32>,
) -> Result<()> {
    let mut files: BTreeMap<&PathBuf, Vec<(u32, &Edit)>> = BTreeMap::new();
    for (number, site) in sites {
        let edits = files.entry(&site.file).or_default();
        if !unviable.contains(number) {
            edits.push((*number, &site.edit));
        }
    }
    for (file, edits) in files {
        let text =
            fs::read_to_string(source.join(file)).with_context(|| file.display().to_string())?;
        let spliced = splice(&text, &edits);
        let target = tree.join(file);
        // An unchanged file keeps its time, and cargo what it has built of it.
        if fs::read_to_string(&target).ok().as_ref() != Some(&spliced) {
            fs::write(&target, spliced).with_context(|| target.display().to_string())?;
        }
    }
    Ok(())
}

fn splice(text: &str, edits: &[(u32, &Edit)]) -> String {
    let mut places: BTreeMap<(usize, bool, Reverse<usize>), Place> = BTreeMap::new();
    for (number, edit) in edits {
        let span = match edit {
            Edit::Body { at, .. } | Edit::Arm { at } => *at..*at,
            Edit::Expression { span, .. } => span.clone(),
        };
        let place = places
            .entry((span.start, !span.is_empty(), Reverse(span.end)))
            .or_insert_with(|| Place {
                span,
                mutants: Vec::new(),
            });
        place.mutants.push((*number, (*edit).clone()));
    }
    let places: Vec<Place> = places.into_values().collect();
    let mut output = String::new();
    render(text, 0..text.len(), &places, &mut output);
    output
}

/// Appends the text of `span` with `places`, which lie within it, in order, outer ones first.
fn render(text: &str, span: Range<usize>, mut places: &[Place], output: &mut String) {
    let mut at = span.start;
    while let Some((place, rest)) = places.split_first() {
        output.push_str(&text[at..place.span.start]);
        let inside = rest
            .iter()
            .take_while(|inner| !place.span.is_empty() && inner.span.end <= place.span.end)
            .count();
        let mut alternatives = false;
        for (number, edit) in &place.mutants {
            let (begin, end) = marks(*number);
            match edit {
                Edit::Body { value, .. } => {
                    *output +=
                        &format!(" if weir_mutant::is({number}) {{ {begin}return {value};{end} }}");
                }
                Edit::Arm { .. } => {
                    *output += &format!(" {begin}if !weir_mutant::is({number}){end}")
                }
                Edit::Expression { text, .. } => {
                    output.push_str(if alternatives { " else " } else { "(" });
                    *output += &format!("if weir_mutant::is({number}) {{ {begin}{text}{end} }}");
                    alternatives = true;
                }
            }
        }
        if alternatives {
            output.push_str(" else { ");
        }
        render(text, place.span.clone(), &rest[..inside], output);
        if alternatives {
            output.push_str(" })");
        }
        at = place.span.end;
        places = &rest[inside..];
    }
    output.push_str(&text[at..span.end]);
}

fn marks(number: u32) -> (String, String) {
    (format!("/*{number}<*/"), format!("/*>{number}*/"))
}

/// Returns the mutants whose text contains the byte at `at`.
pub fn mutants_at(text: &str, at: usize, sites: &[u32]) -> Vec<u32> {
    let position = |number: &u32| {
        let (begin, end) = marks(*number);
        Some((text.find(&begin)?, text.find(&end)?))
    };
    let spans: Vec<(u32, usize, usize)> = sites
        .iter()
        .filter_map(|number| position(number).map(|(begin, end)| (*number, begin, end)))
        .collect();
    spans
        .iter()
        .filter(|(_, begin, end)| (*begin..*end).contains(&at))
        .map(|span| span.0)
        .collect()
}
