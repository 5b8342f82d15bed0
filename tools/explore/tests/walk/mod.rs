//! Random walks through the states of one switch.

use weir_core::random::SplitMix64;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::Quanta;
use weir_explore::node::{Frames, Input};
use weir_explore::plan::{Mode, Plan, PRIORITY};

/// Parameters of a walk.
pub struct Walker {
    pub frames: Frames,
    inputs: Vec<Input>,
}

impl Walker {
    /// Returns all inputs of switch `node`.
    pub fn new(plan: &Plan, node: usize) -> Self {
        let mut frames = Frames::default();
        let quanta = match &plan.mode {
            Mode::Pfc { .. } => vec![0, 7812],
            Mode::Levels { budgets, .. } => (1..=1 + budgets.len() as u16).collect(),
        };
        let mut inputs = vec![Input::Timer, Input::ControlTimer, Input::Handle];
        if plan.timed {
            inputs.push(Input::Tick);
        }
        let ports = plan.nodes[node].ports.len() as u8;
        for port in 0..ports {
            for destination in 0..plan.nodes[node].routes.len() as u8 {
                inputs.push(Input::Receive { port, destination });
            }
            inputs.push(Input::Transmit { port });
            inputs.push(Input::Transmit { port });
            for quanta in &quanta {
                let mut times = [None; 8];
                times[PRIORITY.index()] = Some(Quanta(*quanta));
                let frame = frames.number(ControlFrame::Mac(MacControl::Pfc { times }));
                inputs.push(Input::Control { port, frame });
            }
        }
        Self { frames, inputs }
    }

    pub fn choose(&self, random: &mut SplitMix64) -> Input {
        self.inputs[(random.next_u64() % self.inputs.len() as u64) as usize]
    }
}
