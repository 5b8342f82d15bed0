//! Traces of chakra: flows wait for the same as the trace's ranks, and errors name the node that cannot be imported.

mod replay;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use weir_config::scenario::{Pattern, Scenario, Transport};
use weir_core::{Bytes, Duration};
use weir_sim::import::{chakra, AllReduce, Chakra, ChakraError, TraceFile};
use weir_sim::scenario::{run, Options};

use replay::replay;
use wire::{
    file, files, Node, Value, ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLL, COMP, RECV, REDUCE_SCATTER,
    SEND,
};

const NETWORK: &str = include_str!("../../../../scenarios/chakra/network.toml");
const STEP: [&[u8]; 4] = [
    include_bytes!("../../../../scenarios/chakra/step.0.et"),
    include_bytes!("../../../../scenarios/chakra/step.1.et"),
    include_bytes!("../../../../scenarios/chakra/step.2.et"),
    include_bytes!("../../../../scenarios/chakra/step.3.et"),
];

fn import(traces: &[TraceFile], all_reduce: AllReduce) -> Result<String, ChakraError> {
    let hosts: Vec<String> = (1..=traces.len()).map(|host| format!("h{host}")).collect();
    let groups = BTreeMap::from([("1".to_owned(), vec![0, 1]), ("2".to_owned(), vec![2, 3])]);
    chakra(&Chakra {
        traces,
        groups: &groups,
        hosts: &hosts,
        class: "lossless",
        all_reduce,
        payload: Bytes::new(1000),
        header: Bytes::new(48),
        transport: Transport::Open,
        duration: Duration::from_secs(1),
        operations_per_second: None,
    })
}

/// Builds traces of one rank that computes `work` and then sends one message; returns when that begins, in nanoseconds.
fn start_after(work: Node, operations_per_second: Option<u64>) -> Result<u64, ChakraError> {
    let send = Node {
        id: 2,
        kind: SEND,
        data: vec![1],
        attributes: vec![
            ("comm_dst", Value::Uint32(1)),
            ("comm_size", Value::Uint64(1000)),
        ],
        ..Node::default()
    };
    let receive = Node {
        id: 1,
        kind: RECV,
        attributes: vec![("comm_src", Value::Uint32(0))],
        ..Node::default()
    };
    let traces = files(&[vec![Node { id: 1, ..work }, send], vec![receive]]);
    let flows = chakra(&Chakra {
        traces: &traces,
        groups: &BTreeMap::new(),
        hosts: &["h1".to_owned(), "h2".to_owned()],
        class: "lossless",
        all_reduce: AllReduce::Ring,
        payload: Bytes::new(1000),
        header: Bytes::new(48),
        transport: Transport::Open,
        duration: Duration::from_millis(20),
        operations_per_second,
    })?;
    Ok(scenario(&flows).flows[0].start.as_nanos())
}

#[test]
fn operations_without_a_time_need_a_rate() {
    let computing = |micros, attributes| Node {
        kind: COMP,
        micros,
        attributes,
        ..Node::default()
    };
    let operations = |count| vec![("num_ops", Value::Uint64(count))];
    let error = start_after(computing(0, operations(20_000_000_000)), None);
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "t.0.et: node 1: has num_ops and no duration_micros; give --ops-per-second, or write duration_micros");
    let start = |node, rate| start_after(node, rate).unwrap();
    let rate = Some(312_000_000_000_000);
    assert_eq!(
        start(computing(0, operations(20_000_000_000)), rate),
        64_103
    );
    assert_eq!(start(computing(0, operations(1)), rate), 1, "rounded up");
    assert_eq!(start(computing(500, operations(1 << 40)), rate), 500_000);
    assert_eq!(start(computing(0, operations(0)), None), 0);
    assert_eq!(start(computing(0, Vec::new()), None), 0);
    let error = start_after(computing(0, operations(u64::MAX)), Some(1));
    assert!(error
        .unwrap_err()
        .to_string()
        .contains("raise --ops-per-second"));
    let error = start_after(computing(20_000, Vec::new()), None);
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "t.0.et: r0-n2, a transfer, starts after 20ms of computations, and the network's `duration` is 20ms: write a longer one there");
    let memory = Node {
        kind: 2,
        attributes: vec![("tensor_size", Value::Uint64(1 << 20))],
        ..Node::default()
    };
    let error = start_after(memory, rate).unwrap_err().to_string();
    assert!(
        error.contains("has tensor_size and no duration_micros"),
        "{error}"
    );
}

