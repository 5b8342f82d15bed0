//! VLANs: random frames through random switches and through a slow model written from the standard, and the cost of
//! leaving in two forms.

mod caller;
mod model;

use std::collections::BTreeSet;

use caller::Caller;
use model::{Bridge, Kind, Settings};
use weir_core::config::{EcmpConfig, LevelRules, RouteConfig};
use weir_core::random::SplitMix64;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, CommandError, ConfigError,
    DropReason, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, SwitchConfig, VlanId,
    VlanMode, VlanPort, VlanSet,
};

/// Few, so that they often meet: untagged, three usual ones, the last one, and the reserved one.
const NUMBERS: [u16; 6] = [0, 1, 2, 30, 4094, 4095];
const CONFIGURATIONS: u64 = 50;
const FRAMES_EACH: usize = 400;

fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

fn vlan_port(settings: &Settings) -> VlanPort {
    let trunks = match &settings.trunks {
        None => VlanSet::all(),
        Some(numbers) => numbers.iter().copied().map(vlan).collect(),
    };
    let tag = vlan(settings.tag);
    match settings.kind {
        Kind::Access => VlanPort::access(tag),
        Kind::Trunk => VlanPort::trunk(trunks),
        Kind::NativeTagged => VlanPort::native_tagged(tag, trunks),
        Kind::NativeUntagged => VlanPort::native_untagged(tag, trunks),
    }
}

fn config(vlans: Vec<VlanPort>, routes: Vec<RouteConfig>) -> SwitchConfig {
    let lossy = ClassMode::Lossy {
        buffer: Bytes::new(64 * 1024),
    };
    let port = |index: usize| {
        let address = MacAddress([2, 1, 0, 0, 0, index as u8]);
        // The model of 802.1Q learns every address that it sees: hosts must not take over another's address.
        PortConfig::new(PortRole::Fabric, BitRate::from_mbit(100_000), address)
    };
    let mut config = SwitchConfig {
        learning_capacity: 4096,
        ecmp: EcmpConfig::default(),
        ..SwitchConfig::new(
            (0..vlans.len()).map(port).collect(),
            [ClassConfig::new(lossy); 8],
            routes,
        )
    };
    config.vlans = vlans;
    // For frames that leave in two forms.
    config.frame_count = config.frames_needed() + 8;
    config
}

fn pick<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[(random.next_u64() % of.len() as u64) as usize]
}

fn random_settings(random: &mut SplitMix64) -> Settings {
    let kind = pick(
        random,
        &[
            Kind::Access,
            Kind::Access,
            Kind::Trunk,
            Kind::NativeTagged,
            Kind::NativeUntagged,
        ],
    );
    let listed: BTreeSet<u16> = NUMBERS[..5]
        .iter()
        .copied()
        .filter(|_| random.next_u64().is_multiple_of(2))
        .collect();
    let is_open = random.next_u64().is_multiple_of(3) || listed.is_empty();
    Settings {
        kind,
        tag: pick(random, &NUMBERS[1..5]),
        trunks: (!is_open).then_some(listed),
    }
}

/// Valid routes: some for one VLAN, some for all.
fn random_routes(random: &mut SplitMix64, ports: &[VlanPort]) -> Vec<RouteConfig> {
    let mut routes: Vec<RouteConfig> = Vec::new();
    for number in 1..=3u8 {
        let egress = (random.next_u64() % ports.len() as u64) as usize;
        if random.next_u64().is_multiple_of(3) {
            routes.push(RouteConfig::new(
                MacAddress(mac(number)),
                vec![port(egress)],
            ));
        }
        let own = vlan(pick(random, &NUMBERS[1..5]));
        let egress = (random.next_u64() % ports.len() as u64) as usize;
        if random.next_u64().is_multiple_of(3) && ports[egress].carries(own) {
            routes.push(RouteConfig {
                vlan: Some(own),
                ..RouteConfig::new(MacAddress(mac(number)), vec![port(egress)])
            });
        }
    }
    routes
}

