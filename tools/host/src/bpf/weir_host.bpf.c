// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queueing discipline that obeys PFC and PAUSE.
 *
 * Eight FIFOs, one for each priority. A paused one is passed over; the timer ends its pause if no XON does. Which of
 * the others goes first is start-time fair queueing (Goyal, Vin, Cheng, 1996): each has a place in a common order
 * (`turn`), which a frame moves on by its bytes over the priority's share.
 *
 * The ingress program reads MAC control frames. It cannot wake a queue: no kfunc does that outside of a qdisc's own
 * calls. It therefore sends the frame that ended a pause back out of the same device, marked; enqueue drops it, and the
 * kernel looks for frames to send as after any enqueue.
 *
 * Everything lives as long as the qdisc: programs and maps are referred to by it and by the device's ingress and egress.
 */
#include "classify.h"
#include "kernel.h"
#include "weir_host_abi.h"

char LICENSE[] SEC("license") = "GPL";

#define OPCODE_PAUSE 0x0001
#define OPCODE_PFC 0x0101
/* A share counts in these. */
#define TURN_SHIFT 10
#define FREED_MAX (1 << 20)
/* Preamble, FCS and gap of a frame on the wire. */
#define WIRE_OVERHEAD 24
#define BITS_PER_BYTE 8
#define NS_PER_S 1000000000ULL

struct held {
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
};

struct fifo {
	struct bpf_spin_lock lock;
	struct bpf_list_head frames __contains(held, node);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_HOST_PRIORITIES);
	__type(key, __u32);
	__type(value, struct fifo);
} wh_fifos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_HOST_PRIORITIES);
	__type(key, __u32);
	__type(value, struct weir_host_priority);
} wh_priorities SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_host_settings);
} wh_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_host_totals);
} wh_totals SEC(".maps");

/* Where the common order stands: the turn of what was sent last. */
__u64 now_served;
/* The token bucket: when it lets the next frame go. */
__u64 may_leave_ns;

static __always_inline struct weir_host_settings *settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wh_settings, &zero);
}

static __always_inline struct weir_host_totals *totals(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wh_totals, &zero);
}

static __always_inline struct weir_host_priority *of(__u32 priority)
{
	return bpf_map_lookup_elem(&wh_priorities, &priority);
}

/* struct qdisc_skb_cb begins with it. */
static __always_inline __u32 bytes_of(const struct sk_buff *skb)
{
	return *(const __u32 *)skb->cb;
}

/* How long a frame takes on a line of this rate, with each of its segments. */
static __always_inline __u64 line_ns(const struct sk_buff *skb, __u64 bits_per_second)
{
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	__u64 frames = BPF_CORE_READ(shared, gso_segs);
	__u64 bytes = bytes_of(skb) + (frames ? frames : 1) * WIRE_OVERHEAD;

	return (bytes * BITS_PER_BYTE * NS_PER_S + bits_per_second - 1) / bits_per_second;
}

/* Ends a pause, if it is still the one that ends at `until`. */
static __always_inline int end_pause(struct weir_host_priority *priority, __u64 until, __u64 now)
{
	__u64 since = priority->paused_since_ns;

	if (__sync_val_compare_and_swap(&priority->paused_until_ns, until, 0) != until)
		return 0;
	if (now > since)
		__sync_fetch_and_add(&priority->paused_ns, now - since);
	return 1;
}

