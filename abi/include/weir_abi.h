/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 *
 * The ABI between Weir's XDP program and userspace. This header owns it: the C program includes it, the
 * Rust side is generated from it. A change of any layout changes WEIR_ABI_VERSION.
 */
#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include <linux/types.h>

#define WEIR_ABI_MAGIC 0x5752 /* "WR" */
#define WEIR_ABI_VERSION 2

#define WEIR_PRIORITIES 8
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

/* What became of a frame. */
enum weir_verdict {
	WEIR_VERDICT_REDIRECTED = 0,
	WEIR_VERDICT_PASSED = 1,         /* handed to the kernel: LLDP, or no socket and the port's setting says so */
	WEIR_VERDICT_DROPPED = 2,        /* no socket: dropped, as the port's setting says */
	WEIR_VERDICT_TOO_SHORT = 3,      /* no whole Ethernet header: dropped */
	WEIR_VERDICT_NO_META = 4,        /* the driver left no room for the metadata: dropped */
	WEIR_VERDICT_CUT = 5,            /* a part of a frame that the driver has cut: dropped */
	WEIR_VERDICTS = 6,
};

/* Flags of struct weir_meta. */
#define WEIR_META_TAGGED 0x01   /* the outermost tag is in vlan_tci */
#define WEIR_META_IPV4 0x02     /* l3_offset is that of an IPv4 header */
#define WEIR_META_IPV6 0x04     /* l3_offset is that of an IPv6 header */
#define WEIR_META_FRAGMENT 0x08 /* an IP fragment: flow_hash covers the addresses alone */

/* Stands immediately in front of a redirected frame's first byte. All fields in host byte order. */
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
	__u16 reserved0;
	__u32 reserved1;
};

/* Where a frame's priority is looked for. */
#define WEIR_TRUST_PCP 0x01
#define WEIR_TRUST_DSCP 0x02

/* What happens to a frame when its queue has no socket. */
enum weir_fallback {
	WEIR_FALLBACK_PASS = 0,
	WEIR_FALLBACK_DROP = 1,
};

/* Who gets LLDP. */
enum weir_lldp {
	WEIR_LLDP_KERNEL = 0, /* the kernel, whatever the fallback: agents hear it by packet sockets */
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
	__u16 cut_length; /* what is as long as this is a part of a frame, and goes on with the next; zero for never */
	__u16 reserved;
};

/* One entry of the per-CPU map weir_traffic, at index class * WEIR_PRIORITIES + priority. */
struct weir_traffic {
	__u64 frames;
	__u64 bytes;
};

enum weir_sizes {
	WEIR_TRAFFIC_ENTRIES = WEIR_CLASSES * WEIR_PRIORITIES,
};

_Static_assert(sizeof(struct weir_meta) == 32, "metadata: a multiple of 4, at most 32 bytes");
_Static_assert(sizeof(struct weir_settings) == 80, "settings are a map value");
_Static_assert(sizeof(struct weir_traffic) == 16, "counters are a map value");

#endif
