//! What is looked at in every state of the page: pictures, what those need who do not see it well, and that nothing jumps.

use std::path::PathBuf;

use serde_json::Value;
use weir_tests::browser::Browser;

/// Phone, tablet, desktop, and a wide screen.
const SHAPES: [(u32, u32); 4] = [(390, 844), (820, 1_180), (1_440, 1_100), (2_560, 1_440)];

/// In all widths and both colours: nothing is wrong for anybody; and pictures, if they are wanted.
pub async fn pictures(page: &Browser, name: &str) {
    for (width, height) in SHAPES {
        for scheme in ["light", "dark"] {
            page.shape(width, height, scheme).await;
            page.run("document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
                .await;
            // Colours and widths have changed by the next frame, and what is drawn for the width in the one after that.
            page.wait_for_done(
                "requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
            )
            .await;
            check(page, &format!("{name}, {width}, {scheme}")).await;
            if let Some(directory) = std::env::var_os("WEIR_SCREENSHOTS") {
                let file = format!("fabric-{name}-{width}-{scheme}.png");
                page.screenshot(&PathBuf::from(directory).join(file)).await;
            }
        }
    }
    page.shape(1_440, 1_100, "light").await;
}

async fn check(page: &Browser, what: &str) {
    let wrong = page.run(include_str!("../../src/accessible.js")).await;
    assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
    if let Some(axe) = std::env::var_os("WEIR_AXE") {
        page.run(&std::fs::read_to_string(axe).unwrap()).await;
        let script = "axe.run().then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 2).join())))";
        let wrong = page.wait_for_done(script).await;
        assert_eq!(wrong, Value::Array(Vec::new()), "axe: {what}");
    }
}

/// While what is shown stays the same but for figures, nothing moves: ten states long.
pub async fn nothing_moves(page: &Browser) {
    page.run(
        "window.moved = []; window.states = 0; const was = show;
         show = (next, again) => { window.states += 1; was(next, again); };
         window.observer = new PerformanceObserver(list => window.moved.push(...list.getEntries().map(one => [one.value, ...one.sources.map(source => source.node?.id || source.node?.parentElement?.outerHTML.slice(0, 80))])));
         observer.observe({type: 'layout-shift'});",
    )
    .await;
    page.until("window.states >= 10").await;
    let moved = page.run("return [PerformanceObserver.supportedEntryTypes.includes('layout-shift'), window.moved]").await;
    assert_eq!(moved, serde_json::json!([true, []]));
}
