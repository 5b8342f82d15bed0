//! Checks in every state of the page: pictures, accessibility, and a stable layout.

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
            page.drawn().await;
            page.check_accessible(&format!("{name}, {width}, {scheme}"))
                .await;
            page.picture(width, &format!("{name}-{scheme}")).await;
        }
    }
    page.shape(1_440, 1_100, "light").await;
}

/// While what is shown stays the same but for figures, nothing moves: ten states long, a minute where figures for the book are
/// wanted. What moves as the verdict says something else than before, as when a busy machine lets a switch answer late, does not
/// count, nor what is drawn in one frame with that.
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
