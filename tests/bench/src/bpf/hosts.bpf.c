// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The two hosts around a switch under test.
 *
 * `hosts_receive` counts probes and their latencies where they arrive, before the kernel makes anything of
 * them, so that receiving costs the same small part of whatever switch sent them; a PFC frame from the switch
 * is written down for the sender. `hosts_send` makes probes of the frames of bpf_prog_test_run.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "probe.h"

#define ETHERTYPE_MAC_CONTROL 0x8808
#define OPCODE_PFC 0x0101
#define PICOS_PER_NANO 1000
/* A bound for the verifier, and some tenths of a second. */
#define WAIT_STEPS_MAX (1 << 23)

#define CATCH_UP_FRAMES 64

struct pfc {
	struct ethhdr eth;
	__be16 opcode;
	__be16 enabled;
	__be16 quanta[PRIORITIES];
} __attribute__((packed));

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	struct probe probe;
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct orders);
} hosts_orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} hosts_tally SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} hosts_latency SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pauses);
} hosts_pauses SEC(".maps");

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 result = 0;

#pragma unroll
	for (int step = 32; step > 0; step >>= 1) {
		if (value >> step) {
			value >>= step;
			result += step;
		}
	}
	return result;
}

/* The first octave is linear, from 0 to 31 ns; in each further one buckets are twice as wide. */
static __always_inline __u32 bucket_of(__u64 nanos)
{
	__u32 octave, bucket;

	if (nanos < BUCKETS_PER_OCTAVE)
		return nanos;
	octave = log2_of(nanos) - BUCKETS_PER_OCTAVE_LOG2;
	bucket = (octave << BUCKETS_PER_OCTAVE_LOG2) + (nanos >> octave);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static __always_inline void note_pauses(const struct orders *orders, const struct pfc *frame)
{
	const __u32 zero = 0;
	struct pauses *pauses = bpf_map_lookup_elem(&hosts_pauses, &zero);
	__u64 now = bpf_ktime_get_ns();
	__u16 enabled = bpf_ntohs(frame->enabled);

	if (!pauses)
		return;
#pragma unroll
	for (int i = 0; i < PRIORITIES; i++) {
		if (enabled & (1 << i))
			pauses->until_nanos[i] = now + bpf_ntohs(frame->quanta[i]) *
							       orders->quantum_picos / PICOS_PER_NANO;
	}
	pauses->frames += 1;
}

static __always_inline void note_probe(const struct orders *orders, struct tally *tally,
				       const struct probe *probe, __u64 bytes)
{
	__u64 now, *count;
	__u32 bucket;

	if (probe->trial != orders->trial) {
		tally->stale += 1;
		return;
	}
	now = bpf_ktime_get_ns();
	/* the first one is number 0, and so is a tally that has seen none */
	if (probe->sequence < tally->last_sequence)
		tally->reordered += 1;
	else
		tally->last_sequence = probe->sequence;
	tally->frames += 1;
	tally->bytes += bytes;
	bucket = bucket_of(now - probe->sent_nanos);
	count = bpf_map_lookup_elem(&hosts_latency, &bucket);
	if (count)
		*count += 1;
}

SEC("xdp")
int hosts_receive(struct xdp_md *ctx)
{
	const void *data = (void *)(long)ctx->data;
	const void *data_end = (void *)(long)ctx->data_end;
	const struct frame *frame = data;
	const struct pfc *pfc = data;
	const __u32 zero = 0;
	struct orders *orders = bpf_map_lookup_elem(&hosts_orders, &zero);
	struct tally *tally = bpf_map_lookup_elem(&hosts_tally, &zero);

	if (!orders || !tally)
		return XDP_ABORTED;
	if ((const void *)(frame + 1) <= data_end &&
	    frame->eth.h_proto == bpf_htons(ETH_P_IP) && frame->ip.protocol == IPPROTO_UDP &&
	    frame->udp.dest == bpf_htons(PROBE_UDP_PORT))
		note_probe(orders, tally, &frame->probe, data_end - data);
	else if ((const void *)(pfc + 1) <= data_end &&
		 pfc->eth.h_proto == bpf_htons(ETHERTYPE_MAC_CONTROL) &&
		 pfc->opcode == bpf_htons(OPCODE_PFC))
		note_pauses(orders, pfc);
	else
		tally->foreign += 1;
	return XDP_DROP;
}

struct waiting {
	__u64 due_picos;
	const struct pauses *pauses;
	__u32 priority;
};

static long is_due(__u32 index, struct waiting *waiting)
{
	__u64 now = bpf_ktime_get_ns();

	return now * PICOS_PER_NANO >= waiting->due_picos &&
	       now >= waiting->pauses->until_nanos[waiting->priority & (PRIORITIES - 1)];
}

/*
 * Live frames keep the time here: each run of the test takes milliseconds to set up and to take down. What the
 * frames before have caused to arrive comes in between two batches, hence a pause acts late, as on a cable.
 * Returns when the frame leaves. One that is late is followed by a few others at once, not by all that is due.
 */
static __always_inline __u64 wait_until_due(struct orders *orders)
{
	const __u32 zero = 0;
	struct waiting waiting = {
		.due_picos = orders->due_picos,
		.pauses = bpf_map_lookup_elem(&hosts_pauses, &zero),
		.priority = orders->priority,
	};
	__u64 now, least;

	if (waiting.pauses)
		bpf_loop(WAIT_STEPS_MAX, is_due, &waiting, 0);
	now = bpf_ktime_get_ns();
	least = now * PICOS_PER_NANO - CATCH_UP_FRAMES * orders->gap_picos;
	orders->due_picos += orders->gap_picos;
	if (orders->due_picos < least)
		orders->due_picos = least;
	return now;
}

SEC("xdp")
int hosts_send(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *data_end = (void *)(long)ctx->data_end;
	struct frame *frame = data;
	const __u32 zero = 0;
	struct orders *orders = bpf_map_lookup_elem(&hosts_orders, &zero);
	__u64 now;

	if (!orders || (void *)(frame + 1) > data_end)
		return XDP_ABORTED;
	/* one run at a time, on one CPU */
	now = wait_until_due(orders);
	if (!orders->begin_nanos)
		orders->begin_nanos = now;
	if (now - orders->begin_nanos >= orders->for_nanos)
		return XDP_DROP;
	orders->last_nanos = now;
	frame->udp.source =
		bpf_htons(FLOW_PORT_FIRST + (orders->next_sequence & orders->flow_mask));
	frame->probe.trial = orders->trial;
	frame->probe.sequence = orders->next_sequence++;
	frame->probe.sent_nanos = now;
	return bpf_redirect(orders->ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