SEC("struct_ops/wh_enqueue")
int BPF_PROG(wh_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	struct weir_host_settings *set = settings();
	struct weir_host_priority *priority;
	struct fifo *fifo;
	struct held *held;
	__u32 bytes, number;

	if (skb->mark == WEIR_HOST_WAKE && skb->protocol == bpf_htons(ETH_P_MAC_CONTROL)) {
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_SUCCESS;
	}
	number = skb->priority;
	if (number >= WEIR_HOST_PRIORITIES)
		number = 0;
	bytes = bytes_of(skb);
	priority = of(number);
	fifo = bpf_map_lookup_elem(&wh_fifos, &number);
	if (!set || !priority || !fifo)
		goto drop;
	if (set->refuse_until_ns && bpf_ktime_get_ns() < set->refuse_until_ns) {
		priority->dropped_draining++;
		goto drop;
	}
	if (priority->queued_bytes + bytes > set->limit_bytes) {
		priority->dropped_limit++;
		goto drop;
	}
	held = bpf_obj_new_impl(bpf_core_type_id_local(struct held), NULL);
	if (!held) {
		priority->dropped_memory++;
		goto drop;
	}
	skb = bpf_kptr_xchg(&held->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	bpf_spin_lock(&fifo->lock);
	bpf_list_push_back_impl(&fifo->frames, &held->node, NULL, 0);
	bpf_spin_unlock(&fifo->lock);
	priority->queued_frames++;
	priority->queued_bytes += bytes;
	if (priority->queued_bytes > priority->peak_bytes)
		priority->peak_bytes = priority->queued_bytes;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* Which priority is next; NOBODY with the earliest end of a pause, if only paused ones have frames. */
static __always_inline __u32 choose(__u64 now, __u64 *ends)
{
	__u64 least = ~0ULL;
	__u32 next = NOBODY, number;

	*ends = ~0ULL;
	/* From the highest down: among equals it is first. */
	for (int i = WEIR_HOST_PRIORITIES - 1; i >= 0; i--) {
		struct weir_host_priority *priority;
		__u64 until, turn;

		number = i;
		priority = of(number);
		if (!priority || !priority->queued_frames)
			continue;
		until = *(volatile __u64 *)&priority->paused_until_ns;
		if (until > now) {
			if (until < *ends)
				*ends = until;
			continue;
		}
		if (until && end_pause(priority, until, now))
			priority->expiries++;
		/* One that was paused or empty has no claim on what it did not ask for. */
		turn = priority->turn > now_served ? priority->turn : now_served;
		if (turn < least) {
			least = turn;
			next = number;
		}
	}
	return next;
}

SEC("struct_ops/wh_dequeue")
struct sk_buff *BPF_PROG(wh_dequeue, struct Qdisc *sch)
{
	struct weir_host_settings *set = settings();
	struct weir_host_priority *priority;
	struct bpf_list_node *node;
	struct sk_buff *skb = NULL;
	struct held *held;
	struct fifo *fifo;
	__u64 ends, share, now = bpf_ktime_get_ns();
	__u32 number, bytes;

	number = choose(now, &ends);
	if (number >= WEIR_HOST_PRIORITIES) {
		if (ends != ~0ULL)
			bpf_qdisc_watchdog_schedule(sch, ends, 0);
		return NULL;
	}
	priority = of(number);
	fifo = bpf_map_lookup_elem(&wh_fifos, &number);
	if (!set || !priority || !fifo)
		return NULL;
	if (set->max_rate_bits_per_second && may_leave_ns > now) {
		struct weir_host_totals *all = totals();

		if (all)
			__sync_fetch_and_add(&all->rate_waits, 1);
		bpf_qdisc_watchdog_schedule(sch, may_leave_ns, 0);
		return NULL;
	}
	bpf_spin_lock(&fifo->lock);
	node = bpf_list_pop_front(&fifo->frames);
	bpf_spin_unlock(&fifo->lock);
	if (!node)
		return NULL;
	held = container_of(node, struct held, node);
	skb = bpf_kptr_xchg(&held->skb, skb);
	bpf_obj_drop_impl(held, NULL);
	if (!skb)
		return NULL;
	bytes = bytes_of(skb);
	if (set->max_rate_bits_per_second) {
		/* A bucket that is full fills no further. */
		__u64 earliest = now > set->burst_ns ? now - set->burst_ns : 0;

		if (may_leave_ns < earliest)
			may_leave_ns = earliest;
		may_leave_ns += line_ns(skb, set->max_rate_bits_per_second);
	}
	share = set->share[number & 7];
	if (priority->turn > now_served)
		now_served = priority->turn;
	priority->turn = now_served + ((__u64)bytes << TURN_SHIFT) / (share ? share : 1);
	priority->queued_frames--;
	priority->queued_bytes -= bytes;
	priority->sent_frames++;
	priority->sent_bytes += bytes;
	sch->qstats.backlog -= bytes;
	sch->q.qlen--;
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/wh_init")
int BPF_PROG(wh_init, struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	return 0;
}

SEC("struct_ops/wh_reset")
void BPF_PROG(wh_reset, struct Qdisc *sch)
{
	struct weir_host_totals *all = totals();
	int number, i;

	bpf_for(number, 0, WEIR_HOST_PRIORITIES) {
		struct weir_host_priority *priority;
		__u32 key = number;
		struct fifo *fifo;

		priority = of(key);
		fifo = bpf_map_lookup_elem(&wh_fifos, &key);
		if (!priority || !fifo)
			continue;
		bpf_for(i, 0, FREED_MAX) {
			struct sk_buff *skb = NULL;
			struct bpf_list_node *node;
			struct held *held;

			bpf_spin_lock(&fifo->lock);
			node = bpf_list_pop_front(&fifo->frames);
			bpf_spin_unlock(&fifo->lock);
			if (!node)
				break;
			held = container_of(node, struct held, node);
			skb = bpf_kptr_xchg(&held->skb, skb);
			bpf_obj_drop_impl(held, NULL);
			if (skb) {
				bpf_kfree_skb(skb);
				if (all)
					__sync_fetch_and_add(&all->freed, 1);
			}
		}
		priority->queued_frames = 0;
		priority->queued_bytes = 0;
	}
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops/wh_destroy")
void BPF_PROG(wh_destroy, struct Qdisc *sch)
{
}

/* Its name is one of the whole machine: userspace makes it that of the namespace and the device. */
SEC(".struct_ops.link")
struct Qdisc_ops wh_qdisc = {
	.id = "weir-host",
	.enqueue = (void *)wh_enqueue,
	.dequeue = (void *)wh_dequeue,
	.init = (void *)wh_init,
	.reset = (void *)wh_reset,
	.destroy = (void *)wh_destroy,
};

/* XOFF for `quanta`, or XON for 0. True when a priority may go on that has frames. */
static __always_inline int pause(struct weir_host_settings *set, __u32 number, __u64 quanta, __u64 now)
{
	struct weir_host_priority *priority = of(number);
	__u64 until;

	if (!priority)
		return 0;
	if (!(set->obeyed >> number & 1)) {
		__sync_fetch_and_add(&priority->ignored, 1);
		return 0;
	}
	until = *(volatile __u64 *)&priority->paused_until_ns;
	if (!quanta) {
		if (!until || !end_pause(priority, until, now))
			return 0;
		__sync_fetch_and_add(&priority->resumes, 1);
		return priority->queued_frames != 0;
	}
	if (until > now) {
		__sync_fetch_and_add(&priority->refreshes, 1);
	} else {
		/* One whose end nobody has seen yet: nothing waited. */
		if (until && end_pause(priority, until, until))
			__sync_fetch_and_add(&priority->expiries, 1);
		priority->paused_since_ns = now;
		__sync_fetch_and_add(&priority->pauses, 1);
	}
	*(volatile __u64 *)&priority->paused_until_ns = now + quanta * set->quantum_ps / 1000;
	return 0;
}

/* A MAC control frame up to PFC's times. */
struct mac_control {
	__u8 addresses[12];
	__be16 type;
	__be16 opcode;
	__be16 vector;
	__be16 times[WEIR_HOST_PRIORITIES];
} __attribute__((packed));

/* To 01-80-C2-00-00-01, which no bridge forwards. A tagged frame, or one to another address, may be from any station. */
static __always_inline int is_of_the_neighbour(struct __sk_buff *skb, const struct mac_control *frame)
{
	const __u8 *to = frame->addresses;

	return !skb->vlan_present && to[0] == 0x01 && to[1] == 0x80 && to[2] == 0xc2 && to[3] == 0 && to[4] == 0 &&
	       to[5] == 0x01;
}

SEC("tcx/ingress")
int wh_ingress(struct __sk_buff *skb)
{
	struct weir_host_settings *set;
	struct weir_host_totals *all;
	struct mac_control frame;
	__u64 now;
	int wake = 0;

	if (skb->protocol != bpf_htons(ETH_P_MAC_CONTROL))
		return PASS_ON;
	set = settings();
	all = totals();
	if (!set || !all)
		return PASS_ON;
	if (bpf_skb_load_bytes(skb, 0, &frame, sizeof(frame)) || !is_of_the_neighbour(skb, &frame)) {
		__sync_fetch_and_add(&all->bad_frames, 1);
		return PASS_ON;
	}
	now = bpf_ktime_get_ns();
	if (frame.opcode == bpf_htons(OPCODE_PFC)) {
		__sync_fetch_and_add(&all->pfc_frames, 1);
		for (__u32 i = 0; i < WEIR_HOST_PRIORITIES; i++)
			if (bpf_ntohs(frame.vector) >> i & 1)
				wake |= pause(set, i, bpf_ntohs(frame.times[i]), now);
	} else if (frame.opcode == bpf_htons(OPCODE_PAUSE)) {
		__sync_fetch_and_add(&all->pause_frames, 1);
		if (set->obeys_global)
			for (__u32 i = 0; i < WEIR_HOST_PRIORITIES; i++)
				wake |= pause(set, i, bpf_ntohs(frame.vector), now);
	} else {
		__sync_fetch_and_add(&all->bad_frames, 1);
		return PASS_ON;
	}
	if (wake) {
		__sync_fetch_and_add(&all->wakes, 1);
		skb->mark = WEIR_HOST_WAKE;
		return bpf_redirect(skb->ifindex, 0);
	}
	return CONSUME;
}

SEC("tcx/egress")
int wh_egress(struct __sk_buff *skb)
{
	struct weir_host_settings *set = settings();
	__u32 at, number;
	__be16 type;

	if (!set || skb->protocol == bpf_htons(ETH_P_MAC_CONTROL))
		return PASS_ON;
	type = network(skb, &at);
	number = of_port(skb, set, type, at);
	if (number == NOBODY) {
		switch (set->source) {
		case WEIR_HOST_SOURCE_DSCP:
			number = of_dscp(skb, set, type, at);
			break;
		case WEIR_HOST_SOURCE_VLAN:
			number = of_tag(skb);
			break;
		default:
			number = skb->priority < WEIR_HOST_PRIORITIES ? skb->priority : 0;
		}
	}
	skb->priority = number;
	return PASS_ON;
}
