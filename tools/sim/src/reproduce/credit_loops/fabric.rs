//! Switches and the channels between them: a working link has one in either direction, and a channel represents the buffer
//! at its end.

use std::ops::Range;

use weir_config::scenario::generate::Plan;

/// A network in the form needed to compute routes.
#[derive(Clone, Debug)]
pub(super) struct Fabric {
    /// By switch: its channels, in the order of its ports.
    leaving: Vec<Range<usize>>,
    /// By channel: the switch where it begins.
    pub(super) from: Vec<usize>,
    /// By channel: the switch where it ends.
    pub(super) to: Vec<usize>,
    /// By channel: that of the other direction.
    pub(super) back: Vec<usize>,
    /// By channel: true if its link has failed.
    pub(super) failed: Vec<bool>,
    /// Switches with hosts. Frames go from each to each; a destination is an index into these, since all hosts of a switch
    /// have the same routes.
    pub(super) edges: Vec<usize>,
    /// By switch: 0 at the top.
    pub(super) tier: Vec<usize>,
}

impl Fabric {
    /// Builds the network of `plan`, which has one host at each switch of its lowest tier.
    pub(super) fn new(plan: &Plan) -> Self {
        let switch_count = plan.switches.len();
        let mut ports: Vec<Vec<(usize, usize)>> = vec![Vec::new(); switch_count];
        for (link, planned) in plan.links.iter().enumerate() {
            let [a, b] = planned.ends;
            ports[a].push((b, link));
            ports[b].push((a, link));
        }
        let mut fabric = Self {
            leaving: Vec::with_capacity(switch_count),
            from: Vec::new(),
            to: Vec::new(),
            back: vec![0; 2 * plan.links.len()],
            failed: Vec::new(),
            edges: plan.hosts.iter().map(|(_, switch)| *switch).collect(),
            tier: match &plan.tiers {
                Some(tiers) => tiers.iter().map(|tier| usize::from(*tier)).collect(),
                None => vec![0; switch_count],
            },
        };
        let mut of_link: Vec<Option<usize>> = vec![None; plan.links.len()];
        for (switch, ports) in ports.iter().enumerate() {
            let first = fabric.to.len();
            for (next, link) in ports {
                let channel = fabric.to.len();
                fabric.from.push(switch);
                fabric.to.push(*next);
                fabric.failed.push(plan.links[*link].failed);
                match of_link[*link] {
                    None => of_link[*link] = Some(channel),
                    Some(other) => {
                        fabric.back[channel] = other;
                        fabric.back[other] = channel;
                    }
                }
            }
            fabric.leaving.push(first..fabric.to.len());
        }
        fabric
    }

    pub(super) fn switch_count(&self) -> usize {
        self.leaving.len()
    }

    /// Returns the channels that begin at a switch, including those of failed links.
    pub(super) fn all_leaving(&self, switch: usize) -> Range<usize> {
        self.leaving[switch].clone()
    }

    pub(super) fn leaving(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        self.all_leaving(switch)
            .filter(|channel| !self.failed[*channel])
    }
}
