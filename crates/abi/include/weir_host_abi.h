/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
 *
 * The ABI between weir-host's programs in the kernel and userspace. This header owns it: the C program includes it, the
 * Rust side is generated from it. A change of any layout changes WEIR_HOST_ABI_VERSION.
 *
 * Every field is 64 bits wide and aligned, so that a copy of a structure that is read while the kernel writes it has
 * whole values.
 */
#ifndef WEIR_HOST_ABI_H
#define WEIR_HOST_ABI_H

#include <linux/types.h>

#define WEIR_HOST_ABI_VERSION 2

#define WEIR_HOST_PRIORITIES 8
#define WEIR_HOST_DSCPS 64
/* UDP destination ports with a separate priority. */
#define WEIR_HOST_PORTS 8
/* skb->mark of a PFC frame that the ingress program sends back to wake the queue: "WAKE". */
#define WEIR_HOST_WAKE 0x57414b45

/* Source of a frame's priority. */
enum weir_host_source {
	WEIR_HOST_SOURCE_SOCKET = 0, /* SO_PRIORITY */
	WEIR_HOST_SOURCE_DSCP = 1,
	WEIR_HOST_SOURCE_VLAN = 2,   /* PCP of the outermost tag */
};

/* Settings by userspace: key 0 of the map wh_settings. */
struct weir_host_settings {
	__u64 version;            /* WEIR_HOST_ABI_VERSION */
	__u64 quantum_ps;         /* 512 bit times */
	__u64 source;             /* enum weir_host_source */
	__u64 obeyed;             /* a bit for each priority whose pauses are obeyed */
	__u64 obeys_global;       /* 802.3x PAUSE stops all of these */
	__u64 refuse_until_ns;    /* CLOCK_MONOTONIC; until then no frame is queued: the queue drains */
	__u64 limit_bytes;        /* of each priority's queue */
	__u64 share[WEIR_HOST_PRIORITIES];
	__u64 dscp[WEIR_HOST_DSCPS]; /* the priority of each */
	__u64 port[WEIR_HOST_PORTS]; /* UDP destination ports, 0: none */
	__u64 port_priority[WEIR_HOST_PORTS];
	/* For detaching. */
	__u64 multicast_added;    /* we made the device receive 01-80-C2-00-00-01 */
	__u64 gso_segments_before; /* the device's gso_max_segs, 0: unchanged */
	__u64 rate_bits_per_second;
	/* The token bucket. */
	__u64 max_rate_bits_per_second; /* of the frames on the wire, 0: unbounded */
	__u64 burst_ns;           /* time to fill the bucket */
};

/* State of a priority in the kernel: keys 0 to 7 of the map wh_priorities. */
struct weir_host_priority {
	__u64 paused_until_ns;    /* CLOCK_MONOTONIC; 0: not paused */
	__u64 paused_since_ns;
	__u64 turn;               /* position in the order of service: bytes by share */
	__u64 queued_frames;
	__u64 queued_bytes;
	__u64 peak_bytes;         /* highest queued_bytes */
	/* Counters. */
	__u64 sent_frames;        /* skbs handed to the driver: with segmentation offload several frames each */
	__u64 sent_bytes;
	__u64 dropped_limit;      /* more than limit_bytes */
	__u64 dropped_memory;     /* no memory for the queue's node */
	__u64 dropped_draining;
	__u64 pauses;             /* XOFF while it was not paused */
	__u64 refreshes;          /* XOFF while it was */
	__u64 resumes;            /* XON while it was paused */
	__u64 expiries;           /* pauses that ended by their time */
	__u64 paused_ns;          /* of pauses that have ended */
	__u64 ignored;            /* named in a PFC frame, and not obeyed */
};

/* Key 0 of the map wh_totals. */
struct weir_host_totals {
	__u64 pfc_frames;
	__u64 pause_frames;       /* 802.3x */
	__u64 bad_frames;         /* MAC control of another opcode, too short, tagged, or to another address */
	__u64 wakes;              /* frames sent back to wake the queue */
	__u64 freed;              /* frames that a reset or the end of the queue has freed */
	__u64 rate_waits;         /* times that a frame waited for the token bucket */
};

#endif
