//! `weir-page`: a real ring that locks, is released, loses a switch, or is healthy, as shown in a browser; Prometheus'
//! discovery; a hundred switches; and invalid answers.
//!
//! `WEIR_SCREENSHOTS=DIR` saves pictures for the book there, in a folder for each width; `WEIR_MEASURE=1` prints the cost of
//! a hundred switches and twenty viewers, and checks for a minute that nothing moves.

mod fake;
mod hostile;
mod look;
mod many;
mod scraped;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use weir_lab::lab::configuration::PAGE_ADDRESS;
use weir_lab::lab::process::{inside, program, Process};
use weir_lab::lab::stage::Stage;
use weir_tests::browser::{with_browser, Browser};
use weir_tests::{scenario, GENTLE_RING};

use look::pictures;

const NOBODY: &str = "ghost=http://127.0.0.1:9";
/// Address of the page, in its namespace.
pub const PAGE: &str = "http://127.0.0.1:9466/";

pub fn start_page(namespace: &str, directory: &Path, arguments: &[String]) -> Process {
    let mut command = inside(namespace, &program("weir-page").unwrap());
    command.args(arguments);
    Process::start("weir-page", command, &directory.join("weir-page.log")).unwrap()
}

/// Runs a ring whose hosts send, `weir-page` polling its switches, and a browser showing it. The first switch is polled
/// through its page's listener, like a remote switch, all others through their sockets; `absent` are addresses without a
/// switch.
fn look_at_ring(overrides: &[&str], absent: &[&str], look: impl AsyncFnOnce(&Browser, &mut Stage)) {
    let scenario = scenario("ring4.toml", overrides);
    let mut stage = Stage::set_up(&scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    stage.start_hosts(&scenario).unwrap();
    let namespace = stage.names().namespace("s1");
    let directory = stage.directory().to_owned();
    let mut places = vec![format!("s1=http://{PAGE_ADDRESS}")];
    places.extend(absent.iter().map(|&place| place.to_owned()));
    let others = stage.switches[1..].iter();
    places.extend(others.map(|one| format!("{}={}", one.name, one.config.api_socket.display())));
    let arguments: Vec<String> = places
        .into_iter()
        .flat_map(|place| ["--switch".to_owned(), place])
        .collect();
    let page = start_page(&namespace, &directory, &arguments);
    with_browser(&namespace, &directory, async |browser| {
        browser.shape(1_440, 1_100, "light").await;
        browser.go(PAGE).await;
        look(browser, &mut stage).await;
    });
    page.end(Duration::from_secs(10)).unwrap();
    stage
        .tear_down()
        .unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn a_ring_that_locks_is_a_circle_and_who_is_gone_is_grey() {
    let overrides = ["deadlock.policy=off", "duration=600s"];
    look_at_ring(&overrides, &[NOBODY], async |page, stage| {
        page.until("view && view.links.length === 4 && view.layout === 'several parts'")
            .await;
        page.until("document.body.dataset.state === 'locked'").await;
        page.until("view.loops.some(loop => loop.suspected && loop.switches.length === 4)")
            .await;
        // All around, in the direction of the traffic, and nothing else.
        page.until("document.querySelectorAll('#map .pause.circle.suspected').length === 4")
            .await;
        for words in ["waits for s", "(priority 3): suspected of a deadlock"] {
            page.until(&format!(
                "document.querySelector('#loops li.bad').innerText.includes('{words}')"
            ))
            .await;
        }
        page.until("document.querySelector('#verdict-text').innerText.startsWith('Deadlock: s1 waits for s2, s2 for s3, s3 for s4, s4 for s1')").await;
        page.until("document.querySelectorAll('#map .node.locked').length === 4")
            .await;
        page.until("[...document.querySelectorAll('#map .node.unreachable')].map(node => node.dataset.name).join() === 'ghost'").await;
        let why = row("ghost");
        page.until(&format!(
            "{why}.includes('no connection') && {why}.includes('is weir-switchd running')"
        ))
        .await;
        four_suspicions_are_one_incident(page).await;
        a_clock_elsewhere_is_known_within_its_bound(page).await;
        drill_down(page).await;
        pictures(page, "locked").await;
        look::nothing_moves(page).await;
        assert_eq!(page.console().await, Vec::<String>::new());

        let switch = &mut stage.switches[2];
        switch.end_process().unwrap();
        page.until("view.switches.find(one => one.name === 's3').condition === 'unreachable'")
            .await;
        page.until("document.querySelectorAll('#map .node.unreachable').length === 2")
            .await;
        // The picture is unchanged: a missing switch keeps its place, and its links are dashed.
        page.until("view.links.length === 4").await;
        switch.start_process().unwrap();
        std::thread::scope(|scope| scope.spawn(|| switch.ready()).join().unwrap()).unwrap();
        page.until("view.switches.find(one => one.name === 's3').condition !== 'unreachable'")
            .await;
    });
}

fn row(name: &str) -> String {
    format!("[...document.querySelectorAll('#switches-table tbody tr')].find(tr => tr.cells[0].innerText === '{name}').innerText")
}

/// All began almost together, and are shown on one clock.
async fn four_suspicions_are_one_incident(page: &Browser) {
    page.until("view.incidents.length === 1 && view.incidents[0].switches === 4 && view.incidents[0].lasts").await;
    page.until("document.querySelectorAll('#lanes rect.suspected').length === view.incidents[0].lanes.length").await;
    let spread = page
        .run("return Math.max(...view.incidents[0].lanes.map(lane => lane.from_seconds))")
        .await;
    let spread = spread.as_f64().unwrap();
    assert!((0.0..5.0).contains(&spread), "suspected within {spread} s");
}

/// The first switch has this machine's clock, which `weir-page` does not know: it must find no offset, within the bound that
/// it reports.
async fn a_clock_elsewhere_is_known_within_its_bound(page: &Browser) {
    page.until("view.switches.find(one => one.name === 's1').clock.uncertainty_seconds < 0.05")
        .await;
    let clocks = page
        .run("return view.switches.filter(one => one.clock).map(one => [one.name, one.clock.is_ours, one.clock.offset_seconds, one.clock.uncertainty_seconds])")
        .await;
    for clock in clocks.as_array().unwrap() {
        let is_ours = clock[0] != "s1";
        assert_eq!(clock[1], is_ours, "{clock}");
        let (offset, bound) = (clock[2].as_f64().unwrap(), clock[3].as_f64().unwrap());
        assert!(
            offset.abs() <= bound && (bound == 0.0) == is_ours,
            "{clock}"
        );
        println!(
            "{}: {:.1} µs ± {:.1} µs",
            clock[0],
            offset * 1e6,
            bound * 1e6
        );
    }
}

/// Activates a row's button by keyboard: shows the switch's state, and the link to its page.
async fn drill_down(page: &Browser) {
    let press = "[...document.querySelectorAll('#switches-table button')].find(one => one.innerText === 's2')";
    page.run(&format!(
        "const button = {press}; button.focus(); button.click()"
    ))
    .await;
    page.until(&format!(
        "{press}.getAttribute('aria-pressed') === 'true' && document.activeElement === {press}"
    ))
    .await;
    page.until("document.querySelector('#one-title').innerText === 's2'")
        .await;
    page.until("document.querySelector('#one-page').href === 'http://127.0.0.1:9465/'")
        .await;
    page.until("document.querySelector('#one-reasons').innerText.includes('s3 holds s2 in priority 3 now')").await;
    page.until("document.querySelectorAll('#map .picked').length === 1")
        .await;
    let frozen = page
        .run("const freeze = document.getElementById('freeze'); freeze.click(); const frozen = document.getElementById('asked').innerText; freeze.click(); return [frozen, document.getElementById('asked').innerText]")
        .await;
    assert!(
        frozen[0].as_str().unwrap().starts_with("Frozen"),
        "{frozen}"
    );
    assert!(
        frozen[1].as_str().unwrap().starts_with("4 of 5"),
        "{frozen}"
    );
}

#[test]
fn a_release_is_on_the_time_line() {
    let overrides = ["deadlock.policy=breaker", "duration=600s"];
    look_at_ring(&overrides, &[NOBODY], async |page, stage| {
        page.until("view && view.incidents.some(one => !one.lasts && one.lanes.some(lane => lane.released_seconds !== null))").await;
        page.until("document.body.dataset.state === 'recovering'")
            .await;
        page.until("document.querySelectorAll('#incidents tbody tr').length > 0")
            .await;
        let released = "view.incidents.find(one => one.lanes.some(lane => lane.released_seconds !== null && lane.loops_found > 0))";
        page.until(released).await;
        page.run(&format!("chosenIncident = ({released}).id; show(view)"))
            .await;
        page.until("document.querySelector('#lanes rect.release')")
            .await;
        page.until("document.querySelector('#lanes-title').innerText.includes('a loop was found')")
            .await;
        pictures(page, "recovering").await;
        assert_eq!(page.console().await, Vec::<String>::new());
        // Hosts stop sending: nothing locks, and in the end all switches that answer are healthy.
        for host in &mut stage.hosts {
            host.stop_sending().unwrap();
        }
        page.until(
            "view.switches.filter(one => one.name !== 'ghost').every(one => one.suspicions === 0)",
        )
        .await;
        page.until("document.body.dataset.state === 'degraded'")
            .await;
        pictures(page, "degraded").await;
    });
}

#[test]
fn a_healthy_fabric_is_reported_as_healthy() {
    let overrides = [&GENTLE_RING[..], &["duration=600s"]].concat();
    look_at_ring(&overrides, &[], async |page, _| {
        page.until("view && view.links.length === 4 && view.counts.reachable === 4")
            .await;
        page.until("document.body.dataset.state === 'well'").await;
        page.until("document.querySelectorAll('#map .node').length === 4")
            .await;
        assert_eq!(
            page.run("return [view.loops.length, view.incidents.length, document.querySelectorAll('#map .pause').length]")
                .await,
            serde_json::json!([0, 0, 0])
        );
        look::nothing_moves(page).await;
        pictures(page, "well").await;
        assert_eq!(page.console().await, Vec::<String>::new());
    });
}

/// Returns a value of JavaScript as text.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
