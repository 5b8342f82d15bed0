//! A run as one self-contained HTML file: its verdict, the network with its pauses over time, curves, deadlocks, flows
//! and buffers.

mod history;
mod network;
mod tables;

use serde::Serialize;
use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_svg::escaped;

use weir_svg::chart;
use weir_svg::quantity::setting;

use crate::{plot, slowdown, table};

pub use history::{End, History};

/// Maximum number of link ends on the page for which pauses are shown.
const ENDS_MAX: usize = 2_000;

/// Nothing is fetched, regardless of the file's contents.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

#[derive(Serialize)]
struct Data<'a> {
    seconds: &'a [f64],
    ends: Vec<history::Drawn>,
}

/// The page of `result` for `scenario`, with the pauses in `history`. `replay` is the command that repeats the run,
/// `program` the generator of the page.
pub fn html(
    scenario: &Scenario,
    result: &RunResult,
    history: &History,
    replay: &str,
    program: &str,
) -> String {
    let (ends, left_out) = history.drawn(ENDS_MAX);
    let mut main = tables::expectations(result);
    network(&mut main, scenario, history, ends.len(), left_out);
    let curves = plot::svg(&[(&result.scenario, result)], plot::Limits::of(scenario));
    section(&mut main, "Throughput and buffers", &curves);
    main.push_str(&tables::deadlocks(result));
    if let Some(chart) = slowdown::chart(result) {
        section(&mut main, "Slowdown by size", &chart::svg(&chart));
    }
    main.push_str(&tables::flows(result));
    main.push_str(&tables::buffers(result));
    main.push_str(&tables::drops(result));
    let data = Data {
        seconds: &history.seconds,
        ends,
    };
    // A name with `</script>` would end the element.
    let data = serde_json::to_string(&data).unwrap_or_default();
    let data = data.replace('<', "\\u003c");
    let mut out = String::with_capacity(main.len() + data.len() + (1 << 15));
    head(&mut out, result);
    header(&mut out, scenario, result, replay);
    out.push_str(&format!(
        "{}<main>\n{main}</main>\n<footer>Made by {}. This file needs nothing else.</footer>\n<script id=\"data\" type=\"application/json\">{data}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        links(&main),
        escaped(program),
        include_str!("../../assets/report.js")
    ));
    out
}

/// The verdict first, then the run's settings.
fn header(out: &mut String, scenario: &Scenario, result: &RunResult, replay: &str) {
    out.push_str(&format!(
        "<header><h1>{}: {}</h1>\n<p>{}</p>\n<p class=\"dim\">{}, {}, {} switches, {} hosts, {} flows, seed {}. The same again: <code>{}</code></p></header>\n",
        escaped(&result.scenario),
        escaped(&verdict(result)),
        escaped(&scenario.description),
        escaped(&table::title(result)),
        setting(result.duration_seconds),
        scenario.switches.len(),
        scenario.hosts.len(),
        scenario.flows.len(),
        result.seed,
        escaped(replay),
    ));
}

/// Links to the existing sections.
fn links(main: &str) -> String {
    let titles = main.split("<h2>").skip(1);
    let titles = titles.filter_map(|rest| rest.split("</h2>").next());
    let link = |title: &str| format!("<a href=\"#{}\">{title}</a>\n", tables::anchor(title));
    let links: String = titles.map(link).collect();
    format!("<nav aria-label=\"Sections\">\n{links}</nav>\n")
}

fn head(out: &mut String, result: &RunResult) {
    out.push_str(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        escaped(&result.scenario),
        escaped(&verdict(result)),
        include_str!("../../assets/report.css"),
    ));
}

fn section(out: &mut String, title: &str, content: &str) {
    out.push_str(&format!(
        "<section id=\"{}\"><h2>{title}</h2>\n<div class=\"wide\">{content}</div></section>\n",
        tables::anchor(title)
    ));
}

