//! Compares the whole switch with its model, using operations that mostly make sense and bytes that mostly do not.

use proptest::prelude::*;
use weir_properties::switch::{any_operations, Operation, Run, CONTROL_LENGTH, OPERATIONS_MAX};

fn operation() -> impl Strategy<Value = Operation> {
    let port = || 0..3u8;
    // More of the first lossless class than of others, so that its buffers fill.
    let priority = || prop::sample::select(vec![0u8, 1, 1, 1, 2]);
    let quanta = prop_oneof![Just(0u16), 1u16..2000];
    let opcode = prop_oneof![Just([0u8, 1]), Just([1, 1]), any::<[u8; 2]>()];
    let parameters =
        (opcode, any::<[u8; CONTROL_LENGTH]>()).prop_map(|(opcode, mut parameters)| {
            parameters[..2].copy_from_slice(&opcode);
            parameters
        });
    // Subtype and version of CLCM or echo, or something else.
    let head = prop_oneof![
        Just([0x57, 0x43, 1, 2]),
        Just([0x57, 0x45, 1, 1]),
        any::<[u8; 4]>()
    ];
    let body = (head, any::<[u8; CONTROL_LENGTH]>()).prop_map(|(head, mut body)| {
        body[..4].copy_from_slice(&head);
        body
    });
    prop_oneof![
        32 => (port(), priority(), 0..4u8, 0u16..1463).prop_map(|(port, priority, destination, length)| {
            Operation::Receive { port, priority, destination, length }
        }),
        24 => port().prop_map(|port| Operation::Transmit { port }),
        16 => any::<u8>().prop_map(|index| Operation::Complete { index }),
        4 => (port(), prop::option::of(priority()), quanta)
            .prop_map(|(port, priority, quanta)| Operation::PauseReceived { port, priority, quanta }),
        1 => (port(), parameters).prop_map(|(port, parameters)| Operation::MacControl { port, parameters }),
        1 => (port(), body).prop_map(|(port, body)| Operation::Clcm { port, body }),
        2 => (port(), any::<u32>()).prop_map(|(port, spuid)| Operation::SendClcm { port, spuid }),
        4 => (port(), port(), priority())
            .prop_map(|(ingress, egress, priority)| Operation::Release { ingress, egress, priority }),
        1 => (port(), any::<bool>()).prop_map(|(port, up)| Operation::SetLink { port, up }),
        1 => (0..4u8, prop::option::of(port()))
            .prop_map(|(destination, port)| Operation::SetRoute { destination, port }),
        12 => (1u16..400).prop_map(|micros| Operation::Wait { micros }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn incremental_state_equals_the_model(
        operations in prop::collection::vec(operation(), 1..OPERATIONS_MAX)
    ) {
        let mut run = Run::new();
        for operation in operations {
            run.apply(operation);
        }
        run.finish();
    }

    #[test]
    fn any_bytes_are_operations(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        any_operations(&bytes);
    }
}
