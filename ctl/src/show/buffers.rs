//! `switchctl buffers`.

use anyhow::Result;
use weir_api::daemon::{Buffers, Pool, PooledBuffer};
use weir_output::{bytes, table, Output, NONE};

use super::keep;
use crate::target::Target;

pub fn buffers(target: &Target, output: &Output, ports: &[String]) -> Result<()> {
    let mut all: Buffers = target.get("/v1/buffers")?;
    keep(&mut all.buffers, ports, "a shared buffer", |buffer| {
        &buffer.port
    })?;
    output.print(&all, tables)
}

fn tables(all: &Buffers) -> String {
    if all.pools.is_empty() {
        return "no pools: every (port, priority) has a separate buffer; see `switchctl queues`\n"
            .to_owned();
    }
    let pool = |pool: &Pool| {
        vec![
            pool.name.clone(),
            bytes(pool.size_bytes),
            bytes(pool.used_bytes),
            bytes(pool.used_bytes_max),
            bytes(pool.headroom_bytes),
            bytes(pool.headroom_used_bytes),
            bytes(pool.headroom_used_bytes_max),
            pool.paused_buffers.to_string(),
        ]
    };
    let headings = [
        "pool",
        ">size",
        ">used",
        ">peak",
        ">headroom",
        ">used",
        ">peak",
        ">pausing",
    ];
    let pools = table(&headings, all.pools.iter().map(pool));
    let buffer = |buffer: &PooledBuffer| {
        vec![
            buffer.port.clone(),
            buffer.priority.to_string(),
            buffer.pool.clone(),
            bytes(buffer.reserved_bytes),
            buffer.alpha.clone().unwrap_or_else(|| NONE.to_owned()),
            bytes(buffer.threshold_bytes),
            bytes(buffer.used_bytes),
            bytes(buffer.headroom_used_bytes),
            if buffer.pausing { "yes" } else { "no" }.to_owned(),
        ]
    };
    let headings = [
        "port",
        ">priority",
        "pool",
        ">reserved",
        ">alpha",
        ">threshold",
        ">used",
        ">headroom",
        "pausing",
    ];
    pools + "\n" + &table(&headings, all.buffers.iter().map(buffer))
}
