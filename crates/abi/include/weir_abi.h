/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 *
 * The ABI between Weir's XDP program and userspace. This header owns it: the C program includes it, the
 * Rust side is generated from it. A change of any layout changes WEIR_ABI_VERSION.
 */
#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include <linux/types.h>

#define WEIR_ABI_MAGIC 0x5752 /* "WR" */
#define WEIR_ABI_VERSION 4

#define WEIR_PRIORITIES 8
#define WEIR_PORTS_MAX 256
#define WEIR_DSCPS 64
/* Receive queues of one device that can have a socket. */
#define WEIR_QUEUES_MAX 64

/* What a frame is. */
enum weir_class {
	WEIR_CLASS_DATA = 0,
	WEIR_CLASS_MAC_CONTROL = 1, /* EtherType 0x8808: PAUSE, PFC */
	WEIR_CLASS_LLDP = 2,        /* EtherType 0x88CC */
	WEIR_CLASS_CLCM = 3,        /* EtherType 0x88B5 to 01-80-C2-00-00-0E */
	WEIR_CLASSES = 4,
};

/* Fate of a frame. */
enum weir_verdict {
	WEIR_VERDICT_REDIRECTED = 0,
	WEIR_VERDICT_PASSED = 1,         /* handed to the kernel: LLDP, or no socket and the port's setting is to pass */
	WEIR_VERDICT_DROPPED = 2,        /* no socket: dropped by the port's setting */
	WEIR_VERDICT_TOO_SHORT = 3,      /* no whole Ethernet header: dropped */
	WEIR_VERDICT_NO_META = 4,        /* the driver left no room for the metadata: dropped */
	WEIR_VERDICT_CUT = 5,            /* a part of a frame that the driver has cut: dropped */
	WEIR_VERDICT_EXPRESS = 6,        /* it went to its egress device at once */
	WEIR_VERDICT_NO_SLOT = 7,        /* the RX ring has no slot except those kept for frames with a credit: dropped */
	WEIR_VERDICTS = 8,
};

/* Flags of struct weir_meta. */
#define WEIR_META_TAGGED 0x01   /* the outermost tag is in vlan_tci */
#define WEIR_META_IPV4 0x02     /* l3_offset is that of an IPv4 header */
#define WEIR_META_IPV6 0x04     /* l3_offset is that of an IPv6 header */
#define WEIR_META_FRAGMENT 0x08 /* an IP fragment: flow_hash covers only the addresses */
#define WEIR_META_CREDIT 0x10   /* its sender had a credit for it: it is not in weir_slots.entered */

/* Immediately in front of a redirected frame's first byte. All fields in host byte order. */
struct weir_meta {
	__u16 magic;
	__u8 version;
	__u8 frame_class; /* enum weir_class */
	__u8 priority; /* 0 to 7 */
	__u8 flags;
	__u16 vlan_tci; /* outermost tag, zero when untagged */
	__u32 flow_hash; /* equal for all frames of one flow */
	__u32 ifindex; /* the device that received the frame */
	__u64 arrival_nanos; /* CLOCK_MONOTONIC */
	__u16 l3_offset; /* from the frame's first byte */
	/*
	 * When the device received it, by the device's own clock: the lowest 48 bits of its nanoseconds, and the record is as short as old kernels
	 * require it. Both zero: the device gave no time.
	 */
	__u16 hardware_nanos_high;
	__u32 hardware_nanos_low;
};

/* Sources of a frame's priority. */
#define WEIR_TRUST_PCP 0x01
#define WEIR_TRUST_DSCP 0x02

/* Treatment of a frame whose queue has no socket. */
enum weir_fallback {
	WEIR_FALLBACK_PASS = 0,
	WEIR_FALLBACK_DROP = 1,
};

/* Receiver of LLDP frames. */
enum weir_lldp {
	WEIR_LLDP_KERNEL = 0, /* the kernel, with either fallback: agents receive it on packet sockets */
	WEIR_LLDP_SOCKET = 1, /* the queue's socket, as any other frame */
};

/* One port's settings: entry 0 of the map weir_settings. */
struct weir_settings {
	__u8 default_priority;
	__u8 trust; /* WEIR_TRUST_*; PCP counts before DSCP */
	__u8 fallback; /* enum weir_fallback */
	__u8 lldp; /* enum weir_lldp */
	__u8 pcp_to_priority[WEIR_PRIORITIES];
	__u8 dscp_to_priority[WEIR_DSCPS];
	__u16 cut_length; /* data of this length is a part of a frame, continued by the next; zero: never */
	__u8 port; /* number of this port, for the shared words of the express path */
	__u8 reserved;
};

/* One entry of the per-CPU map weir_traffic, at index class * WEIR_PRIORITIES + priority. */
struct weir_traffic {
	__u64 frames;
	__u64 bytes;
};

