// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Slots of a queue's RX ring reserved for frames with a credit; all other frames share the rest.
 * docs/src/internals/design/credits-rings.md explains why this suffices.
 */
#ifndef WEIR_SLOTS_BPF_H
#define WEIR_SLOTS_BPF_H

#include "weir_abi.h"

/* Entries are only contended if a queue's context moves to another CPU. */
#define ENTRIES_MAX 4

/* Set before the program is loaded; otherwise the verifier removes the accounting. */
const volatile __u8 weir_has_slots = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_QUEUES_MAX);
	__type(key, __u32);
	__type(value, struct weir_slots);
} weir_slots SEC(".maps");

/* Priorities whose frames have a credit. */
static __always_inline int has_credit(const struct weir_slots *slots, __u8 class, __u8 priority)
{
	return class == WEIR_CLASS_DATA && (*(const volatile __u64 *)&slots->credited & (1ULL << priority));
}

static __always_inline __u64 slots_kept(const struct weir_slots *slots, __u8 class, __u8 priority)
{
	if (class != WEIR_CLASS_DATA)
		return 0;
	return slots->lossless & (1ULL << priority) ? slots->kept_from_lossless : slots->kept_from_lossy;
}

/*
 * Takes slots for a frame without a credit; returns zero if none are left. `entered` only grows and counts only frames for the
 * socket, so that the loop can determine which slots are free again.
 */
static __always_inline int take_slots(struct weir_slots *slots, __u64 kept, __u64 length)
{
	__u64 part = slots->part_bytes;
	__u64 needed = part ? (length + part - 1) / part : 1;

#pragma unroll
	for (int i = 0; i < ENTRIES_MAX; i++) {
		__u64 entered = *(volatile __u64 *)&slots->entered;
		__u64 limit = *(volatile __u64 *)&slots->limit;

		if ((__s64)(limit - kept - entered - needed) < 0)
			return 0;
		if (__sync_val_compare_and_swap(&slots->entered, entered, entered + needed) == entered)
			return 1;
	}
	return 0;
}

/*
 * Admits a frame to the ring: above zero with a credit, zero without one, below zero if it has no slot. `begun` is counted first: once the
 * socket has as many frames as have begun, all slots in `entered` have been seen.
 */
static __always_inline int enter_ring(struct weir_slots *slots, __u8 class, __u8 priority, __u64 length)
{
	__sync_fetch_and_add(&slots->begun, 1);
	if (has_credit(slots, class, priority))
		return 1;
	if (take_slots(slots, slots_kept(slots, class, priority), length))
		return 0;
	__sync_fetch_and_add(&slots->returned, 1);
	return -1;
}

#endif
