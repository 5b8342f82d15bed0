//! Commands with a waiting requester, and the tables that a snapshot has on request.

use weir_core::{Command, CommandError, PortId, PortSet};

use super::bench::*;
use crate::exchange::messages::{Answer, Request, Snapshot};
use crate::exchange::tables::Tables;

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

fn set(ports: &[usize], buckets: u16) -> Command {
    Command::SetRoute {
        destination: host(0),
        members: ports.iter().copied().map(port).collect::<PortSet>(),
        buckets,
    }
}

fn ask(bench: &mut Bench, id: u64, command: Command) -> Answer {
    bench.request(Request::Ask { id, command });
    bench.round();
    bench.answers.try_recv().unwrap()
}

#[test]
fn requests_report_their_outcome() {
    let mut bench = Bench::new(&Setup::default());
    let outcome = Ok(());
    assert_eq!(
        ask(&mut bench, 7, set(&[0, 1], 64)),
        Answer { id: 7, outcome }
    );
    let pin = Command::PinFlow {
        destination: host(0),
        flow_hash: 1,
        port: port(EDGE),
    };
    let refused = CommandError::NotAMember {
        destination: host(0),
        port: port(EDGE),
    };
    assert_eq!(
        ask(&mut bench, 8, pin),
        Answer {
            id: 8,
            outcome: Err(refused)
        }
    );
    assert_eq!(bench.worker.stats.counters.commands_refused, 1);
}

#[test]
fn a_snapshot_has_the_tables_that_were_asked_for_as_far_as_there_is_room() {
    let mut bench = Bench::new(&Setup::default());
    ask(&mut bench, 1, set(&[0, 1], 64));
    for id in 0..3 {
        bench.arrive_data(EDGE, 1, LOSSLESS, id);
    }
    bench.settle();
    let mut snapshot = Box::<Snapshot>::default();
    snapshot.tables = Tables {
        routes: true,
        flows: true,
        accounts: false,
        vlans: false,
        question: None,
    };
    snapshot.routes.make_room();
    snapshot.flows.make_room();
    let places = |it: &Snapshot| {
        let (rows, flows) = (it.routes.rows.as_ptr(), it.flows.rows.as_ptr());
        (rows, it.routes.buckets.as_ptr(), flows)
    };
    let before = places(&snapshot);
    for _ in 0..2 {
        bench.request(Request::Snapshot(snapshot));
        bench.round();
        snapshot = bench.snapshots.try_recv().unwrap();
        let routes = &snapshot.routes;
        let row = routes.rows.iter().find(|row| row.destination == host(0));
        let row = *row.unwrap();
        assert_eq!(row.members, PortSet::from_iter([port(0), port(1)]));
        assert_eq!(routes.buckets_of(&row).len(), 64);
        assert_eq!(routes.buckets_of(&row)[..3], [port(0), port(1), port(0)]);
        assert_eq!(routes.rows.len(), routes.route_total);
        assert_eq!((snapshot.flows.rows.len(), snapshot.flows.total), (1, 1));
        assert_eq!(snapshot.flows.rows[0].frames, 3);
        assert_eq!(places(&snapshot), before, "filled in place");
    }

    // Without room, a table has what fits and the total.
    let mut small = Box::<Snapshot>::default();
    small.tables = snapshot.tables;
    bench.request(Request::Snapshot(small));
    bench.round();
    let small = bench.snapshots.try_recv().unwrap();
    assert!(small.routes.rows.is_empty() && small.flows.rows.is_empty());
    assert_eq!(small.routes.route_total, snapshot.routes.route_total);
    assert_eq!(small.flows.total, 1);

    // Without a request there are no tables.
    bench.request(Request::Snapshot(Box::default()));
    bench.round();
    let none = bench.snapshots.try_recv().unwrap();
    assert_eq!((none.routes.route_total, none.flows.total), (0, 0));
}
