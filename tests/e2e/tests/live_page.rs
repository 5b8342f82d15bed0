//! The live page in Chromium: a ring that locks, one that recovers, one that loses frames, one that is healthy.
//!
//! `WEIR_SCREENSHOTS=DIR` saves pictures for the book there, in a folder for each width.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::Value;
use weir_lab::lab::configuration::PAGE_ADDRESS;
use weir_lab::lab::stage::Stage;
use weir_tests::browser::{with_browser, Browser};
use weir_tests::cpu;
use weir_tests::{keep_off_the_express_path, scenario, GENTLE_RING};

const DESKTOP: (u32, u32) = (1440, 1000);
const PHONE: (u32, u32) = (390, 844);
const SHAPES: [(u32, u32); 4] = [PHONE, (820, 1180), DESKTOP, (2560, 1300)];
const STEADY_UPDATES: u32 = 12;
/// Limit on the sum of layout shifts (1 is the whole window by its height): 0.1 counts as good. This is a thousandth of
/// that.
const SHIFT_MAX: f64 = 0.0001;

/// Runs a ring whose hosts send, and a browser that shows its first switch.
fn look(overrides: &[&str], look: impl AsyncFnOnce(&Browser, &mut Stage)) {
    let scenario = scenario("ring4.toml", overrides);
    let stage = Stage::set_up_with(&scenario, false, keep_off_the_express_path);
    let mut stage = stage.unwrap_or_else(|error| panic!("{error:#}"));
    stage.start_hosts(&scenario).unwrap();
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
            // The verdict is announced later, in its place.
            page.until(
                "document.querySelector('#told').textContent.includes('port s2, priority 3')",
            )
            .await;
            page.until("['degraded', 'failing'].includes(document.body.dataset.state)")
                .await;
            page.until("document.querySelector('#verdict-word').textContent === 'Failing: frames stand still'")
                .await;
            page.until("document.querySelector('#reasons').innerText.includes('nothing will release this')")
                .await;
            page.until("document.querySelector('#pfc').innerText.includes('◀ pauses s4')")
                .await;
            page.until(
                "/▶ paused by s2\\s+SUSPECTED/.test(document.querySelector('#pfc').innerText)",
            )
            .await;
            page.until("document.querySelector('.line.current svg rect.suspected')")
                .await;
            page.until("document.querySelector('.steps').innerText.includes('ongoing')")
                .await;
            page.until("/Suspected of a deadlock: [0-9.]+ KiB waiting, nothing sent for [0-9.]+ ms, paused by s2[.]/.test(document.querySelector('#events-table').innerText)")
                .await;
            the_picture_says_who_pauses_whom(page).await;
            // The timeline continues while the suspicion lasts.
            let ticks = "document.querySelector('.chart').getAttribute('viewBox') && [...document.querySelectorAll('.steps .now')].map(e => e.innerText).join()";
            let before = page.run(&format!("return {ticks}")).await;
            page.until(&format!("({ticks}) !== {before}")).await;
            a_bar_shows_what_is_charged(page).await;
            the_express_path_has_a_column_where_it_is_asked_for(page).await;
            nothing_moves(page).await;
            the_past_is_there_at_once(page).await;
            check_and_picture(page, "locked").await;
            assert_eq!(page.console().await, Vec::<String>::new());

            let switch = &mut stage.switches[0];
            switch.end_process().unwrap();
            page.until("!document.getElementById('banner').hidden && document.body.dataset.state === 'gone'").await;
            page.shape(DESKTOP.0, DESKTOP.1, "light").await;
            page.check_accessible("gone").await;
            switch.start_process().unwrap();
            // The API's client has its own runtime, which cannot be inside the browser's.
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
            // The newest may have ended by itself: search for one released here.
            let released =
                "view && view.deadlocks.past.find(one => one.recorded && one.releases > 0)";
            page.until(&format!("(chosen = ({released})?.id ?? null) !== null"))
                .await;
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
            the_axis_is_chosen(page).await;
            // Clicks may move things: the newest suspicion replaces the chosen one with the next update.
            page.run("chosen = null; window.asked = view").await;
            page.until("view !== asked").await;
            nothing_moves(page).await;
            check_and_picture(page, "recovering").await;
            assert_eq!(page.console().await, Vec::<String>::new());
        },
    );
}

