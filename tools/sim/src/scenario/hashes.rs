//! Flow hashes that lead flows along their intended paths.

use weir_config::scenario::{Flow, PortPeer, Scenario, SwitchPort};
use weir_core::config::default_member;

use crate::network::plan::mixed_hash;
use crate::random::Random;

/// Maximum number of hashes tried for one flow: a path of ten switches with four members each needs
/// a million.
const TRIES_MAX: usize = 4_000_000;

/// Finds a random flow hash; for a flow with `via` one that selects all members on its path. `None` if there is none.
pub(super) fn flow_hash(
    scenario: &Scenario,
    (ports, hash_seeds): (&[Vec<SwitchPort>], &[u32]),
    flow: &Flow,
    random: &mut Random,
) -> Option<u32> {
    let Some(via) = &flow.via else {
        return Some(random.next_u64() as u32);
    };
    // By switch of the path: its seed if it has one, the number of its group's members, and the index of the next one.
    let mut picks = Vec::new();
    for (place, switch) in via.iter().enumerate() {
        let peer = via
            .get(place + 1)
            .map_or(PortPeer::Host(flow.to), |next| PortPeer::Switch(*next));
        let members = &scenario.next_hops[*switch][flow.to];
        let port = ports[*switch].iter().position(|port| port.peer == peer)?;
        let member = members.iter().position(|member| *member == port)?;
        if members.len() > 1 {
            picks.push((hash_seeds.get(*switch), members.len(), member));
        }
    }
    let leads = |hash: u32| {
        picks.iter().all(|(seed, members, member)| {
            let hash = seed.map_or(hash, |seed| mixed_hash(hash, *seed));
            default_member(hash, *members) == Some(*member)
        })
    };
    (0..TRIES_MAX)
        .map(|_| random.next_u64() as u32)
        .find(|hash| leads(*hash))
}
