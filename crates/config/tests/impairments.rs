//! Impairments as faults of a scenario.

use std::path::Path;

use weir_config::scenario::{Fault, FaultTime, ImpairedFrames, Impairing, PortPeer, Scenario};
use weir_core::Duration;

const NETWORK: &str = "name = \"x\"\nduration = \"10ms\"\n[topology]\nkind = \"ring\"\nswitches = 4\n[[class]]\nname = \"lossless\"\npriorities = [3, 4]\nmode = \"pfc\"\nxoff = \"30KiB\"\nxon = \"20KiB\"\nheadroom = \"30KiB\"\n";

#[test]
fn impairments_are_faults() {
    let rest = "[[fault]]\nkind = \"delay\"\nswitch = \"s1\"\nport = \"h1\"\nby = \"1ms\"\nfilter = \"udp\"\none-in = 3\nat = \"1ms\"\nfor = \"2ms\"\nevery = \"3ms\"\n[[fault]]\nkind = \"flap\"\nswitch = \"s1\"\nport = \"s4\"\non = \"1ms\"\nevery = \"3ms\"\nfor = \"9ms\"\n";
    let scenario = Scenario::parse(&format!("{NETWORK}{rest}"), Path::new("x.toml"), &[]).unwrap();
    let ms = Duration::from_millis;
    assert_eq!(
        scenario.faults,
        [
            Fault::Impair {
                switch: 0,
                port: PortPeer::Host(0),
                what: Impairing::Delay {
                    frames: ImpairedFrames {
                        filter: "udp".to_owned(),
                        one_in: 3,
                    },
                    by: ms(1),
                },
                time: FaultTime::Every {
                    at: ms(1),
                    length: ms(2),
                    period: ms(3),
                },
            },
            Fault::Impair {
                switch: 0,
                port: PortPeer::Switch(3),
                what: Impairing::Flap {
                    on: ms(1),
                    period: ms(3),
                },
                time: FaultTime::Once {
                    at: Duration::ZERO,
                    length: ms(9),
                },
            },
        ]
    );
}
