//! Learned addresses are shown, counted and forgotten.

use weir_api::daemon::Fdb;
use weir_tests::switches::{events, switchctl};
use weir_tests::{printed, until, Bench};

fn fdb(bench: &Bench) -> Fdb {
    bench.switch.get("/v1/fdb").unwrap()
}

fn ctl(bench: &Bench, words: &[&str]) -> String {
    printed(switchctl(&bench.switch.config.api_socket).args(words))
}

fn count_at(fdb: &Fdb, port: &str) -> u64 {
    let found = fdb.ports.iter().find(|it| it.port == port);
    found.map_or(0, |it| it.count)
}

#[test]
fn addresses_are_shown_counted_and_forgotten() {
    let bench = Bench::new(&[], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
    });
    bench.give_addresses();
    until("both hosts are known", || {
        let ping = ["-c", "1", "-W", "5", "10.99.0.2"];
        bench.command("h1", "ping").args(ping).output().unwrap();
        let known = fdb(&bench);
        let is_known = |port: &&str| count_at(&known, port) > 0;
        ["h1", "h2"].iter().all(is_known).then_some(())
    });
    let known = fdb(&bench);
    assert!(known.learning && known.capacity >= known.count);
    let shown = ctl(&bench, &["fdb", "show", "--port", "h2"]);
    assert!(shown.contains("h2") && !shown.contains("h1"), "{shown}");
    let count = ctl(&bench, &["fdb", "count"]);
    assert!(
        count.contains(&format!(" of {} addresses", known.capacity)),
        "{count}"
    );

    // Hosts may send at any time.
    until("addresses of one port are forgotten", || {
        let said = ctl(&bench, &["fdb", "flush", "--port", "h2"]);
        assert_eq!(said, "learned addresses at h2 are forgotten\n");
        (count_at(&fdb(&bench), "h2") == 0).then_some(())
    });
    until("all are forgotten", || {
        ctl(&bench, &["fdb", "flush"]);
        (fdb(&bench).count == 0).then_some(())
    });
    assert!(events(&bench.switch, "addresses_forgotten").len() >= 2);
    bench.end();
}

/// An unplugged host is forgotten once no frame waits for it.
#[test]
fn an_unplugged_host_is_forgotten() {
    let bench = Bench::new(&[], |config| {
        config.forwarding.learning = true;
        config.routes.clear();
    });
    bench.give_addresses();
    until("it is known", || {
        let ping = ["-c", "1", "-W", "5", "10.99.0.1"];
        bench.command("h2", "ping").args(ping).output().unwrap();
        (count_at(&fdb(&bench), "h2") > 0).then_some(())
    });
    let device = bench.host_device().to_owned();
    bench.output("h2", &["ip", "link", "set", &device, "down"]);
    until("it is forgotten", || {
        (count_at(&fdb(&bench), "h2") == 0).then_some(())
    });
    bench.end();
}
