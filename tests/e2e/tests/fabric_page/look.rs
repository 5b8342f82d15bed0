//! Checks in every state of the page: pictures, accessibility, and a stable layout.

use weir_tests::browser::Browser;

/// Phone, tablet, desktop, and a wide screen.
const SHAPES: [(u32, u32); 4] = [(390, 844), (820, 1_180), (1_440, 1_100), (2_560, 1_440)];

/// In all widths and both colour schemes: checks accessibility, and takes pictures if requested.
pub async fn pictures(page: &Browser, name: &str) {
    for (width, height) in SHAPES {
        for scheme in ["light", "dark"] {
            page.shape(width, height, scheme).await;
            page.run("document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
                .await;
            page.drawn().await;
            page.check_accessible(&format!("{name}, {width}, {scheme}"))
                .await;
            page.picture(&format!("{width}/{name}-{scheme}")).await;
        }
    }
    page.shape(1_440, 1_100, "light").await;
}

/// While the content is the same except for figures, nothing moves: for ten states, or for a minute if figures for the book
/// are requested. Moves with a change of the verdict, for example if a busy machine delays a switch's answer, do not count,
/// nor others drawn in the same frame.
pub async fn nothing_moves(page: &Browser) {
    let states = if is_measured() { 60 } else { 10 };
    page.run(
        "window.moved = []; window.states = 0;
         const was = show, shown = [], frames = [];
         const words = () => document.getElementById('verdict').innerText.replace(/[\\d.,]+/g, '#');
         show = (next, again) => {
             const before = words(), at = performance.now(); was(next, again);
             const isSame = words() === before; shown.push({at, isSame}); window.states += 1;
         };
         const frame = () => { frames.push(performance.now()); requestAnimationFrame(frame); };
         frame();
         const isJudged = entry => {
             const [since] = frames.filter(at => at <= entry.startTime).slice(-2);
             return shown.every(({at, isSame}) => isSame || at < since || at > entry.startTime);
         };
         window.observer = new PerformanceObserver(list => window.moved.push(...list.getEntries().filter(isJudged).map(one => [one.value, ...one.sources.map(source => source.node?.id || source.node?.parentElement?.outerHTML.slice(0, 80))])));
         observer.observe({type: 'layout-shift'});",
    )
    .await;
    page.until(&format!("window.states >= {states}")).await;
    let moved = page.run("return [PerformanceObserver.supportedEntryTypes.includes('layout-shift'), window.moved]").await;
    assert_eq!(moved, serde_json::json!([true, []]));
    println!("{states} states, and nothing has moved");
}

/// Returns true if figures for the book are requested: `WEIR_MEASURE=1`.
pub fn is_measured() -> bool {
    std::env::var_os("WEIR_MEASURE").is_some()
}
