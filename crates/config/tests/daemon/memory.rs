//! Memory of switches with many ports.

use std::fmt::Write;
use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_core::{Bytes, ClassMode, MacAddress, Priority};

const LOSSLESS: &str = r#"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
"#;
const POOL: &str = r#"
[[pool]]
name = "mine"
size = "1MiB"
"#;
const HALF_A_GIBIBYTE: u64 = 1 << 29;
/// Cells of 256 B.
const CELLS_OF_A_KIBIBYTE: usize = 4;

fn ports(count: usize, more: &str) -> DaemonConfig {
    let mut text = format!("name = \"s1\"\n{more}");
    for port in 0..count {
        writeln!(
            text,
            "[[port]]\ndevice = \"e{port}\"\nrole = \"edge\"\nrate = \"10Gbit\""
        )
        .unwrap();
    }
    DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap()
}

fn buffer_cells(config: &DaemonConfig) -> usize {
    let core = config.core(&[]);
    core.validate().unwrap();
    core.frames_needed()
}

#[test]
fn sixty_four_ports_with_the_default_classes_take_half_a_gibibyte() {
    let config = ports(64, "");
    let all = config.umem_size() + config.kernel_tables();
    assert!(all.get() <= HALF_A_GIBIBYTE, "{all}");
    assert_eq!(config.umem_size(), Bytes::new(64 << 20));
    assert_eq!(config.kernel_tables(), Bytes::new(64 * (4 << 20)));
}

#[test]
fn few_ports_have_separate_buffers_and_many_share() {
    let few = ports(8, "");
    assert_eq!(buffer_cells(&few), 8 * 8 * 256 * CELLS_OF_A_KIBIBYTE);
    assert!(few.pool_names().is_empty());
    for count in [9, 64, 256] {
        let many = ports(count, "");
        assert_eq!(buffer_cells(&many), 3 * 1024 * CELLS_OF_A_KIBIBYTE);
        assert_eq!(many.pool_names(), ["default"]);
        let core = many.core(&vec![MacAddress::default(); count]);
        for priority in Priority::ALL {
            let ClassMode::Lossy { buffer } = core.classes[priority.index()].mode else {
                panic!("the implicit class is lossy");
            };
            // A buffer alone has at least as much as a separate one.
            assert_eq!(buffer, Bytes::new(3 * 1024 * 1024 / 9));
        }
    }
    // A file with pools decides itself.
    let own = ports(64, POOL);
    assert_eq!(own.pool_names(), ["mine"]);
    assert_eq!(own.core(&[]).classes[0].pool, None);
}

#[test]
fn lossless_buffers_keep_their_memory_and_their_rings() {
    let config = ports(64, LOSSLESS);
    let lossless = 64 * (60 + 2 * 64) * CELLS_OF_A_KIBIBYTE;
    let shared = 3 * 1024 * CELLS_OF_A_KIBIBYTE;
    assert_eq!(buffer_cells(&config), lossless + shared);
    assert_eq!(config.rx_ring(), 2048);
    let core = config.core(&[]);
    let of_class = core.classes[3].mode.thresholds().unwrap();
    assert_eq!(of_class.headroom(), Bytes::new(64 * 1024));
    assert_eq!(core.classes[3].pool, None);
}

#[test]
fn rings_without_a_lossless_class_are_bounded_together() {
    for (count, ring) in [
        (1, 2048),
        (8, 2048),
        (9, 1024),
        (16, 1024),
        (64, 256),
        (256, 256),
    ] {
        let config = ports(count, "");
        assert_eq!(config.rx_ring(), ring, "{count} ports");
        // The running switch has it in its settings.
        let settled = config.settled(&vec![None; count], &[]);
        assert_eq!(settled.dataplane.rx_ring, Some(ring));
        assert_eq!(settled.umem_frames(), config.umem_frames());
    }
    let set = ports(64, "[dataplane]\nrx-ring = 4096\n");
    assert_eq!(set.rx_ring(), 4096);
    let queues = ports(8, "").settled(&[Some(4); 8], &[]);
    assert_eq!(queues.rx_ring(), 512);
}