/// Addresses, up to three tags of both kinds, and a unique number behind them.
fn random_frame(random: &mut SplitMix64, number: usize) -> Vec<u8> {
    let destination = pick(
        random,
        &[
            mac(1),
            mac(2),
            mac(3),
            mac(4),
            mac(5),
            [0xff; 6],
            [1, 0, 0x5e, 0, 0, 9],
        ],
    );
    let source = mac(1 + (random.next_u64() % 6) as u8);
    let mut bytes = [destination, source].concat();
    let tags = pick(random, &[0, 0, 1, 1, 1, 2, 2, 3]);
    for _ in 0..tags {
        let ethertype = pick(random, &[0x8100u16, 0x8100, 0x8100, 0x88a8]);
        let tci = pick(random, &NUMBERS) | (random.next_u64() as u16) & 0xf000;
        bytes.extend(ethertype.to_be_bytes());
        bytes.extend(tci.to_be_bytes());
    }
    bytes.extend(0x88b6u16.to_be_bytes());
    bytes.extend((number as u64).to_be_bytes());
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

#[test]
fn random_frames_go_where_a_slow_model_of_802_1q_sends_them() {
    let (mut sent, mut copied, mut dropped, mut nested) = (0, 0, 0, 0);
    for seed in 0..CONFIGURATIONS {
        let mut random = SplitMix64::new(seed);
        let count = 2 + (random.next_u64() % 6) as usize;
        let settings: Vec<Settings> = (0..count).map(|_| random_settings(&mut random)).collect();
        let ports: Vec<VlanPort> = settings.iter().map(vlan_port).collect();
        let routes = random_routes(&mut random, &ports);
        let mut model = Bridge::new(settings.clone(), &routes);
        let mut caller = Caller::new(config(ports.clone(), routes));
        for number in 0..FRAMES_EACH {
            let bytes = random_frame(&mut random, number);
            let ingress = (random.next_u64() % count as u64) as usize;
            let expected = model.forward(ingress, &bytes);
            let found = caller.forward(ingress, &bytes);
            let what =
                format!("seed {seed}, frame {number} at {ingress}: {bytes:02x?}\n{settings:#?}");
            assert_eq!(found.left, expected, "{what}");
            // The explanation of a frame matches its later treatment; but the explanation learns nothing from it.
            let is_to_itself = bytes[..6] == bytes[6..12];
            let left: Vec<usize> = found.left.keys().copied().collect();
            let foreseen: Vec<usize> = found.foreseen.egresses.iter().map(PortId::index).collect();
            let is_nested = found.dropped == Some(DropReason::NestedTag);
            nested += usize::from(is_nested);
            if !is_to_itself && !is_nested {
                assert_eq!(foreseen, left, "{what}");
                assert_eq!(found.foreseen.outcome.err(), found.dropped, "{what}");
            }
            assert_isolated(&found.foreseen.vlan, &ports, &found.left, &bytes);
            sent += found.left.len();
            copied += usize::from(found.has_copied);
            dropped += usize::from(found.dropped == Some(DropReason::Vlan));
        }
        caller.assert_counted();
    }
    // All of it happens often enough to count.
    assert!(
        sent > 8_000 && copied > 500 && dropped > 3_000 && nested > 1_000,
        "{sent} {copied} {dropped} {nested}"
    );
}

/// Checks that no port sends a frame in a VLAN that it does not carry, and that a peer with the same settings assigns
/// every frame to the VLAN that it had here. A frame that loses its tag, with another tag behind it, belongs to the
/// native or access VLAN; a receiver that uses the second tag is at fault.
fn assert_isolated(
    vlan: &Option<VlanId>,
    ports: &[VlanPort],
    left: &std::collections::BTreeMap<usize, Vec<u8>>,
    came: &[u8],
) {
    for (egress, bytes) in left {
        let vlan = vlan.expect("what leaves is in a VLAN");
        assert!(ports[*egress].carries(vlan));
        let tag = caller::tag_of(bytes);
        let hides_another = bytes.len() < came.len() && tag.is_some();
        if !hides_another {
            assert_eq!(ports[*egress].classify(tag), Some(vlan), "{bytes:02x?}");
        }
    }
}

#[test]
fn copies_without_memory_are_counted_and_the_others_leave() {
    let ports = vec![
        VlanPort::access(vlan(7)),
        VlanPort::access(vlan(7)),
        VlanPort::trunk(VlanSet::all()),
        VlanPort::trunk(VlanSet::all()),
    ];
    let mut caller = Caller::new(config(ports, Vec::new()));
    caller.copies = false;
    let bytes = [[0xff; 6], mac(1)].concat();
    let bytes = [&bytes[..], &[0x88, 0xb6], &[0; 46]].concat();
    let found = caller.forward(0, &bytes);
    assert_eq!(found.left.keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(caller.of_vlan(Some(7)).copies_dropped, 2);
    caller.copies = true;
    let found = caller.forward(0, &bytes);
    assert_eq!(found.left.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(found.left[&3][12..16], [0x81, 0, 3 << 5, 7]);
    let counters = caller.of_vlan(Some(7));
    assert_eq!((counters.rx_frames, counters.tx_frames), (2, 4));
    assert_eq!(
        (counters.rx_bytes, counters.tx_bytes),
        (120, 60 + 60 + 2 * 64)
    );
    assert_eq!(counters.copies_dropped, 2);
    // The first frame has not been copied.
    caller.assert_counted();
}

#[test]
fn a_class_with_levels_makes_no_copies_without_table_entries() {
    let access = VlanPort::access(vlan(7));
    let ports = vec![access, access, VlanPort::trunk(VlanSet::all())];
    let mut config = config(ports, Vec::new());
    let buffer = Bytes::new(64 * 1024);
    config.classes[3].mode = ClassMode::Level {
        budgets: Budgets::new(&[buffer; 3]).unwrap(),
        rules: LevelRules::default(),
        edge: PfcThresholds::new(buffer, Bytes::new(56 * 1024), buffer).unwrap(),
    };
    config.frame_count = config.frames_needed() + 8;
    let mut caller = Caller::new(config);
    let bytes = [&[0xff; 6][..], &mac(1), &[0x88, 0xb6], &[0; 46]].concat();
    let found = caller.forward(0, &bytes);
    assert_eq!(found.left.keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(found.foreseen.egresses.iter().count(), 1);
    assert_eq!(caller.of_vlan(Some(7)).copies_dropped, 1);
    caller.assert_counted();
}

#[test]
fn a_frame_too_long_with_its_tag_is_dropped_at_tagged_ports() {
    let ports = vec![
        VlanPort::access(vlan(7)),
        VlanPort::access(vlan(7)),
        VlanPort::trunk(VlanSet::all()),
    ];
    let mut caller = Caller::new(config(ports, Vec::new()));
    let mut bytes = [[0xff; 6], mac(1)].concat();
    bytes.extend([0x88, 0xb6]);
    bytes.resize(1522, 0);
    let found = caller.forward(0, &bytes);
    assert_eq!(found.left.keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(caller.of_vlan(Some(7)).copies_dropped, 1);
    // Learned behind the trunk: there is one port, for which it would be too long.
    let tagged = [&mac(9)[..], &mac(5), &[0x81, 0, 0, 7, 0x88, 0xb6], &[0; 46]].concat();
    let _ = caller.forward(2, &tagged);
    bytes[..6].copy_from_slice(&mac(5));
    let found = caller.forward(0, &bytes);
    assert_eq!(found.dropped, Some(DropReason::BadLength));
    bytes.truncate(1518);
    assert_eq!(caller.forward(0, &bytes).left[&2].len(), 1522);
}

#[test]
fn counters_have_a_bounded_number_of_vlans() {
    let ports = vec![VlanPort::trunk(VlanSet::all()), VlanPort::access(vlan(9))];
    let mut caller = Caller::new(config(ports, Vec::new()));
    for number in 1..=4094u16 {
        let tci = number.to_be_bytes();
        let head = [&[0xff; 6][..], &mac(1), &[0x81, 0], &tci, &[0x88, 0xb6]].concat();
        let _ = caller.forward(0, &[&head[..], &[0; 46]].concat());
    }
    // Only VLAN 9 has another port: nothing else is admitted or counted.
    assert_eq!(caller.of_vlan(Some(9)).rx_frames, 1);
    assert_eq!(
        caller.vlan_count(),
        3,
        "all others, that of no tag, and VLAN 9"
    );
    let ports = vec![VlanPort::trunk(VlanSet::all()); 2];
    let mut caller = Caller::new(config(ports, Vec::new()));
    for number in 1..=4094u16 {
        let tci = number.to_be_bytes();
        let head = [&[0xff; 6][..], &mac(1), &[0x81, 0], &tci, &[0x88, 0xb6]].concat();
        let _ = caller.forward(0, &[&head[..], &[0; 46]].concat());
    }
    assert_eq!(caller.vlan_count(), 2 + weir_core::switch::VLANS_SEEN_MAX);
    let places = weir_core::switch::VLANS_SEEN_MAX as u64;
    assert_eq!(caller.of_vlan(None).rx_frames, 4094 - places);
    caller.assert_counted();
}

#[test]
fn routes_lead_to_ports_that_carry_their_vlan_or_are_refused() {
    let x = MacAddress(mac(1));
    let ports = || {
        vec![
            VlanPort::access(vlan(7)),
            VlanPort::trunk([vlan(7), vlan(8)].into_iter().collect()),
            VlanPort::trunk([vlan(8)].into_iter().collect()),
        ]
    };
    let of_vlan = |number: u16, members: &[usize]| RouteConfig {
        vlan: VlanId::new(number),
        ..RouteConfig::new(x, members.iter().copied().map(port).collect())
    };
    let outcome = |route: RouteConfig| config(ports(), vec![route]).validate();
    assert_eq!(outcome(of_vlan(8, &[1, 2])), Ok(()));
    let error = outcome(of_vlan(8, &[1, 0])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "route to 02:00:00:00:00:01: port 0 does not carry VLAN 8"
    );
    let group = RouteConfig::new(x, vec![port(1), port(2)]);
    let error = outcome(group).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the same VLANs as the first port of the route"),
        "{error}"
    );
    assert_eq!(outcome(of_vlan(0, &[1])), Err(ConfigError::RouteVlan(x)));
    let plain = config(Vec::new(), Vec::new());
    assert!(plain.validate().is_err(), "no port at all");
    // The same by commands; and an entry for one VLAN precedes one for all.
    let mut caller = Caller::new(config(ports(), vec![RouteConfig::new(x, vec![port(1)])]));
    let set = |members: &[usize]| Command::SetVlanRoute {
        vlan: vlan(8),
        destination: x,
        members: members.iter().copied().map(port).collect(),
        buckets: 64,
    };
    assert_eq!(
        caller.apply(set(&[0])),
        Err(CommandError::NotInVlan {
            destination: x,
            vlan: Some(vlan(8)),
            port: port(0)
        })
    );
    let frame = |number: u8| {
        [
            &mac(1)[..],
            &mac(2),
            &[0x81, 0, 0, number, 0x88, 0xb6],
            &[0; 46],
        ]
        .concat()
    };
    assert_eq!(caller.forward(2, &frame(8)).left.keys().next(), Some(&1));
    assert_eq!(caller.apply(set(&[2])), Ok(()));
    assert_eq!(caller.forward(1, &frame(8)).left.keys().next(), Some(&2));
    assert_eq!(
        caller.forward(2, &frame(8)).dropped,
        Some(DropReason::Hairpin)
    );
    assert_eq!(
        caller.forward(1, &frame(7)).dropped,
        Some(DropReason::Hairpin)
    );
    let remove = Command::RemoveVlanRoute {
        vlan: vlan(8),
        destination: x,
    };
    assert_eq!(caller.apply(remove), Ok(()));
    assert_eq!(caller.forward(2, &frame(8)).left.keys().next(), Some(&1));
    assert_eq!(caller.apply(remove), Err(CommandError::NoSuchRoute(x)));
}

#[test]
fn modes_are_named() {
    let modes = [
        VlanPort::access(vlan(5)),
        VlanPort::trunk(VlanSet::all()),
        VlanPort::native_tagged(vlan(5), VlanSet::EMPTY),
        VlanPort::native_untagged(vlan(5), VlanSet::EMPTY),
    ]
    .map(|port| {
        (
            port.mode(),
            port.untagged_in().get(),
            port.leaves_tagged(vlan(5)),
        )
    });
    assert_eq!(
        modes,
        [
            (VlanMode::Access, 5, false),
            (VlanMode::Trunk, 0, true),
            (VlanMode::NativeTagged, 5, true),
            (VlanMode::NativeUntagged, 5, false),
        ]
    );
}
