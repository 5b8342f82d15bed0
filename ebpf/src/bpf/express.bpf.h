// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The express path: a data frame that need not queue goes to its egress device at once, bypassing the switch core.
 * docs/src/internals/express.md explains the path, and the order in which the words are read and written.
 */
#ifndef WEIR_EXPRESS_BPF_H
#define WEIR_EXPRESS_BPF_H

#include "lines.bpf.h"

#define NANOS_SHIFT 32
/* Attempts to book a line that another CPU has just booked; then the frame goes to the core. */
#define BOOKINGS_MAX 4

/* Set before the program is loaded; otherwise the verifier removes the path. */
const volatile __u8 weir_has_express = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_mode);
} weir_mode SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_FLOWS);
	__type(key, __u32);
	__type(value, struct weir_flow);
} weir_flows SEC(".maps");

/* Egress by destination, whose six bytes are the first of the key. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WEIR_ROUTES_MAX);
	__type(key, __u64);
	__type(value, __u32);
} weir_routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, WEIR_PORTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} weir_devices SEC(".maps");

/* Express traffic: WEIR_PATHS entries for each CPU, which therefore needs no atomic operations. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_PATHS);
	__type(key, __u32);
	__type(value, struct weir_traffic);
} weir_paths SEC(".maps");

#include "room.bpf.h"

static __always_inline __u64 read_once(const __u64 *word)
{
	return *(const volatile __u64 *)word;
}

static __always_inline struct weir_flow *flow_of(__u8 port, __u8 priority)
{
	__u32 index = port * WEIR_PRIORITIES + priority;

	return bpf_map_lookup_elem(&weir_flows, &index);
}

/* Must be called before the core can receive the frame. */
static __always_inline void note_entered(__u8 port, __u8 priority)
{
	struct weir_flow *flow = flow_of(port, priority);

	if (flow)
		__sync_fetch_and_add(&flow->entered, 1);
}

/* Possibly a pause from the neighbour: the core opens the port again once it has handled it. */
static __always_inline void close_gate(__u32 port)
{
	struct weir_line *line = bpf_map_lookup_elem(&weir_lines, &port);

	if (!line)
		return;
	/* First: from here on an exchange that opens the gate fails. */
	__sync_fetch_and_add(&line->gate, 1ULL << WEIR_GATE_SEEN_SHIFT);
	__sync_fetch_and_and(&line->gate, ~WEIR_GATE_OPEN_MASK);
}

/* True if no earlier frame of the same ingress and priority is inside the switch. */
static __always_inline int is_alone(__u8 port, __u8 priority)
{
	struct weir_flow *flow = flow_of(port, priority);
	__u64 finished;

	if (!flow)
		return 0;
	finished = read_once(&flow->finished);
	/* An atomic operation that returns a value is a full barrier: earlier reads are not delayed past it. */
	return __sync_fetch_and_add(&flow->entered, 0) == finished;
}

/* Books the line for a frame; true if it has time for it. */
static __always_inline int book(struct weir_line *line, __u64 now, __u64 length)
{
	__u64 span = ((length + line->overhead_bytes) * line->nanos_per_byte) >> NANOS_SHIFT;
	__u64 earliest = now - line->burst_nanos;

#pragma unroll
	for (int i = 0; i < BOOKINGS_MAX; i++) {
		__u64 free_at = read_once(&line->free_at_nanos);
		__u64 begin = free_at > earliest ? free_at : earliest;

		if (free_at > now)
			return 0;
		if (__sync_val_compare_and_swap(&line->free_at_nanos, free_at, begin + span) == free_at)
			return 1;
	}
	return 0;
}

static __always_inline void count_path(__u32 index, __u64 length)
{
	__u32 at = bpf_get_smp_processor_id() * WEIR_PATHS + index;
	struct weir_traffic *traffic = bpf_map_lookup_elem(&weir_paths, &at);

	if (traffic) {
		traffic->frames += 1;
		traffic->bytes += length;
	}
}

static __always_inline int is_running(const struct weir_mode *mode, __u64 now)
{
	return mode->on && (__s64)(now - read_once(&mode->alive_nanos)) < (__s64)WEIR_EXPRESS_STALE_NANOS;
}

/* Returns the action if the frame has taken the path, below zero if it is for the core. */
static __always_inline int express(struct xdp_md *ctx, const struct weir_settings *settings,
				   const struct parsed *parsed, __u8 priority)
{
	const void *data = (void *)(long)ctx->data;
	const void *data_end = (void *)(long)ctx->data_end;
	const struct ethhdr *eth = data;
	const __u32 zero = 0;
	__u64 length = data_end - data;
	__u64 destination = 0;
	struct weir_mode *mode;
	struct weir_line *line;
	int is_placed = 0;
	__u32 *egress;
	__u64 now;

	if (parsed->class == WEIR_CLASS_MAC_CONTROL) {
		close_gate(settings->port);
		return -1;
	}
	mode = bpf_map_lookup_elem(&weir_mode, &zero);
	if (!mode || !mode->on || parsed->class != WEIR_CLASS_DATA)
		return -1;
	if ((const void *)(eth + 1) > data_end)
		return -1;
	/* The core counts frames that it would drop, and takes frames of several buffers. */
	if ((eth->h_source[0] | eth->h_dest[0]) & 1 || length > mode->length_max ||
	    length != bpf_xdp_get_buff_len(ctx))
		return -1;
	__builtin_memcpy(&destination, eth->h_dest, sizeof(eth->h_dest));
	egress = bpf_map_lookup_elem(&weir_routes, &destination);
	if (!egress || *egress == settings->port)
		return -1;
	if (!is_alone(settings->port, priority))
		return -1;
	line = bpf_map_lookup_elem(&weir_lines, egress);
	if (!line || !(read_once(&line->gate) & (1ULL << priority)))
		return -1;
	now = bpf_ktime_get_ns();
	if (!is_running(mode, now))
		return -1;
	if (line->sure) {
		if (!weir_has_room || !take_place(line, *egress, 1ULL << priority, length))
			return -1;
		is_placed = 1;
	}
	if (!book(line, now, length) || bpf_redirect_map(&weir_devices, *egress, XDP_ABORTED) != XDP_REDIRECT) {
		if (is_placed)
			__sync_fetch_and_add(&line->on_way, -1);
		return -1;
	}
	count_path(settings->port * WEIR_PRIORITIES + priority, length);
	count_path(WEIR_FLOWS + *egress * WEIR_PRIORITIES + priority, length);
	count_verdict(WEIR_VERDICT_EXPRESS);
	return XDP_REDIRECT;
}

#endif
