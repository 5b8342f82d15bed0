//! `switchctl neighbors`.

use anyhow::Result;
use weir_api::neighbors::Neighbor;

use crate::target::Target;
use weir_output::{table, Output, NONE};

pub fn neighbors(target: &Target, output: &Output) -> Result<()> {
    let neighbors: Vec<Neighbor> = target.get("/v1/neighbors")?;
    output.print(&neighbors, |neighbors| view(neighbors))
}

fn view(neighbors: &[Neighbor]) -> String {
    if neighbors.is_empty() {
        return "no LLDP neighbours\n".to_owned();
    }
    table(
        &[
            "port",
            "neighbour",
            "its port",
            "chassis",
            ">TTL left",
            "kind",
            "PFC",
            "credits",
            "mismatch",
        ],
        neighbors.iter().map(row),
    )
}

fn row(neighbor: &Neighbor) -> Vec<String> {
    let or_none = |text: String| {
        if text.is_empty() {
            NONE.to_owned()
        } else {
            text
        }
    };
    let pfc = neighbor.pfc.as_ref().map(|pfc| list(&pfc.priorities));
    let credits = neighbor.credits.as_ref().map(|credits| {
        if credits.longest_frame_bytes.is_none() {
            return format!("version {}", credits.version);
        }
        let classes = credits.classes.iter().filter(|_| credits.gives);
        list(&classes.map(|class| class.priority).collect::<Vec<_>>())
    });
    vec![
        neighbor.port.clone(),
        or_none(neighbor.system_name.clone().unwrap_or_default()),
        neighbor.port_id.clone(),
        neighbor.chassis_id.clone(),
        format!("{:.0} s", neighbor.ttl_left_seconds.floor()),
        neighbor.kind.to_string(),
        or_none(pfc.unwrap_or_default()),
        or_none(credits.unwrap_or_default()),
        or_none(neighbor.mismatches.join("; ")),
    ]
}

fn list(priorities: &[u8]) -> String {
    let numbers: Vec<String> = priorities.iter().map(u8::to_string).collect();
    if numbers.is_empty() {
        "none".to_owned()
    } else {
        numbers.join(",")
    }
}
