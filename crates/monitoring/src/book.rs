//! The rows of all metrics on the book's page.

use crate::definitions::{all, Definition, PROCESS};

/// New metrics are added to the table above this line.
const NEW_ROWS: &str = "<!-- new metrics go above this line: cargo xtask dashboards -->";

/// Returns the page with the row of every metric updated. New rows follow the others, and rows of undefined metrics are
/// removed.
///
/// # Errors
///
/// There is no place for a new row.
pub fn updated(page: &str) -> Result<String, String> {
    let mut left: Vec<&Definition> = all().chain(PROCESS).collect();
    let mut text = String::with_capacity(page.len());
    for line in page.lines() {
        match name_in(line) {
            Some(name) => {
                if let Some(place) = left.iter().position(|metric| metric.name == name) {
                    text += &row(left.remove(place));
                }
            }
            None => text = text + line + "\n",
        }
    }
    if left.is_empty() {
        return Ok(text);
    }
    let place = text
        .find(NEW_ROWS)
        .ok_or_else(|| format!("the page lacks the line `{NEW_ROWS}`"))?;
    let rows: String = left.into_iter().map(row).collect();
    text.insert_str(place, &rows);
    Ok(text)
}

/// The metric described by the row `line`.
fn name_in(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    let is_kind = ["counter |", "gauge |", "histogram |"]
        .iter()
        .any(|kind| rest.starts_with(kind));
    is_kind.then_some(name)
}

fn row(metric: &Definition) -> String {
    let labels: Vec<String> = metric
        .labels
        .iter()
        .map(|label| format!("`{label}`"))
        .collect();
    let labels = if labels.is_empty() {
        "–".to_owned()
    } else {
        labels.join(", ")
    };
    let (name, kind, help) = (metric.name, metric.kind.name(), metric.help);
    format!("| `{name}` | {kind} | {labels} | {help} |\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_renewed_added_and_removed() {
        let page = format!(
            "# Page\n| `weir_uptime_seconds` | gauge | – | Old. |\n| `weir_gone_total` | counter | – | Gone. |\ntext\n{NEW_ROWS}\n"
        );
        let text = updated(&page).unwrap();
        assert!(
            text.starts_with("# Page\n| `weir_uptime_seconds` | gauge | – | Time since"),
            "{text}"
        );
        assert!(!text.contains("weir_gone_total"));
        assert_eq!(text.matches("weir_uptime_seconds").count(), 1);
        let added = "| `weir_releases_total` | counter | `port`, `priority` | ";
        assert!(text.find(added) > text.find("text\n") && text.find(added) < text.find(NEW_ROWS));
        assert_eq!(updated(&text), Ok(text.clone()));
        assert!(updated("# Page\n").unwrap_err().contains(NEW_ROWS));
    }
}
