//! The table of routes in the book.

use super::{Route, ROUTES};

/// Path of the page with the table, from the root of the tree.
pub const PAGE: &str = "docs/src/reference/api.md";

const BEGIN: &str = "<!-- routes: cargo xtask dashboards writes them -->\n";
const END: &str = "<!-- end of the routes -->\n";

/// Returns the page with an updated table.
///
/// # Errors
///
/// The page has no place for it.
pub fn updated(page: &str) -> Result<String, String> {
    let missing = |mark: &str| format!("{PAGE} lacks the line `{}`", mark.trim_end());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table()))
}

fn table() -> String {
    let rows: String = ROUTES.iter().map(row).collect();
    format!("| request | body | answer | `switchctl` | |\n|---|---|---|---|---|\n{rows}")
}

fn row(route: &Route) -> String {
    let query = route.query();
    let request = format!("{} {}{query}", route.method.name(), route.shown_path());
    let body = route.body.map(|body| format!("`{body}`"));
    let commands: Vec<String> = route.commands.iter().map(|it| format!("`{it}`")).collect();
    let or_dash = |text: String| match text.is_empty() {
        true => "–".to_owned(),
        false => text,
    };
    format!(
        "| `{request}` | {} | `{}` | {} | {} |\n",
        or_dash(body.unwrap_or_default()),
        route.answer,
        or_dash(commands.join(", ")),
        route.summary,
    )
}
