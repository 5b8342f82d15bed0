//! The facts, by driver.

use weir_core::Bytes;

use super::{Driver, MacControlFrames, TooLong, SHARED_INFO};

/// Defaults for a driver without zero-copy.
const COPY: Driver = Driver {
    name: "",
    native: true,
    metadata: true,
    zero_copy: None,
    granularity: Bytes::new(1),
    tailroom: Bytes::ZERO,
    too_long: TooLong::Dropped,
    strips_tags: false,
    lro_above: None,
    mac_control: MacControlFrames::Passed,
    no_buffer: None,
    keeps_order: false,
    needs_queueing: false,
    counts_sent: false,
    attaching: "nothing",
    source: "",
};

/// All known drivers, by name.
pub const DRIVERS: &[Driver] = &[
    Driver {
        name: "e1000e",
        native: false,
        strips_tags: true,
        mac_control: MacControlFrames::WithRxAll,
        source: "tested: QEMU, Linux 7.3; read: netdev.c `e1000_setup_rctl` (`E1000_RCTL_PMCF`)",
        ..COPY
    },
    Driver {
        name: "i40e",
        zero_copy: Some("yes"),
        granularity: Bytes::new(128),
        too_long: TooLong::Chained,
        strips_tags: true,
        mac_control: MacControlFrames::NotKnown,
        attaching: "resets the rings",
        source: "read: i40e_main.c `i40e_configure_rx_ring` (`dbuff`), i40e_xsk.c, Linux 6.6 and later",
        ..COPY
    },
    Driver {
        name: "ice",
        zero_copy: Some("yes"),
        granularity: Bytes::new(128),
        too_long: TooLong::Chained,
        strips_tags: true,
        mac_control: MacControlFrames::NotKnown,
        attaching: "resets the rings",
        source: "read: ice_base.c `ice_setup_rx_ctx` (`dbuf`), ice_xsk.c, Linux 6.6 and later",
        ..COPY
    },
    Driver {
        name: "igb",
        zero_copy: Some("since Linux 6.14"),
        granularity: Bytes::new(1024),
        too_long: TooLong::Cut,
        strips_tags: true,
        mac_control: MacControlFrames::WithRxAll,
        attaching: "resets the link",
        source: "tested: QEMU, Linux 7.3; read: igb_xsk.c `igb_clean_rx_irq_zc` looks for no end of a frame, igb_main.c `igb_setup_srrctl`, `igb_setup_rctl` (`E1000_RCTL_PMCF`)",
        ..COPY
    },
    Driver {
        name: "igc",
        zero_copy: Some("yes"),
        granularity: Bytes::new(1024),
        too_long: TooLong::Cut,
        strips_tags: true,
        mac_control: MacControlFrames::WithRxAll,
        attaching: "resets the link",
        source: "read: igc_main.c `igc_clean_rx_irq_zc` looks for no end of a frame, igc_base.h `IGC_SRRCTL_BSIZEPKT`, Linux 6.14, `igc_setup_rctl` (`IGC_RCTL_PMCF`)",
        ..COPY
    },
    Driver {
        name: "ixgbe",
        zero_copy: Some("yes"),
        // For the 82599; later ones have a limit in bytes.
        granularity: Bytes::new(1024),
        strips_tags: true,
        attaching: "resets the link",
        source: "read: ixgbe_main.c `ixgbe_configure_srrctl`, `ixgbe_set_rx_mode` (`IXGBE_FCTRL_PMCF`), ixgbe_xsk.c (frames without an end are discarded), Linux 5.10 and later",
        ..COPY
    },
    Driver {
        name: "mlx5_core",
        zero_copy: Some("yes"),
        strips_tags: true,
        mac_control: MacControlFrames::NotKnown,
        attaching: "recreates all queues",
        source: "read: en/xsk/setup.c `mlx5e_validate_xsk_param` (a chunk that does not hold the MTU is refused), Linux 5.10 and later",
        ..COPY
    },
    Driver {
        name: "tun",
        source: "not read: a software device",
        ..COPY
    },
    Driver {
        name: "veth",
        keeps_order: true,
        needs_queueing: true,
        counts_sent: true,
        source: "tested: all of Weir's own tests",
        ..COPY
    },
    Driver {
        name: "virtio_net",
        zero_copy: Some("since Linux 6.14, with the DMA API (QEMU: `disable-legacy=on,iommu_platform=on`)"),
        tailroom: SHARED_INFO,
        attaching: "adds a receive queue for each CPU, where the device has as many",
        source: "tested: QEMU, Linux 7.3; read: virtio_net.c `virtnet_xdp_set`, `virtnet_receive_xsk_merge`, Linux 6.16",
        ..COPY
    },
    Driver {
        name: "vmxnet3",
        metadata: false,
        strips_tags: true,
        // `VMXNET3_MAX_SKB_BUF_SIZE`: the first buffer of a frame.
        lro_above: Some(Bytes::new(3072)),
        no_buffer: Some("pkts rx OOB"),
        attaching: "resets the device, in native mode",
        source: "tested: QEMU, Linux 7.2; read: vmxnet3_drv.c `vmxnet3_setup_driver_shared` (`maxNumRxSG` only with `lro`), vmxnet3_xdp.c, vmxnet3_ethtool.c `vmxnet3_get_stats64` (without `pktsRxOutOfBuf`), QEMU's vmxnet3.c `vmxnet3_indicate_packet`; VMware's own device: not tested",
        ..COPY
    },
];
