//! `switchctl port`.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::{Port, PortChange};

use crate::cli::PortCommand;
use crate::target::Target;
use weir_output::Output;

/// Returns false for a port that should have a device but has none.
pub fn port(target: &Target, output: &Output, command: &PortCommand) -> Result<bool> {
    let (name, device) = match command {
        PortCommand::Add { port } => (port, true),
        PortCommand::Remove { port } => (port, false),
    };
    let path = format!("/v1/ports/{name}");
    let port: Port = target.send(Method::PUT, &path, Some(&PortChange { device }))?;
    output.print(&port, text)?;
    Ok(port.device_gone != device)
}

fn text(port: &Port) -> String {
    let Port { name, device, .. } = port;
    match &port.device_gone_reason {
        Some(reason) => format!("port {name} has no device: {reason}\n"),
        None => format!("port {name} has device {device}\n"),
    }
}
