//! `switchctl watermark`.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::{QueueWatermarks, ReaderWatermarks, WatermarkClear, Watermarks};
use weir_api::words::Reader;
use weir_output::{bytes, table, Output, NONE};

use super::keep;
use crate::cli::{WatermarkArguments, WatermarkCommand, WatermarkShow};
use crate::target::Target;

pub fn watermark(target: &Target, output: &Output, arguments: &WatermarkArguments) -> Result<()> {
    match &arguments.command {
        Some(WatermarkCommand::Clear(wanted)) => {
            let clear = WatermarkClear {
                reader: Reader::from(wanted.reader).into(),
                ports: wanted.ports.clone(),
            };
            let all = target.send(Method::POST, "/v1/watermarks/clear", Some(&clear))?;
            print(output, wanted, all)
        }
        Some(WatermarkCommand::Show(wanted)) => {
            print(output, wanted, target.get("/v1/watermarks")?)
        }
        None => print(output, &arguments.show, target.get("/v1/watermarks")?),
    }
}

fn print(output: &Output, wanted: &WatermarkShow, all: Watermarks) -> Result<()> {
    let reader = Reader::from(wanted.reader);
    let interval = all.telemetry_interval_seconds;
    let mut readers = all.readers.into_iter();
    let mut found = readers.find(|watermarks| watermarks.reader == reader);
    if let Some(found) = &mut found {
        keep(&mut found.queues, &wanted.ports, "a queue", |queue| {
            &queue.port
        })?;
    }
    output.print(&found, |found| match found {
        Some(found) => peaks(found, wanted.ports.is_empty()),
        None => format!(
            "no interval of telemetry is over yet; the first one lasts {interval} s ([watermark] interval)\n"
        ),
    })
}

fn peaks(watermarks: &ReaderWatermarks, with_all: bool) -> String {
    let queue = |queue: &QueueWatermarks| {
        vec![
            queue.port.clone(),
            queue.priority.to_string(),
            bytes(queue.ingress_bytes_max),
            queue
                .headroom_used_bytes_max
                .map_or_else(|| NONE.to_owned(), bytes),
            bytes(queue.egress_bytes_max),
            NONE.to_owned(),
            moment(&queue.since),
        ]
    };
    let none = || NONE.to_owned();
    let all = with_all.then(|| {
        vec![
            "all".to_owned(),
            none(),
            none(),
            none(),
            none(),
            watermarks.held_frames_max.to_string(),
            moment(&watermarks.since),
        ]
    });
    let pool = |pool: &weir_api::daemon::PoolWatermarks| {
        vec![
            format!("pool {}", pool.pool),
            none(),
            bytes(pool.used_bytes_max),
            bytes(pool.headroom_used_bytes_max),
            none(),
            none(),
            moment(&watermarks.since),
        ]
    };
    let pools = watermarks.pools.iter().filter(|_| with_all).map(pool);
    let rows = all
        .into_iter()
        .chain(pools)
        .chain(watermarks.queues.iter().map(queue));
    let until = watermarks.until.as_deref().map(moment);
    let until = until.map_or(String::new(), |until| format!("until {until}\n"));
    let headings = [
        "port",
        ">priority",
        ">ingress",
        ">headroom",
        ">egress",
        ">frames",
        "since",
    ];
    table(&headings, rows) + &until
}

/// Formats a time without fractions of a second.
fn moment(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}
