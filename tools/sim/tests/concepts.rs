//! The committed pictures of the book's concepts are reproduced, and support the book's statements.

use std::path::Path;

use weir_sim::reproduce::concepts;

#[test]
fn the_books_pictures_are_those_of_the_runs() {
    let made = concepts::reproduce().unwrap_or_else(|error| panic!("{error}"));
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/concepts");
    assert_eq!(made.files.len(), 7);
    for file in &made.files {
        let path = directory.join(&file.name);
        let there = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            there == file.text,
            "{} is not what the simulator draws: `cargo xtask figures` draws it anew",
            path.display()
        );
    }
}

#[test]
fn the_ring_locks_and_each_way_out_moves_it_without_loss() {
    let made = concepts::reproduce().unwrap_or_else(|error| panic!("{error}"));
    let row = |way: &str| {
        let line = made.report.lines().find(|line| line.starts_with(way));
        let cells = line.unwrap_or_else(|| panic!("{way}: {}", made.report));
        let cells = cells.split("  ").map(str::trim);
        cells
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("plain PFC")[6], "0.0 Mbit/s");
    assert_eq!(row("Levels")[1], "never");
    for way in ["Deadlock Breaker", "Loop Breaker", "Levels"] {
        let cells = row(way);
        assert_eq!(cells[4], "0", "lost: {cells:?}");
        assert!(cells[6].ends_with(" Gbit/s"), "{cells:?}");
    }
}