#[test]
fn frames_that_are_lost_are_the_verdict() {
    // The watchdog drops stalled frames.
    look(
        &["deadlock.policy=watchdog", "duration=600s"],
        async |page, _| {
            page.until("document.body.dataset.state === 'degraded'")
                .await;
            page.until("document.querySelector('#reasons').innerText.includes('a PFC storm')")
                .await;
            page.until("document.querySelector('#facts').innerText.includes(' storm')")
                .await;
            page.until("document.querySelector('#events-table').innerText.includes('PFC storm: s2 pauses without end')")
                .await;
            check_and_picture(page, "degraded").await;
            assert_eq!(page.console().await, Vec::<String>::new());
        },
    );
}

#[test]
fn a_switch_that_is_well_says_so() {
    let overrides = [&GENTLE_RING[..], &["duration=600s"]].concat();
    look(&overrides, async |page, _| {
        // Rates of the last two seconds match what is sent.
        page.until("[...document.querySelectorAll('.flow span')].some(rate => rate.textContent.endsWith(' Mbit/s') && parseFloat(rate.textContent) > 3)")
            .await;
        page.until("document.body.dataset.state === 'live'").await;
        let told = "document.getElementById('verdict-word').textContent";
        assert_eq!(page.run(&format!("return {told}")).await, "Well");
        nothing_moves(page).await;
        check_and_picture(page, "well").await;
        assert_eq!(page.console().await, Vec::<String>::new());
    });
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
            for (width, height) in [PHONE, DESKTOP] {
                page.shape(width, height, "light").await;
                page.check_accessible(&format!("levels, {width}")).await;
            }
            assert_eq!(page.console().await, Vec::<String>::new());
        },
    );
}

/// Measures the cost of viewers for the book: the daemon's CPU time without a viewer, with one and with twenty, and that of
/// the page.
#[test]
#[ignore = "measures for a minute and a half; its figures are in the book"]
fn what_viewers_cost() {
    const MEASURED: Duration = Duration::from_secs(30);
    look(
        &["deadlock.policy=breaker", "duration=600s"],
        async |page, _| {
            page.until("view && view.deadlocks.past.some(one => one.recorded)")
                .await;
            let process = page.run("return view.status.pid").await.as_u64().unwrap();
            for (viewers, with_page) in [(0, false), (1, true), (20, true)] {
                let address = if with_page {
                    format!("http://{PAGE_ADDRESS}/")
                } else {
                    "about:blank".to_owned()
                };
                page.go(&address).await;
                let going = Arc::new(AtomicBool::new(true));
                let others: Vec<_> = (usize::from(with_page)..viewers)
                    .map(|_| {
                        let going = Arc::clone(&going);
                        std::thread::spawn(move || view_until(&going))
                    })
                    .collect();
                let before = (cpu_seconds(process), page.busy_seconds().await);
                tokio::time::sleep(MEASURED).await;
                let after = (cpu_seconds(process), page.busy_seconds().await);
                going.store(false, Ordering::Relaxed);
                let answers: u64 = others.into_iter().map(|other| other.join().unwrap()).sum();
                let share =
                    |before: f64, after: f64| 100.0 * (after - before) / MEASURED.as_secs_f64();
                println!(
                    "{viewers:>2} viewers: daemon {:.1} % of a core, page {:.1} %, {answers} answers to others",
                    share(before.0, after.0),
                    share(before.1, after.1)
                );
            }
        },
    );
}

