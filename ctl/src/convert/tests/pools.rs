//! Shares of SONiC's pools.

use serde_json::json;
use weir_config::daemon::DaemonConfig;
use weir_core::{Alpha, Bytes, Priority, Threshold};

use super::super::notes::{Kind, Note};
use super::{good, thresholds, with_profile};

#[test]
fn a_pool_and_its_dynamic_thresholds_are_carried_over_as_they_are() {
    let mut root = with_profile(json!({
        "pool": "[BUFFER_POOL|pool]", "size": "2000", "dynamic_th": "-3", "xoff": "40000", "xon_offset": "2048",
    }));
    root["BUFFER_POOL"]["pool"]["xoff"] = json!("80000");
    let (notes, config) = good(&root);
    let class = config.class_of(Priority::ALL[3]).unwrap();
    let share = class.pool.clone().unwrap().share;
    assert_eq!(share.threshold, Threshold::Dynamic(Alpha::new(-3).unwrap()));
    assert_eq!((share.reserved.get(), share.xon_offset.get()), (2000, 2048));
    assert_eq!(thresholds(&config, 3).2, 40_000);
    let pool = &config.pools[0];
    assert_eq!((pool.name.as_str(), pool.size.get()), ("pool", 3_000_000));
    assert_eq!(pool.headroom, Some(Bytes::new(80_000)));
    let about = |path: &str| notes.iter().any(|note| note.path == path);
    assert!(!about("BUFFER_PROFILE|p.dynamic_th") && !about("BUFFER_POOL|pool.xoff"));

    // Half of what two ports need.
    root["BUFFER_POOL"]["pool"]["xoff"] = json!("40000");
    let (notes, config) = good(&root);
    assert_eq!(config.pools[0].headroom_oversubscription, 2);
    let path = "BUFFER_POOL|pool.xoff";
    assert!(notes
        .iter()
        .any(|n| n.path == path && n.kind == Kind::Changed));
}

/// Each port has its own α; memory is allocated per class, for the largest.
#[test]
fn thresholds_of_a_pool_are_those_of_each_port() {
    let profile = |dynamic_th: &str, xoff: &str| json!({"pool": "pool", "size": "2000", "dynamic_th": dynamic_th, "xoff": xoff, "xon_offset": "2048"});
    let mut root = with_profile(profile("-3", "40000"));
    root["BUFFER_PROFILE"]["q"] = profile("1", "40000");
    root["BUFFER_PG"] = json!({"Ethernet0|3": {"profile": "p"}, "Ethernet4|3": {"profile": "q"}});
    let changed = |notes: &[Note]| {
        let mut notes = notes.iter();
        notes.any(|note| note.path == "BUFFER_PG" && note.kind == Kind::Changed)
    };
    let (notes, config) = good(&root);
    assert!(!changed(&notes));
    let of = |config: &DaemonConfig| {
        let core = config.core(&[]);
        let class = core.classes[3];
        let ports = core.ports.iter();
        ports
            .map(|port| class.share_at(port, Priority::ALL[3]).unwrap().threshold)
            .collect::<Vec<_>>()
    };
    let alphas = [-3, 1].map(|exponent| Threshold::Dynamic(Alpha::new(exponent).unwrap()));
    assert_eq!(of(&config), alphas);

    root["BUFFER_PROFILE"]["q"] = profile("1", "60000");
    let (notes, config) = good(&root);
    assert!(changed(&notes));
    assert_eq!(of(&config), alphas);
    assert_eq!(thresholds(&config, 3).2, 60_000);
}
