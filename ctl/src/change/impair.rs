//! `switchctl impair`: deliberate faults of frames and links, for a limited time.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::{Impair, ImpairRequest, Impairment};

use crate::cli::{Duty, Frames, ImpairCommand};
use crate::target::Target;
use weir_output::{seconds, table, Output, NONE};

const PATH: &str = "/v1/impairments";

/// Runs the command.
///
/// # Errors
///
/// When the switch does not answer, does not permit impairments, or refuses.
pub fn impair(target: &Target, output: &Output, command: &ImpairCommand) -> Result<()> {
    let request = match command {
        ImpairCommand::List => {
            let all: Vec<Impairment> = target.get(PATH)?;
            return output.print(&all, |all| list(all));
        }
        ImpairCommand::Stop { ids } => return stop(target, output, ids),
        ImpairCommand::Drop(frames) => of_frames(Impair::Drop, frames),
        ImpairCommand::Mark(frames) => of_frames(Impair::Mark, frames),
        ImpairCommand::Delay { by, frames } => ImpairRequest {
            delay_seconds: Some(by.as_secs_f64()),
            ..of_frames(Impair::Delay, frames)
        },
        ImpairCommand::Pause { priority, duty } => ImpairRequest {
            priority: Some(*priority),
            ..in_turns(Impair::Pause, duty)
        },
        ImpairCommand::Flap(duty) => in_turns(Impair::Flap, duty),
    };
    let began: Impairment = target.send(Method::POST, PATH, Some(&request))?;
    output.print(&began, |began| {
        format!(
            "impairment {} is in force for {}; `switchctl impair stop {}` ends it\n",
            began.id,
            seconds(began.seconds_left),
            began.id
        )
    })
}

fn of_frames(what: Impair, frames: &Frames) -> ImpairRequest {
    ImpairRequest {
        what,
        port: frames.port.clone(),
        filter: frames.filter.clone().unwrap_or_default(),
        one_in: frames.one_in,
        seconds: frames.length.as_secs_f64(),
        ..ImpairRequest::default()
    }
}

fn in_turns(what: Impair, duty: &Duty) -> ImpairRequest {
    ImpairRequest {
        what,
        port: duty.port.clone(),
        on_seconds: Some(duty.on.as_secs_f64()),
        period_seconds: Some(duty.every.as_secs_f64()),
        seconds: duty.length.as_secs_f64(),
        ..ImpairRequest::default()
    }
}

fn stop(target: &Target, output: &Output, ids: &[u64]) -> Result<()> {
    let ids = match ids {
        [] => {
            let all: Vec<Impairment> = target.get(PATH)?;
            all.iter().map(|impairment| impairment.id).collect()
        }
        ids => ids.to_vec(),
    };
    for id in &ids {
        let _: serde_json::Value =
            target.send(Method::DELETE, &format!("{PATH}/{id}"), None::<&()>)?;
    }
    output.print(&ids, |ids| match ids.as_slice() {
        [] => "nothing is impaired\n".to_owned(),
        ids => {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            format!("ended: {}\n", ids.join(", "))
        }
    })
}

fn list(all: &[Impairment]) -> String {
    if all.is_empty() {
        return "nothing is impaired\n".to_owned();
    }
    table(
        &[
            ">id",
            "port",
            "what",
            "filter",
            ">matched",
            ">impaired",
            ">left",
        ],
        all.iter().map(|impairment| {
            let request = &impairment.request;
            let is_of_link = !request.what.is_of_frames();
            vec![
                impairment.id.to_string(),
                request.port.clone(),
                what(request),
                match (is_of_link, request.filter.as_str()) {
                    (true, _) => NONE.to_owned(),
                    (false, "") => "all".to_owned(),
                    (false, filter) => filter.to_owned(),
                },
                match is_of_link {
                    true => NONE.to_owned(),
                    false => impairment.matched_total.to_string(),
                },
                impairment.impaired_total.to_string(),
                seconds(impairment.seconds_left),
            ]
        }),
    )
}

fn what(request: &ImpairRequest) -> String {
    let span = |value: Option<f64>| seconds(value.unwrap_or(0.0));
    let one_in = match request.one_in {
        Some(count) if count > 1 => format!(" 1 in {count}"),
        _ => String::new(),
    };
    match request.what {
        Impair::Drop => format!("drop{one_in}"),
        Impair::Mark => format!("mark{one_in}"),
        Impair::Delay => format!("delay {}{one_in}", span(request.delay_seconds)),
        Impair::Pause => format!(
            "pause priority {} for {} every {}",
            request.priority.unwrap_or(0),
            span(request.on_seconds),
            span(request.period_seconds)
        ),
        Impair::Flap => format!(
            "down for {} every {}",
            span(request.on_seconds),
            span(request.period_seconds)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_impairment_is_described_in_one_line() {
        assert_eq!(list(&[]), "nothing is impaired\n");
        let of = |request| Impairment {
            id: 3,
            request,
            seconds_left: 2.0,
            matched_total: 40,
            impaired_total: 4,
            overflowed_total: 0,
        };
        let drop = ImpairRequest {
            port: "h1".to_owned(),
            filter: "udp port 4791".to_owned(),
            one_in: Some(10),
            ..ImpairRequest::default()
        };
        let pause = ImpairRequest {
            what: Impair::Pause,
            port: "h1".to_owned(),
            priority: Some(3),
            on_seconds: Some(0.001),
            period_seconds: Some(0.01),
            ..ImpairRequest::default()
        };
        let text = list(&[of(drop), of(pause)]);
        assert!(text.contains("drop 1 in 10"), "{text}");
        assert!(text.contains("udp port 4791"), "{text}");
        assert!(
            text.contains("pause priority 3 for 1.0 ms every 10.0 ms"),
            "{text}"
        );
    }
}