/// Formats the verdict in a few words, the worst first.
fn verdict(result: &RunResult) -> String {
    let lost: u64 = result.flows.iter().map(|flow| flow.lost).sum();
    let mut said = Vec::new();
    if result.deadlocked {
        said.push("deadlocked for good".to_owned());
    } else if result.suspected_peak > 0 {
        said.push(match result.releases {
            0 => "locked, and moved again".to_owned(),
            releases => format!("locked, and moved again after {releases} releases"),
        });
    } else {
        said.push("never locked".to_owned());
    }
    said.push(match lost {
        0 => "nothing lost".to_owned(),
        1 => "1 frame lost".to_owned(),
        lost => format!("{lost} frames lost"),
    });
    let failed = result.expectations.iter().filter(|one| !one.held).count();
    if failed > 0 {
        said.push(format!(
            "{failed} of {} expectations failed",
            result.expectations.len()
        ));
    }
    said.join(", ")
}

fn network(out: &mut String, scenario: &Scenario, history: &History, ends: usize, left_out: usize) {
    let Some(picture) = network::svg(scenario) else {
        section(
            out,
            "Who paused whom",
            "<p>The network is too large for a picture.</p>",
        );
        return;
    };
    if ends == 0 {
        section(
            out,
            "Who paused whom",
            &format!("{picture}<p>No switch paused a neighbor.</p>"),
        );
        return;
    }
    let last = history.seconds.len().saturating_sub(1);
    let left_out = match left_out {
        0 => String::new(),
        more => format!("<p class=\"dim\">{more} more ends of links paused for a shorter time and are not drawn.</p>"),
    };
    section(
        out,
        "Who paused whom",
        &format!(
            "<div class=\"controls\"><button id=\"play\" type=\"button\">Play</button><label>Time <input id=\"moment\" type=\"range\" min=\"0\" max=\"{last}\" value=\"{last}\"></label><output id=\"now\" for=\"moment\"></output></div>\n<div id=\"strip\" aria-hidden=\"true\"></div>\n{picture}<p class=\"dim\">An orange half of a link: the switch at its end pauses the other; the stronger, the longer in this interval. Red: these pauses form a circle.</p>\n<p id=\"pauses\" role=\"status\"></p>{left_out}"
        ),
    );
}

#[cfg(test)]
mod tests {
    use weir_svg::meaning::{PAUSED, RELEASE, SUSPECTED};

    use super::*;
    use crate::fixtures::{empty_result, ring4};

    fn history() -> History {
        History {
            seconds: vec![0.5, 1.0],
            ends: vec![End {
                switch: "s1".into(),
                peer: "s4".into(),
                priority: 3,
                bytes: vec![0, 60_000],
                paused_nanos: vec![0, 500_000_000],
            }],
        }
    }

    #[test]
    fn the_page_is_self_contained_and_begins_with_the_verdict() {
        let mut result = empty_result();
        result.deadlocked = true;
        let page = html(
            &ring4(),
            &result,
            &history(),
            "weir-sim run ring4.toml",
            "weir-sim",
        );
        for fetched in ["src=", "href=", "url(", "@import", "http://", "https://"] {
            let found = page
                .replace("http://www.w3.org/2000/svg", "")
                .replace("href=\"#", "");
            assert!(!found.contains(fetched), "{fetched}");
        }
        assert!(page.contains("<h1>empty: deadlocked for good, nothing lost</h1>"));
        assert!(page.contains("\"paused\":[0,100]"));
    }

    /// One meaning has one colour, here as in pictures, on the live page and in the terminal.
    #[test]
    fn colours_are_those_of_pictures() {
        let style = include_str!("../../assets/report.css");
        let (light, dark) = style.split_once("@media").unwrap();
        for meaning in [SUSPECTED, PAUSED, RELEASE] {
            for (style, colour) in [(light, meaning.light), (dark, meaning.dark)] {
                let declared = format!("--{}: {colour};", meaning.name);
                assert!(style.contains(&declared), "{declared}");
            }
        }
    }

    #[test]
    fn names_are_escaped_everywhere() {
        let evil = "</script><script>alert(1)</script>";
        let mut result = empty_result();
        result.scenario = evil.into();
        result.drops = [(evil.to_owned(), 1)].into();
        let mut history = history();
        history.ends[0].peer = evil.into();
        let page = html(&ring4(), &result, &history, evil, evil);
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), 2);
    }
}