/*
 * Slots of the RX ring of one queue, where some are kept for frames with a credit: entry of the queue in the map weir_slots. The first
 * cache line is the program's, the second the loop's. docs/src/internals/design/credits-rings.md explains why no slot is promised twice.
 */
struct weir_slots {
	__u64 begun; /* frames that the program has begun to hand to the socket */
	__u64 entered; /* slots taken by those without a credit */
	__u64 returned; /* of the begun ones, frames that the socket will not get */
	__u64 reserved0[5];
	__u64 limit; /* frames without a credit may take slots up to this number, which only grows */
	__u64 kept_from_lossless; /* slots below the limit that data frames leave to control frames */
	__u64 kept_from_lossy; /* the same for frames of lossy classes, also for lossless ones */
	__u64 part_bytes; /* bytes of a frame in one slot; zero: every frame takes one slot */
	__u64 credited; /* one bit for each priority whose frames have a credit */
	__u64 lossless; /* one bit for each other lossless priority */
	__u64 reserved1[2];
};

/*
 * The express path: memory that the programs of all ports share with each other and with the switch core. docs/src/internals/express.md
 * explains the writers of each word and their order. Words of the two sides never share a cache line.
 */

/* State of the path: entry 0 of the map weir_mode. */
struct weir_mode {
	__u64 on; /* zero: every frame goes to the core */
	__u64 alive_nanos; /* CLOCK_MONOTONIC, the core's last sign of life */
	__u64 length_max; /* bytes of the longest frame */
	__u64 reserved[5];
};

/* A mode whose core has said nothing for so long is off. */
#define WEIR_EXPRESS_STALE_NANOS 50000000ULL

/* Bits of weir_line.gate: the lowest eight say for which priorities the egress is open, the highest 32 count MAC control frames. */
#define WEIR_GATE_OPEN_MASK 0xffULL
#define WEIR_GATE_SEEN_SHIFT 32

/* One egress: the entry of its port in the map weir_lines. */
struct weir_line {
	__u64 gate;
	__u64 free_at_nanos; /* CLOCK_MONOTONIC, end of transmission of all frames given to its line */
	__u64 nanos_per_byte; /* times 2^32 */
	__u64 burst_nanos; /* what may go back to back after a time without frames */
	__u64 overhead_bytes; /* between two frames */
	__u64 lost; /* redirected frames that the kernel could not give the device */
	__u64 on_way; /* frames that programs have let pass and that the device has not been given yet, where sure */
	__u64 sure; /* not zero: a frame passes only if the device surely has room for it */
	__u64 no_room; /* frames that went to the core since there was no room, or the egress was just shut */
	__u64 reserved[7];
};

/* A device whose losses are counted: the key of the map weir_watched; the value is its port. */
struct weir_device {
	__u32 namespace; /* inode of its network namespace */
	__u32 ifindex;
};

/* Key of the map weir_freed: frames that the kernel dropped at a port's device. */
struct weir_freed {
	__u32 port;
	__u32 reason; /* the kernel's enum skb_drop_reason, or WEIR_UNLISTED */
};

enum {
	/* Pairs of port and reason; far fewer occur. */
	WEIR_FREED_MAX = 4096,
	/* All reasons for which there is no room. */
	WEIR_UNLISTED = 0x7fffffff,
};

/* Frames of one ingress and priority, at index port * WEIR_PRIORITIES + priority of the map weir_flows. */
struct weir_flow {
	__u64 entered; /* handed to the core */
	__u64 reserved0[7];
	__u64 finished; /* of those, no longer inside the switch */
	__u64 reserved1[7];
};

enum weir_sizes {
	WEIR_TRAFFIC_ENTRIES = WEIR_CLASSES * WEIR_PRIORITIES,
	WEIR_FLOWS = WEIR_PORTS_MAX * WEIR_PRIORITIES,
	/*
	 * What took the express path, in the map weir_paths: for each CPU so many entries, those of what came in by a port first, at index
	 * port * WEIR_PRIORITIES + priority, then those of what left by it.
	 */
	WEIR_PATHS = 2 * WEIR_FLOWS,
	WEIR_ROUTES_MAX = 65536,
};

_Static_assert(sizeof(struct weir_meta) == 32, "metadata: a multiple of 4, at most 32 bytes");
_Static_assert(sizeof(struct weir_settings) == 80, "settings are a map value");
_Static_assert(sizeof(struct weir_mode) == 64 && sizeof(struct weir_line) == 128 && sizeof(struct weir_flow) == 128,
	       "words that both sides write are in separate cache lines");
_Static_assert(sizeof(struct weir_slots) == 128, "each side's words are in a cache line");
_Static_assert(sizeof(struct weir_traffic) == 16, "counters are a map value");

#endif
