//! Announcements about credits (LLDP): they decide how long a class waits, and never what it sends.

use weir_core::credit::HostCredits;
use weir_core::wire::lldp::dcbx::PrioritySet;
use weir_core::wire::ControlFrame;
use weir_core::{
    Bytes, Command, CreditConfig, CreditFallback, CreditHints, CreditState, CreditTimes,
    DropReason, Duration, MacAddress, PortRole, SwitchConfig, Transmission,
};

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, X, Y};

/// Port of the neighbour that is announced.
const LINK: u8 = 1;
const OURS: PrioritySet = PrioritySet::EMPTY.with(PRIORITY);
const LENGTH: Bytes = Bytes::new(1000);

fn node(fallback: CreditFallback) -> Node {
    Node::new(credit_config(fallback))
}

fn credit_config(fallback: CreditFallback) -> SwitchConfig {
    let mut config = config(8);
    config.classes[PRIORITY.index()].credits = Some(CreditConfig {
        size: Bytes::new(1024),
        overhead: 0,
        fallback,
    });
    config
}

/// A neighbour that uses credits on the switch's terms.
fn host(node: &Node) -> HostCredits {
    let config = node.switch.config();
    let port = &config.ports[usize::from(LINK)];
    let terms = config.classes.map(|class| class.credit_terms(port));
    HostCredits::new(terms, CreditTimes::default(), config.frame_length_max).unwrap()
}

fn set(node: &mut Node, hints: CreditHints) {
    let port = port(LINK);
    let command = Command::SetCreditHints { port, hints };
    node.switch.apply(node.now, command).unwrap();
}

fn offered() -> CreditHints {
    CreditHints {
        offered: OURS,
        ..CreditHints::default()
    }
}

fn absent() -> CreditHints {
    CreditHints {
        absent: OURS,
        ..CreditHints::default()
    }
}

fn denied() -> CreditHints {
    CreditHints {
        denied: OURS,
        ..absent()
    }
}

fn wait(node: &mut Node, time: Duration) {
    node.switch.handle_timeout(node.now);
    node.now = node.now + time;
    node.switch.handle_timeout(node.now);
}

/// States of sending and receiving.
fn states(node: &Node) -> [CreditState; 2] {
    let gauges = node.switch.credit_gauges(port(LINK), PRIORITY).unwrap();
    [gauges.sending.state, gauges.receiving.state]
}

fn link(node: &mut Node, up: bool) {
    let port = port(LINK);
    let command = Command::SetLink { port, up };
    node.switch.apply(node.now, command).unwrap();
}

/// Exchanges messages and data for 50 ms; returns the number of data frames that left.
fn talk(node: &mut Node, host: &mut HostCredits) -> usize {
    let mut bytes = [0; 128];
    let mut left = 0;
    for _ in 0..50 {
        wait(node, Duration::from_millis(1));
        while let Some(sent) = node.switch.transmit(node.now, port(LINK)) {
            match sent {
                Transmission::Control(ControlFrame::Credit(update)) => {
                    let length = update.emit(MacAddress::default(), &mut bytes).unwrap();
                    host.receive(&bytes[..length]);
                }
                Transmission::Control(_) => {}
                Transmission::Data { handle, .. } => {
                    host.note_arrival(PRIORITY, LENGTH);
                    node.frames.remove(&handle);
                    node.free.extend(node.switch.complete(handle));
                    left += 1;
                }
            }
        }
        while let Some(update) = host.take(node.now) {
            let length = update.emit(MacAddress::default(), &mut bytes).unwrap();
            let message = &bytes[..length];
            node.switch
                .receive_clcm(node.now, port(LINK), message)
                .unwrap();
        }
    }
    left
}

#[test]
fn a_neighbour_without_credits_gets_the_fallback_at_once() {
    let mut waiting = node(CreditFallback::Pfc);
    waiting.receive(0, Y, 7);
    assert!(waiting.send(LINK).is_empty(), "it may answer yet");
    set(&mut waiting, absent());
    assert_eq!(waiting.send(LINK), [7]);
    assert_eq!(states(&waiting)[0], CreditState::Fallback);

    let mut closed = node(CreditFallback::Closed);
    assert_eq!(closed.try_receive(LINK, X, 7), Err(DropReason::Priority));
    set(&mut closed, absent());
    assert_eq!(closed.try_receive(LINK, X, 7), Err(DropReason::Priority));
    assert_eq!(states(&closed)[0], CreditState::Fallback);
}

