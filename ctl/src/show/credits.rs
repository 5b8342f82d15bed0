//! `switchctl credits`.

use anyhow::Result;
use weir_api::daemon::Credits;
use weir_output::{table, Output, NONE};

use super::keep;
use crate::target::Target;

pub fn credits(target: &Target, output: &Output, ports: &[String]) -> Result<()> {
    let mut all: Vec<Credits> = target.get("/v1/credits")?;
    keep(&mut all, ports, "a class with credits", |credits| {
        &credits.port
    })?;
    output.print(&all, |all| lines(all))
}

fn lines(all: &[Credits]) -> String {
    if all.is_empty() {
        return "no class has credits\n".to_owned();
    }
    let of = |part: u32, limit: u32| format!("{part} of {limit}");
    let rows = all.iter().map(|it| {
        vec![
            it.port.clone(),
            it.priority.to_string(),
            it.sending.state.to_string(),
            of(it.sending.used, it.sending.limit),
            it.sending.watermark.to_string(),
            it.receiving.state.to_string(),
            of(it.receiving.outstanding, it.receiving.limit),
            it.receiving.returned_total.to_string(),
            it.slots.to_string(),
            announced(it.announced),
        ]
    });
    table(
        &[
            "port",
            ">priority",
            "sends by",
            ">used",
            ">most",
            "receives by",
            ">given",
            ">returned",
            ">slots",
            "announced",
        ],
        rows,
    )
}

fn announced(by_neighbour: Option<bool>) -> String {
    let word = match by_neighbour {
        Some(true) => "yes",
        Some(false) => "no",
        None => NONE,
    };
    word.to_owned()
}
