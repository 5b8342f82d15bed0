//! `switchctl fdb`.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::{Changed, Fdb, FdbFlush, LearntAddress};

use crate::cli::{FdbArguments, FdbCommand};
use crate::show;
use crate::target::Target;
use weir_output::{table, Output};

pub fn fdb(target: &Target, output: &Output, command: &FdbCommand) -> Result<()> {
    match command {
        FdbCommand::Show { of } => {
            let mut fdb: Fdb = target.get("/v1/fdb")?;
            fdb.addresses.retain(|address| is_of(of, address));
            output.print(&fdb, addresses)
        }
        FdbCommand::Count => output.print(&target.get::<Fdb>("/v1/fdb")?, count),
        FdbCommand::Flush { of } => {
            let body = FdbFlush {
                port: of.port.clone(),
                vlan: of.vlan,
            };
            let changed: Changed = target.send(Method::POST, "/v1/fdb/flush", Some(&body))?;
            output.print(&changed, |changed| format!("{}\n", changed.changed))
        }
    }
}

fn is_of(of: &FdbArguments, address: &LearntAddress) -> bool {
    let of_port = of.port.as_ref().is_none_or(|port| *port == address.port);
    of_port && of.vlan.is_none_or(|vlan| vlan == address.vlan)
}

fn addresses(fdb: &Fdb) -> String {
    let mut text = match (fdb.learning, fdb.addresses.is_empty()) {
        (false, _) => "the switch learns no addresses (`forwarding.learning`)\n".to_owned(),
        (true, true) => "no learned addresses\n".to_owned(),
        (true, false) => show::learnt(&fdb.addresses),
    };
    if fdb.left_out > 0 {
        text += &format!(
            "{} more addresses are learned and not shown\n",
            fdb.left_out
        );
    }
    text
}

fn count(fdb: &Fdb) -> String {
    let rows = fdb.ports.iter().map(|port| {
        vec![
            port.port.clone(),
            port.count.to_string(),
            port.full_total.to_string(),
        ]
    });
    let ports = table(&["port", ">addresses", ">found no room"], rows);
    format!("{ports}{} of {} addresses\n", fdb.count, fdb.capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_api::daemon::FdbPort;

    fn address(port: &str, vlan: u16) -> LearntAddress {
        LearntAddress {
            vlan,
            address: "02:00:00:00:00:01".to_owned(),
            port: port.to_owned(),
            idle_seconds: 1.0,
        }
    }

    #[test]
    fn port_and_vlan_select_addresses() {
        let of = |port: Option<&str>, vlan| FdbArguments {
            port: port.map(str::to_owned),
            vlan,
        };
        let h1 = address("h1", 20);
        assert!(is_of(&of(None, None), &h1));
        assert!(is_of(&of(Some("h1"), Some(20)), &h1));
        assert!(!is_of(&of(Some("h2"), None), &h1));
        assert!(!is_of(&of(Some("h1"), Some(0)), &h1));
    }

    #[test]
    fn a_switch_without_learning_is_reported_and_a_count_includes_the_room() {
        let none = Fdb::default();
        assert!(addresses(&none).contains("forwarding.learning"));
        let fdb = Fdb {
            learning: true,
            count: 1,
            capacity: 4096,
            ports: vec![FdbPort {
                port: "h1".to_owned(),
                count: 1,
                full_total: 7,
            }],
            addresses: vec![address("h1", 0)],
            left_out: 3,
        };
        assert!(addresses(&fdb).ends_with("3 more addresses are learned and not shown\n"));
        let count = count(&fdb);
        assert!(count.ends_with("1 of 4096 addresses\n"), "{count}");
        assert!(count.contains("h1") && count.contains('7'), "{count}");
    }
}
