//! The live page in Chromium while a ring locks.
//!
//! `WEIR_SCREENSHOTS=DIR` leaves pictures for the book there; `WEIR_AXE=axe.min.js` lets axe-core look, too.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use weir_lab::endpoint::run::clock;
use weir_lab::lab::configuration::PAGE_ADDRESS;
use weir_lab::lab::stage::Stage;
use weir_tests::browser::{with_browser, Browser};
use weir_tests::scenario;

/// Until the hosts begin to send: time for all of them to start.
const START_MARGIN: Duration = Duration::from_millis(1500);
const DESKTOP: (u32, u32) = (1360, 1000);
const PHONE: (u32, u32) = (390, 844);

/// A ring whose hosts send, and a browser that looks at its first switch.
fn look(overrides: &[&str], look: impl AsyncFnOnce(&Browser, &mut Stage)) {
    let scenario = scenario("ring4.toml", overrides);
    let mut stage = Stage::set_up(&scenario, false).unwrap_or_else(|error| panic!("{error:#}"));
    let start = clock().unwrap() + weir_core::Duration::from_nanos(START_MARGIN.as_nanos() as u64);
    stage.start_hosts(&scenario, start).unwrap();
    let namespace = stage.names().namespace("s1");
    let directory = stage.directory().to_owned();
    with_browser(&namespace, &directory, async |browser| {
        browser.shape(DESKTOP.0, DESKTOP.1, "light").await;
        browser.go(&format!("http://{PAGE_ADDRESS}/")).await;
        look(browser, &mut stage).await;
    });
    stage
        .tear_down()
        .unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn a_ring_that_locks_is_seen_and_so_is_a_daemon_that_goes_and_comes_back() {
    look(
        &["deadlock.policy=off", "duration=600s"],
        async |page, stage| {
            page.until("['degraded', 'failing'].includes(document.body.dataset.state)")
                .await;
            page.until("document.querySelector('#pfc').innerText.includes('◀ pauses s4')")
                .await;
            page.until(
                "document.querySelector('#pfc').innerText.includes('▶ paused by s2, SUSPECTED')",
            )
            .await;
            page.until("document.querySelector('.line.current svg rect.suspected')")
                .await;
            page.until("document.querySelector('.steps').innerText.includes('ongoing')")
                .await;
            page.until(
                "document.querySelector('#told').textContent.includes('port s2, priority 3')",
            )
            .await;
            page.until("document.querySelector('#events-table').innerText.includes('suspected')")
                .await;
            // The time line goes on while the suspicion lasts.
            let ticks = "document.querySelector('.chart').getAttribute('viewBox') && [...document.querySelectorAll('.steps .now')].map(e => e.innerText).join()";
            let before = page.run(&format!("return {ticks}")).await;
            page.until(&format!("({ticks}) !== {before}")).await;
            a_bar_shows_what_is_charged(page).await;
            check_and_picture(page, "locked").await;
            assert_eq!(page.console().await, Vec::<String>::new());

            let switch = &mut stage.switches[0];
            switch.end_process().unwrap();
            page.until("!document.getElementById('banner').hidden && document.body.dataset.state === 'gone'").await;
            page.shape(DESKTOP.0, DESKTOP.1, "light").await;
            check(page, "gone").await;
            switch.start_process().unwrap();
            // The API's client has a runtime of its own, which cannot be inside the browser's.
            std::thread::scope(|scope| scope.spawn(|| switch.ready()).join().unwrap()).unwrap();
            page.until("document.getElementById('banner').hidden && document.body.dataset.state !== 'gone'").await;
        },
    );
}

#[test]
fn a_release_is_seen_from_suspicion_to_the_end() {
    look(
        &["deadlock.policy=breaker", "duration=600s"],
        async |page, _| {
            page.until("[...document.querySelectorAll('#suspicions tbody tr')].some(tr => tr.innerText.includes('lasted'))").await;
            // The newest may be one that ended by itself: look through them for one that was released here.
            let released =
                "view && view.deadlocks.past.find(one => one.recorded && one.releases > 0)";
            page.until(released).await;
            page.run(&format!("chosen = ({released}).id")).await;
            page.until("document.querySelector('.line:not(.current) .steps')?.innerText.includes('cleared')").await;
            for step in [
                "last frame sent",
                "suspected",
                "first CLCM sent",
                "release begins",
                "cleared",
            ] {
                page.until(&format!(
                    "document.querySelector('.steps').innerText.includes('{step}')"
                ))
                .await;
            }
            page.until("document.querySelector('.chart rect.release')")
                .await;
            the_keyboard_is_enough(page).await;
            check_and_picture(page, "released").await;
            assert_eq!(page.console().await, Vec::<String>::new());
        },
    );
}

#[test]
fn levels_are_shown_where_a_class_has_them() {
    look(
        &["class.lossless.mode=level", "duration=600s"],
        async |page, _| {
            page.until("!document.getElementById('levels').hidden")
                .await;
            page.until("document.querySelector('#links').innerText.includes('Level 1 and above')")
                .await;
            page.until("document.querySelectorAll('#destinations tbody tr').length > 0")
                .await;
            check_and_picture(page, "levels").await;
            assert_eq!(page.console().await, Vec::<String>::new());
        },
    );
}

/// The bar of a buffer beyond xoff is full to its mark, and its value is told.
async fn a_bar_shows_what_is_charged(page: &Browser) {
    let script = "const bar = [...document.querySelectorAll('#pfc [role=meter]')].find(bar => bar.getAttribute('aria-label').includes('port s4'));
        return [bar.children[1].style.width, Number(bar.getAttribute('aria-valuenow')), bar.getAttribute('aria-valuetext')]";
    let told = page.run(script).await;
    assert!(told[1].as_f64().unwrap() > 30_000.0, "{told}");
    let width = told[0].as_str().unwrap().trim_end_matches('%');
    assert!(width.parse::<f64>().unwrap() > 30.0, "{told}");
    assert!(told[2].as_str().unwrap().contains("xoff at"), "{told}");
}

/// Everything that can be pressed is reached, shows where the focus is, and works by Enter's `click`.
async fn the_keyboard_is_enough(page: &Browser) {
    let told = page
        .run(
            "const was = chosen; chosen = null; showDeadlocks(view.deadlocks);
             const button = document.querySelector('#suspicions button:not(:disabled)'); button.focus({focusVisible: true});
             const outline = getComputedStyle(button).outlineStyle; const pressed = () => button.getAttribute('aria-pressed');
             const before = pressed(); button.click(); const chose = pressed(); button.click(); const after = pressed();
             chosen = was; showDeadlocks(view.deadlocks);
             const hold = document.getElementById('hold'); hold.click(); const held = document.body.dataset.state; hold.click();
             return [document.activeElement === button, outline, chose === 'true' && before === after, held]",
        )
        .await;
    assert_eq!(told, serde_json::json!([true, "solid", true, "held"]));
    page.until("document.body.dataset.state !== 'held'").await;
}

async fn check_and_picture(page: &Browser, name: &str) {
    if std::env::var_os("WEIR_SCREENSHOTS").is_some() {
        // A picture shows curves that have a past.
        page.until("[...trace.curves.values()].every(curve => curve.length > 30)")
            .await;
    }
    for (form, (width, height)) in [("desktop", DESKTOP), ("phone", PHONE)] {
        for scheme in ["light", "dark"] {
            page.shape(width, height, scheme).await;
            // Colours and widths have changed by the next frame.
            page.wait_for_done(
                "requestAnimationFrame(() => requestAnimationFrame(() => done(true)))",
            )
            .await;
            check(page, &format!("{name}, {form}, {scheme}")).await;
            if let Some(directory) = std::env::var_os("WEIR_SCREENSHOTS") {
                let file =
                    PathBuf::from(directory).join(format!("live-page-{name}-{form}-{scheme}.png"));
                page.screenshot(&file).await;
            }
        }
    }
}

async fn check(page: &Browser, what: &str) {
    let wrong = page.run(include_str!("../src/accessible.js")).await;
    assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
    if let Some(axe) = std::env::var_os("WEIR_AXE") {
        page.run(&std::fs::read_to_string(axe).unwrap()).await;
        let script = "axe.run().then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 2).join())))";
        let wrong = page.wait_for_done(script).await;
        assert_eq!(wrong, Value::Array(Vec::new()), "axe: {what}");
    }
}