/// Polls like the page, in the namespace of the thread that started it. Returns the number of answers.
fn view_until(going: &AtomicBool) -> u64 {
    let connection = TcpStream::connect(PAGE_ADDRESS).unwrap();
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut answers = 0;
    let mut ask = |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {PAGE_ADDRESS}\r\n\r\n");
        (&connection).write_all(request.as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        answers += 1;
        serde_json::from_slice::<Value>(&body).unwrap()
    };
    while going.load(Ordering::Relaxed) {
        let overview = ask("/overview");
        let deadlocks = &overview["deadlocks"];
        let newest = [&deadlocks["current"][0], &deadlocks["past"][0]];
        if let Some(id) = newest.iter().find_map(|one| one["id"].as_u64()) {
            ask(&format!("/timelines/{id}"));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    answers
}

fn cpu_seconds(process: u64) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let times = tasks.map(|task| {
        let thread: i32 = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
        cpu::time_of(process as u32, Pid::from_raw(thread))
    });
    times.sum::<Duration>().as_secs_f64()
}

/// The bar of a buffer beyond xoff is filled to its mark, and its value is in the text.
async fn a_bar_shows_what_is_charged(page: &Browser) {
    let script = "const bar = [...document.querySelectorAll('#pfc [role=meter]')].find(bar => bar.getAttribute('aria-label').includes('port s4'));
        return [bar.children[1].style.width, Number(bar.getAttribute('aria-valuenow')), bar.getAttribute('aria-valuetext')]";
    let told = page.run(script).await;
    assert!(told[1].as_f64().unwrap() > 30_000.0, "{told}");
    let width = told[0].as_str().unwrap().trim_end_matches('%');
    assert!(width.parse::<f64>().unwrap() > 30.0, "{told}");
    assert!(told[2].as_str().unwrap().contains("xoff at"), "{told}");
}

/// Every control can be reached, shows the focus, and works with Enter's `click`.
async fn the_keyboard_is_enough(page: &Browser) {
    let told = page
        .run(
            "const was = chosen; chosen = null; showDeadlocks(view.deadlocks);
             const button = document.querySelector('#suspicions button:not(:disabled)'); button.focus({focusVisible: true});
             const outline = getComputedStyle(button).outlineStyle; const pressed = () => button.getAttribute('aria-pressed');
             const before = pressed(); button.click(); const chose = pressed(); button.click(); const after = pressed();
             chosen = was; showDeadlocks(view.deadlocks);
             const freeze = document.getElementById('freeze'); freeze.click(); const frozen = document.body.dataset.state; freeze.click();
             return [document.activeElement === button, outline, chose === 'true' && before === after, frozen]",
        )
        .await;
    assert_eq!(told, serde_json::json!([true, "solid", true, "frozen"]));
    page.until("document.body.dataset.state !== 'frozen'").await;
}

/// In shapes and in words, and the words are the picture's name.
async fn the_picture_says_who_pauses_whom(page: &Browser) {
    page.until("document.querySelectorAll('#picture-svg .lane.pausing').length === 2")
        .await;
    page.until("document.querySelectorAll('#picture-svg .lane.suspected').length === 1")
        .await;
    let told = page
        .run("return document.getElementById('picture-words').textContent")
        .await;
    assert_eq!(told, "Frames for s2 stand still. We pause s4 and h1.");
}

/// Tests possible states of the page: no switch here uses the path. Its losses are the kernel's.
async fn the_express_path_has_a_column_where_it_is_asked_for(page: &Browser) {
    let shown = page
        .run(
            "const told = () => [byId('express-head').hidden, ...[...document.querySelectorAll('#ports-table tbody tr')].slice(0, 2).map(tr => [tr.cells[7].hidden, tr.cells[7].innerText, tr.cells[6].innerText])];
             const without = told(), one = structuredClone(view), lost = Number(without[1][2]);
             Object.assign(one.ports[0], {express: 'open', tx_frames_total: 200, express_tx_frames_total: 150});
             one.ports[0].kernel_losses.tx_redirect_total += 7;
             one.ports[1].express = 'flow_monitor';
             tables(one); const other = told(); tables(view);
             return [without[0], without[1][0], other[0], other[1].slice(0, 2), Number(other[1][2]) - lost, other[2].slice(0, 2), told()[0]]",
        )
        .await;
    let expected = serde_json::json!([
        true,
        true,
        false,
        [false, "open, 75 % of frames"],
        7,
        [false, "flow monitor"],
        true
    ]);
    assert_eq!(shown, expected);
}

/// A reloaded page has earlier curves.
async fn the_past_is_there_at_once(page: &Browser) {
    page.go(&format!("http://{PAGE_ADDRESS}/")).await;
    page.until("view && trace.curves.size === view.ports.length")
        .await;
    let script = "const first = trace.totals[0].at; return [...trace.curves.values()].map(curve => (first - curve[0].at) / 1e9)";
    let known = page.run(script).await;
    for seconds in known.as_array().unwrap() {
        assert!(seconds.as_f64().unwrap() > 3.0, "{known}");
    }
    page.until("view.deadlocks.current.length > 0").await;
    page.until("document.querySelector('.line.current .steps')")
        .await;
}

/// Updates change values and move nothing, on a phone and on a desktop.
async fn nothing_moves(page: &Browser) {
    for (width, height) in [PHONE, DESKTOP] {
        page.shape(width, height, "light").await;
        page.run(
            "window.moved = []; window.updates = 0;
             window.observer = new PerformanceObserver(list => moved.push(...list.getEntries()));
             observer.observe({type: 'layout-shift'});
             window.showOnce ??= show; show = answer => { showOnce(answer); updates += 1; };",
        )
        .await;
        page.until(&format!("updates >= {STEADY_UPDATES}")).await;
        page.drawn().await;
        let told = page
            .run(
                "moved.push(...observer.takeRecords()); observer.disconnect(); show = showOnce;
                 const place = rect => [rect.x, rect.y].map(Math.round).join();
                 return [moved.reduce((sum, entry) => sum + entry.value, 0),
                     moved.flatMap(entry => entry.sources.map(one => `${one.node?.nodeName} ${one.node?.className} ${place(one.previousRect)} to ${place(one.currentRect)}`)).slice(0, 8)]",
            )
            .await;
        assert!(told[0].as_f64().unwrap() <= SHIFT_MAX, "{width}: {told}");
    }
    page.shape(DESKTOP.0, DESKTOP.1, "light").await;
}

/// Buttons and pointer select a time span, and its scale.
async fn the_axis_is_chosen(page: &Browser) {
    let script = "const axis = card.axis, press = label => [...card.root.querySelectorAll('.tools button')].find(one => one.textContent === label).click();
        const drag = (from, to) => {
            const box = card.picture.getBoundingClientRect();
            const at = share => ({ bubbles: true, button: 0, pointerId: 1, clientX: box.left + textScale() * (card.drawn.left + share * card.drawn.inner), clientY: box.top + 9 });
            card.picture.setPointerCapture = () => {};
            for (const [kind, share] of [['pointerdown', from], ['pointermove', to], ['pointerup', to]]) card.picture.dispatchEvent(new PointerEvent(kind, at(share)));
        };
        const whole = axis.whole.join(), room = () => axis.share(0.001) - axis.share(0);
        const seen = { spread: room() };
        press('log'); seen.linear = room(); press('log');
        press('+'); seen.zoomed = axis.view[0] > axis.whole[0] && axis.view[1] < axis.whole[1]; const near = axis.view[0];
        press('▶'); seen.later = axis.view[0] > near; press('◀'); seen.back = Math.abs(axis.view[0] - near) < 1e-6;
        press('−'); seen.out = axis.part === null;
        drag(0.4, 0.6); const [from, to] = axis.view; seen.dragged = [axis.share(from), axis.share(to)]; seen.part = axis.part !== null;
        seen.ticks = card.svg.querySelectorAll('text').length;
        press('all'); seen.all = axis.view.join() === whole && axis.part === null;
        const lanes = new Set([...card.svg.querySelectorAll('.mark, .clcm')].map(mark => mark.getAttribute('d').match(/ ([0-9.]+)v/)[1]));
        seen.lanes = lanes.size; seen.marks = card.svg.querySelectorAll('.mark, .clcm').length;
        return seen";
    let seen = page.run(script).await;
    // The first millisecond is wide on the one axis, and hardly visible on the other, however long the release took.
    let share = |name: &str| seen[name].as_f64().unwrap();
    assert!(share("spread") > 2.0 * share("linear"), "{seen}");
    for name in ["zoomed", "later", "back", "out", "part", "all"] {
        assert_eq!(seen[name], true, "{name}: {seen}");
    }
    assert!(seen["ticks"].as_u64().unwrap() > 6, "{seen}");
    assert_eq!(seen["lanes"], 1, "{seen}");
    assert!(seen["marks"].as_u64().unwrap() > 4, "{seen}");
}

/// Waits two frames for the change of colours and widths.
async fn check_and_picture(page: &Browser, name: &str) {
    for (width, height) in SHAPES {
        for scheme in ["light", "dark"] {
            page.shape(width, height, scheme).await;
            page.check_accessible(&format!("{name}, {width}, {scheme}"))
                .await;
            page.picture(&format!("{width}/{name}-{scheme}")).await;
        }
    }
}