#[test]
fn its_first_message_ends_the_fallback_all_the_same() {
    let mut node = node(CreditFallback::Pfc);
    let mut host = host(&node);
    set(&mut node, denied());
    talk(&mut node, &mut host);
    assert_eq!(states(&node), [CreditState::Credits; 2]);
    node.receive(0, Y, 7);
    assert_eq!(talk(&mut node, &mut host), 1);
}

#[test]
fn a_neighbour_that_announces_credits_is_awaited_longer_and_not_for_ever() {
    let mut node = node(CreditFallback::Pfc);
    let times = node.switch.config().credits;
    node.receive(0, Y, 7);
    set(&mut node, offered());
    wait(&mut node, times.patience + times.patience);
    assert!(node.send(LINK).is_empty(), "LLDP gives no credits");
    assert_eq!(states(&node)[0], CreditState::Waiting);
    wait(&mut node, times.patience_offered);
    assert_eq!(node.send(LINK), [7]);
}

/// No watchdog would end the wait, and frames of others wait behind those for the host.
#[test]
fn a_host_that_announces_credits_is_not_awaited_longer() {
    let mut config = credit_config(CreditFallback::Pfc);
    config.ports[usize::from(LINK)].role = PortRole::Edge;
    let mut node = Node::new(config);
    let times = node.switch.config().credits;
    node.receive(0, Y, 7);
    set(&mut node, offered());
    wait(&mut node, times.patience);
    assert_eq!(node.send(LINK), [7]);
}

#[test]
fn an_announcement_that_ends_leaves_the_usual_wait() {
    let mut node = node(CreditFallback::Pfc);
    let times = node.switch.config().credits;
    node.receive(0, Y, 7);
    set(&mut node, offered());
    wait(&mut node, times.patience + times.patience);
    set(&mut node, CreditHints::default());
    node.switch.handle_timeout(node.now);
    assert_eq!(node.send(LINK), [7], "it is long over");
}

#[test]
fn a_link_that_comes_back_may_have_another_neighbour() {
    let mut node = node(CreditFallback::Pfc);
    set(&mut node, absent());
    link(&mut node, false);
    link(&mut node, true);
    assert_eq!(states(&node)[0], CreditState::Waiting);
    node.receive(0, Y, 7);
    assert!(node.send(LINK).is_empty());
    // The control plane repeats it.
    set(&mut node, absent());
    assert_eq!(node.send(LINK), [7]);
}

/// A neighbour that is restarted without its class never answers in the old epoch: its last credits are used up, and no
/// others follow.
#[test]
fn a_neighbour_that_lost_its_class_gets_the_fallback_after_the_usual_wait() {
    let mut node = node(CreditFallback::Pfc);
    let mut host = host(&node);
    let times = node.switch.config().credits;
    talk(&mut node, &mut host);
    assert_eq!(states(&node), [CreditState::Credits; 2]);
    // LLDP from something else on the link changes nothing, nor does a first denial for a later one.
    set(&mut node, absent());
    assert_eq!(states(&node), [CreditState::Credits; 2]);
    set(&mut node, denied());
    assert_eq!(states(&node), [CreditState::Waiting; 2]);
    node.receive(0, Y, 7);
    assert!(node.send(LINK).is_empty(), "it may answer yet");
    wait(&mut node, times.patience + Duration::from_millis(1));
    assert_eq!(node.send(LINK), [7]);
    assert_eq!(states(&node)[0], CreditState::Fallback);
}

/// As when LLDP is forged, or the neighbour's own is off and its host's is not.
#[test]
fn a_wrong_denial_costs_one_epoch_and_no_frame() {
    let mut node = node(CreditFallback::Pfc);
    let mut host = host(&node);
    talk(&mut node, &mut host);
    for hash in 0..40 {
        node.receive(0, Y, hash);
    }
    let mut arrived = talk(&mut node, &mut host);
    set(&mut node, denied());
    for hash in 40..60 {
        node.receive(0, Y, hash);
    }
    arrived += talk(&mut node, &mut host);
    assert_eq!(states(&node), [CreditState::Credits; 2]);
    assert_eq!(arrived, 60);
    for hints in [denied(), denied()] {
        set(&mut node, hints);
        assert_eq!(states(&node), [CreditState::Credits; 2], "repeated");
    }
    let gauges = node.switch.credit_gauges(port(LINK), PRIORITY).unwrap();
    assert_eq!(gauges.sending.used, 0, "all came back");
}
