//! `switchctl levels`.

use std::cmp::Reverse;

use weir_api::daemon::{LevelDestination, LevelLink, Levels};

use weir_output::{bytes, seconds, table, NONE};

/// Formats the links, then the Level Table.
pub fn levels(levels: &Levels) -> String {
    if levels.links.is_empty() && levels.destinations.is_empty() {
        return "no class of a fabric port has mode level\n".to_owned();
    }
    let mut text = String::new();
    if !levels.links.is_empty() {
        text += &links(&levels.links);
        text += "\n";
    }
    text + &destinations(&levels.destinations, levels.left_out)
}

fn links(links: &[LevelLink]) -> String {
    let mut links: Vec<&LevelLink> = links.iter().collect();
    // The sort is stable: ports of a class stay in the order of the configuration.
    links.sort_by_key(|link| (&link.class, link.priority));
    table(
        &[
            "class",
            ">priority",
            "port",
            ">D",
            ">f sent",
            ">f received",
            "paused by it",
            ">eligible",
            ">held",
            ">T",
            ">measured",
            ">rT",
            "m",
            "b",
        ],
        links.into_iter().map(|link| {
            vec![
                link.class.clone(),
                link.priority.to_string(),
                link.port.clone(),
                link.depth.to_string(),
                link.feedback_sent.to_string(),
                link.feedback_received.to_string(),
                if link.paused { "yes" } else { NONE }.to_owned(),
                backlog(link.eligible_frames, link.eligible_bytes),
                backlog(link.held_frames, link.held_bytes),
                span(link.round_trip_nanos),
                link.round_trip_measured_nanos
                    .map_or_else(|| NONE.to_owned(), span),
                room(link.reserve_bytes),
                sizes(&link.m_bytes),
                sizes(&link.b_bytes),
            ]
        }),
    )
}

fn destinations(destinations: &[LevelDestination], left_out: u64) -> String {
    if destinations.is_empty() {
        return "the Level Table is empty: no frame of these classes is buffered\n".to_owned();
    }
    let mut destinations: Vec<&LevelDestination> = destinations.iter().collect();
    destinations.sort_by_key(|line| {
        let class = (&line.class, line.priority);
        (class, Reverse(line.level), &line.destination)
    });
    let mut text = table(
        &["class", ">priority", "destination", ">Level", ">buffered"],
        destinations.into_iter().map(|line| {
            vec![
                line.class.clone(),
                line.priority.to_string(),
                line.destination.clone(),
                line.level.to_string(),
                bytes(line.buffered_bytes),
            ]
        }),
    );
    if left_out > 0 {
        text += &format!("{left_out} later destinations are not shown\n");
    }
    text
}

fn backlog(frames: u64, count: u64) -> String {
    let unit = if frames == 1 { "frame" } else { "frames" };
    format!("{} in {frames} {unit}", bytes(count))
}

fn span(nanos: u64) -> String {
    seconds(nanos as f64 / 1e9)
}

/// Formats in one unit at any size, since values are compared and one frame matters.
fn room(count: u64) -> String {
    format!("{:.1} KiB", count as f64 / 1024.0)
}

/// Formats a list of sizes without repetitions.
fn sizes(list: &[u64]) -> String {
    let runs: Vec<String> = list
        .chunk_by(|a, b| a == b)
        .map(|run| match run.len() {
            1 => room(run[0]),
            count => format!("{count} × {}", room(run[0])),
        })
        .collect();
    runs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_repeat_are_written_once() {
        assert_eq!(sizes(&[61_440, 1_536, 1_536]), "60.0 KiB, 2 × 1.5 KiB");
        assert_eq!(sizes(&[0]), "0.0 KiB");
        assert_eq!(
            sizes(&[2_348_800]),
            "2293.8 KiB",
            "and none is rounded to MiB"
        );
        assert_eq!(sizes(&[]), "");
    }
}
