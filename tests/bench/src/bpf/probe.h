/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What the programs share with userspace (src/programs.rs reads and writes the same layouts).
 *
 * A probe is an Ethernet, IPv4 and UDP header and this record, in the machine's own byte order: sender and
 * receiver are one machine.
 */
#ifndef WEIR_BENCH_PROBE_H
#define WEIR_BENCH_PROBE_H

#include <linux/types.h>

#define PROBE_UDP_PORT 42424
#define FLOW_PORT_FIRST 10000
#define PRIORITIES 8

/* Latencies in octaves of 32 buckets each, up to 2^40 ns. */
#define BUCKETS_PER_OCTAVE_LOG2 5
#define BUCKETS_PER_OCTAVE (1 << BUCKETS_PER_OCTAVE_LOG2)
#define OCTAVES 36
#define BUCKETS (OCTAVES * BUCKETS_PER_OCTAVE)

struct probe {
	__u32 trial;
	__u32 sequence;
	__u64 sent_nanos; /* CLOCK_MONOTONIC */
} __attribute__((packed));

/* What the hosts are to do. */
struct orders {
	__u32 trial;
	__u32 ifindex;       /* where live frames go */
	__u32 flow_mask;     /* flows - 1, a power of two less one */
	__u32 next_sequence; /* of live frames */
	__u64 quantum_picos; /* 512 bit times */
	__u64 gap_picos;     /* from one live frame to the next */
	__u64 for_nanos;     /* for how long live frames are sent */
	__u64 begin_nanos;   /* when the first one was, CLOCK_MONOTONIC; zero before */
	__u64 last_nanos;    /* when the last one was */
	__u64 due_picos;     /* when the next one is */
	__u32 priority;      /* whose pauses they obey */
	__u32 unused;
};

/* What a CPU has seen of the present trial. */
struct tally {
	__u64 frames;
	__u64 bytes;
	__u64 reordered;
	__u64 stale;   /* probes of earlier trials */
	__u64 foreign; /* neither probes nor PFC */
	__u64 last_sequence;
};

struct pauses {
	__u64 until_nanos[PRIORITIES];
	__u64 frames;
};

#endif