#[test]
fn a_trace_without_its_description_loses_no_node() {
    let ranks: Vec<Vec<Node>> = (0..4).map(step_nodes).collect();
    let whole = files(&ranks);
    let bare: Vec<TraceFile> = whole
        .iter()
        .map(|trace| TraceFile {
            name: trace.name.clone(),
            // The description is 8 B with its length.
            bytes: trace.bytes[8..].to_vec(),
        })
        .collect();
    assert_eq!(
        import(&bare, AllReduce::Ring),
        import(&whole, AllReduce::Ring)
    );
}

fn scenario(flows: &str) -> Scenario {
    let text = NETWORK.to_owned() + flows;
    Scenario::parse(&text, Path::new("step.toml"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn step() -> Vec<TraceFile> {
    let ranks = STEP.iter().enumerate();
    ranks
        .map(|(rank, bytes)| TraceFile {
            name: format!("step.{rank}.et"),
            bytes: bytes.to_vec(),
        })
        .collect()
}

/// Nodes of `make-traces.py`, in its order.
fn step_nodes(rank: u64) -> Vec<Node> {
    let node = |id, name, kind, attributes: &[(&'static str, Value)]| {
        let own = [("is_cpu_op", Value::Bool(false))];
        Node {
            id,
            name,
            kind,
            attributes: own.iter().chain(attributes).cloned().collect(),
            ..Node::default()
        }
    };
    let message = |from: u64, to: u64| {
        [
            ("comm_src", Value::Uint32(from)),
            ("comm_dst", Value::Uint32(to)),
            ("comm_size", Value::Uint64(100_000)),
            ("comm_tag", Value::Uint32(7)),
        ]
    };
    let collective = |kind, size| {
        [
            ("comm_type", Value::Int64(kind)),
            ("comm_size", Value::Uint64(size)),
        ]
    };
    let mut nodes = vec![
        Node {
            micros: 20,
            ..node(1, "backward", COMP, &[])
        },
        Node {
            data: vec![1],
            ..node(2, "gradients", COLL, &collective(ALL_REDUCE, 400_000))
        },
        Node {
            data: vec![2],
            micros: 10,
            ..node(3, "optimizer", COMP, &[])
        },
    ];
    let group = Value::Text(if rank < 2 { "1" } else { "2" });
    let experts = collective(ALL_TO_ALL, 200_000);
    nodes.push(Node {
        data: vec![3],
        ..node(
            4,
            "experts",
            COLL,
            &[experts[0].clone(), experts[1].clone(), ("pg_name", group)],
        )
    });
    if rank > 0 {
        nodes.push(Node {
            control: vec![4],
            ..node(5, "activations", RECV, &message(rank - 1, rank))
        });
        nodes.push(Node {
            data: vec![5],
            micros: 5,
            ..node(6, "forward", COMP, &[])
        });
    }
    if rank < 3 {
        nodes.push(Node {
            data: vec![if rank > 0 { 6 } else { 4 }],
            ..node(7, "activations", SEND, &message(rank, rank + 1))
        });
    }
    nodes
}

#[test]
fn the_files_that_google_s_library_has_written_are_those_written_by_hand() {
    for (rank, trace) in step().iter().enumerate() {
        let by_hand = file("", &step_nodes(rank as u64));
        assert_eq!(trace.bytes, by_hand.bytes, "rank {rank}");
    }
}

#[test]
fn the_example_runs_and_each_flow_begins_when_what_it_needs_has_arrived() {
    let scenario = scenario(&import(&step(), AllReduce::Ring).unwrap());
    // A ring of four in six steps; two pairs; three hops.
    assert_eq!(scenario.flows.len(), 4 * 6 + 2 * 2 + 3);
    let result = run(&scenario, Options::default()).unwrap();
    let nanos = |seconds: Option<f64>| (seconds.unwrap() * 1e9).round() as u64;
    let ends: Vec<u64> = result
        .flows
        .iter()
        .map(|flow| nanos(flow.began_seconds) + nanos(flow.completion_seconds))
        .collect();
    for (flow, seen) in scenario.flows.iter().zip(&result.flows) {
        let waits = flow.after.iter();
        let waits = waits.map(|wait| ends[wait.flow] + wait.compute.as_nanos());
        let expected = waits.chain([flow.start.as_nanos()]).max().unwrap();
        assert!(
            nanos(seen.began_seconds).abs_diff(expected) <= 1,
            "{}: {seen:?}, {expected}",
            flow.name
        );
    }
    let by_name = |name: &str| {
        result
            .flows
            .iter()
            .position(|flow| flow.name == name)
            .unwrap()
    };
    // `backward` takes 20 µs, `optimizer` 10 µs, `forward` 5 µs.
    assert_eq!(
        nanos(result.flows[by_name("r0-n2-s0")].began_seconds),
        20_000
    );
    let reduced = ends[by_name("r3-n2-s5")];
    let experts = &result.flows[by_name("r0-n4-to1")];
    assert!(nanos(experts.began_seconds).abs_diff(reduced + 10_000) <= 1);
    // 100,000 B are 100 frames of 1,048 B.
    assert_eq!(experts.size_bytes, Some(104_800));
}

fn evaluate(scenario: &Scenario) -> BTreeMap<String, u64> {
    let mut begins = vec![0; scenario.flows.len()];
    loop {
        let mut has_changed = false;
        for (index, flow) in scenario.flows.iter().enumerate() {
            let waits = flow.after.iter().map(|wait| {
                let Pattern::Burst { size } = scenario.flows[wait.flow].pattern else {
                    panic!("{flow:?}");
                };
                begins[wait.flow] + 1000 + size.get() + wait.compute.as_nanos()
            });
            let begin = waits.chain([flow.start.as_nanos()]).max().unwrap();
            has_changed |= begin != begins[index];
            begins[index] = begin;
        }
        if !has_changed {
            let names = scenario.flows.iter().map(|flow| flow.name.clone());
            return names.zip(begins).collect();
        }
    }
}

/// Four ranks that compute, reduce and exchange, with the same collectives in the same order.
fn any_ranks() -> impl Strategy<Value = Vec<Vec<Node>>> {
    let kinds = prop::collection::vec((0usize..6, 1u64..9000, any::<[u8; 8]>()), 1..7);
    kinds.prop_map(|kinds| {
        let mut ranks: Vec<Vec<Node>> = vec![Vec::new(); 4];
        for (number, (kind, size, noise)) in kinds.into_iter().enumerate() {
            let id = 10 * (number as u64 + 1);
            for (rank, nodes) in ranks.iter_mut().enumerate() {
                // A rank may compute before, and waits for one node or two.
                let compute = u64::from(noise[rank] % 5);
                let earlier: Vec<u64> = nodes.iter().rev().map(|node| node.id).collect();
                let pick = |index: usize| earlier.get(index % earlier.len().max(1)).copied();
                let waits = [pick(0), pick(usize::from(noise[rank + 4]))];
                let waits: Vec<u64> = waits.into_iter().flatten().collect();
                let data = if compute > 0 {
                    nodes.push(Node {
                        id: id + 1,
                        kind: COMP,
                        data: waits,
                        micros: compute,
                        ..Node::default()
                    });
                    vec![id + 1]
                } else {
                    waits
                };
                let message = |from: u64, to: u64| {
                    vec![
                        ("comm_src", Value::Uint32(from)),
                        ("comm_dst", Value::Uint32(to)),
                        ("comm_size", Value::Uint64(size)),
                        ("comm_tag", Value::Uint32(id)),
                    ]
                };
                let collective = [ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER].get(kind);
                let (kind, attributes) = match (collective, rank as u64) {
                    (Some(kind), _) => (
                        COLL,
                        vec![
                            ("comm_type", Value::Int64(*kind)),
                            ("comm_size", Value::Uint64(size)),
                        ],
                    ),
                    (None, rank @ (0 | 2)) => (SEND, message(rank, rank + 1)),
                    (None, rank) => (RECV, message(rank - 1, rank)),
                };
                nodes.push(Node {
                    id,
                    kind,
                    control: data,
                    attributes,
                    ..Node::default()
                });
            }
        }
        ranks
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn flows_begin_when_the_trace_s_nodes_do(ranks in any_ranks(), tree: bool) {
        let all_reduce = if tree { AllReduce::Tree } else { AllReduce::Ring };
        let text = import(&files(&ranks), all_reduce).unwrap();
        prop_assert_eq!(evaluate(&scenario(&text)), replay(&ranks, all_reduce));
    }

    #[test]
    fn no_bytes_make_it_fail_otherwise_than_by_an_error(
        mut trace in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0usize..400,
        at in 0usize..400,
    ) {
        let mut traces = step();
        let length = traces[1].bytes.len();
        traces[1].bytes.truncate(cut % length);
        let _ = import(&traces, AllReduce::Ring);
        let mut traces = step();
        traces[2].bytes[at % length] ^= 0x15;
        let _ = import(&traces, AllReduce::Tree);
        let mut traces = step();
        traces[3].bytes.append(&mut trace);
        let _ = import(&traces, AllReduce::Ring);
    }
}

#[test]
fn errors_are_reported_with_file_and_node() {
    let broken = |change: &dyn Fn(&mut Vec<Vec<Node>>)| {
        let mut ranks: Vec<Vec<Node>> = (0..4).map(step_nodes).collect();
        change(&mut ranks);
        import(&files(&ranks), AllReduce::Ring)
            .unwrap_err()
            .to_string()
    };
    let set = |node: &mut Node, name: &'static str, value: Value| {
        node.attributes.retain(|(other, _)| *other != name);
        node.attributes.push((name, value));
    };
    for (said, error) in [
        ("t.1.et: node 3: waits for node 99, which is not in the file", broken(&|ranks| ranks[1][2].data = vec![99])),
        ("t.1.et: node 1: waits for itself by way of others", broken(&|ranks| ranks[1][0].data = vec![3])),
        ("t.2.et: node 1: two nodes have this id", broken(&|ranks| ranks[2][1].id = 1)),
        ("t.3.et: node 2: comm_type is 5; imported are", broken(&|ranks| set(&mut ranks[3][1], "comm_type", Value::Int64(5)))),
        ("t.0.et: node 2: has no attribute comm_type", broken(&|ranks| ranks[0][1].attributes.clear())),
        ("t.0.et: node 2: comm_size is 0", broken(&|ranks| set(&mut ranks[0][1], "comm_size", Value::Uint64(0)))),
        ("t.1.et: node 2: is all-gather of 400000 B, and at rank 0 the same collective (node 2) is all-reduce", broken(&|ranks| set(&mut ranks[1][1], "comm_type", Value::Int64(ALL_GATHER)))),
        ("t.0.et: node 4: the group `9` (pg_name) is not known", broken(&|ranks| set(&mut ranks[0][3], "pg_name", Value::Text("9")))),
        ("t.0.et: node 4: rank 0 is not in the group `2`", broken(&|ranks| set(&mut ranks[0][3], "pg_name", Value::Text("2")))),
        ("t.0.et: node 7: comm_dst is 4, and there are 4 ranks", broken(&|ranks| set(&mut ranks[0][4], "comm_dst", Value::Uint32(4)))),
        ("t.0.et: node 7: no receive at rank 1 for its send with tag 8", broken(&|ranks| set(&mut ranks[0][4], "comm_tag", Value::Uint32(8)))),
        ("t.1.et: node 5: rank 0 sends nothing for it with tag 7", broken(&|ranks| { ranks[0].pop(); })),
        ("t.0.et: node 2: is collective number 1 of all ranks, and rank 3 has fewer", broken(&|ranks| { ranks[3].remove(1); ranks[3][1].data.clear(); })),
        ("t.0.et: node 2: involved_dim leaves out a dimension", broken(&|ranks| set(&mut ranks[0][1], "involved_dim", Value::Bools(vec![true, false])))),
        ("t.2.et: node 7: comm_src is 1 in the file of rank 2", broken(&|ranks| set(&mut ranks[2][6], "comm_src", Value::Uint32(1)))),
        ("t.2.et: node 1: is of the unknown kind 11", broken(&|ranks| ranks[2][0].kind = 11)),
    ] {
        assert!(error.starts_with(said), "{error}\n{said}");
        assert!(error.contains(';') || error.contains("4 ranks"), "says what to do: {error}");
    }
    let of_bytes = |bytes: &[u8]| {
        let mut traces = step();
        traces[1].bytes = bytes.to_vec();
        import(&traces, AllReduce::Ring).unwrap_err().to_string()
    };
    assert!(of_bytes(b"").starts_with("step.1.et: is empty"));
    assert!(of_bytes(&[0x1f, 0x8b, 8]).contains("gunzip"));
    let cut = &STEP[1][..STEP[1].len() - 3];
    assert!(
        of_bytes(cut).contains("the file is cut off"),
        "{}",
        of_bytes(cut)
    );
    assert!(of_bytes(&[0xff; 20]).contains("is it a chakra .et file?"));
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/chakra")
}

#[test]
fn the_command_prints_a_scenario_or_says_where_the_trace_is_wrong() {
    let import = |prefix: &Path| {
        Command::new(env!("CARGO_BIN_EXE_weir-sim"))
            .args(["import", "chakra", "--trace"])
            .arg(prefix)
            .arg("--network")
            .arg(scenarios().join("network.toml"))
            .arg("--groups")
            .arg(scenarios().join("groups.json"))
            .output()
            .unwrap()
    };
    let output = import(&scenarios().join("step"));
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let imported = Scenario::parse(&text, Path::new("step.toml"), &[]).unwrap();
    assert_eq!(imported.flows.len(), 31);
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("step");
    for (rank, whole) in STEP.into_iter().enumerate() {
        let bytes = if rank == 2 { &whole[..40] } else { whole };
        std::fs::write(format!("{}.{rank}.et", prefix.display()), bytes).unwrap();
    }
    let output = import(&prefix);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("step.2.et: byte"), "{error}");
}
