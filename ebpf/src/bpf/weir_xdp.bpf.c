// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Weir's XDP program, one instance for each port.
 *
 * Path of a frame: its Ethernet header and up to two VLAN tags determine its class (data, MAC control, LLDP,
 * CLCM). Its PCP, else its DSCP, else the port's default determines its priority. Addresses, protocol and ports
 * determine its flow hash. The frame is counted per class and priority, gets a struct weir_meta in front of its
 * first byte, and goes to the AF_XDP socket of its receive queue. Without a socket, the port's fallback
 * either passes it to the kernel or drops it. A switch's LLDP always goes to the kernel, where its control
 * plane receives it through a packet socket, like any other LLDP agent of the host.
 *
 * Truncated headers are no reason to drop: unreadable fields are not used. The switch decides.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir_abi.h"

#define ETHERTYPE_MAC_CONTROL 0x8808
#define ETHERTYPE_LLDP 0x88cc
#define ETHERTYPE_CLCM 0x88b5
#define VLAN_TAGS_MAX 2
#define PCP_SHIFT 13
#define DSCP_SHIFT 2
#define IPV4_FRAGMENT_MASK 0x3fff /* more-fragments flag and offset */

struct vlan_tag {
	__be16 tci;
	__be16 ethertype;
};

struct l4_ports {
	__be16 source;
	__be16 destination;
};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, WEIR_QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} weir_xsks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_settings);
} weir_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_TRAFFIC_ENTRIES);
	__type(key, __u32);
	__type(value, struct weir_traffic);
} weir_traffic SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_VERDICTS);
	__type(key, __u32);
	__type(value, __u64);
} weir_verdicts SEC(".maps");

/* By queue: set if the last buffer was a part of a frame that continues. A queue's buffers arrive in order. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} weir_goes_on SEC(".maps");

/* Contents of the headers. */
struct parsed {
	__u32 flow_hash;
	__u16 vlan_tci;
	__u16 l3_offset;
	__u8 class;
	__u8 flags;
	__u8 dscp;
};

/* A step of FNV-1a on words, with a final spread of the bits in hash_end(). */
static __always_inline __u32 hash_word(__u32 hash, __u32 word)
{
	return (hash ^ word) * 0x01000193;
}

static __always_inline __u32 hash_end(__u32 hash)
{
	hash ^= hash >> 16;
	hash *= 0x7feb352d;
	hash ^= hash >> 15;
	hash *= 0x846ca68b;
	return hash ^ (hash >> 16);
}

static __always_inline __u32 hash_macs(const struct ethhdr *eth, __be16 ethertype)
{
	const __u16 *words = (const __u16 *)eth->h_dest;
	__u32 hash = 0x811c9dc5;

	hash = hash_word(hash, ((__u32)words[0] << 16) | words[1]);
	hash = hash_word(hash, ((__u32)words[2] << 16) | words[3]);
	hash = hash_word(hash, ((__u32)words[4] << 16) | words[5]);
	return hash_end(hash_word(hash, ethertype));
}

static __always_inline int has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

static __always_inline __u32 hash_ports(__u32 hash, const void *l4, const void *data_end)
{
	const struct l4_ports *ports = l4;

	if ((const void *)(ports + 1) > data_end)
		return hash;
	return hash_word(hash, ((__u32)ports->source << 16) | ports->destination);
}

static __always_inline void parse_ipv4(struct parsed *out, const void *l3, const void *data_end)
{
	const struct iphdr *ip = l3;
	__u32 hash = 0x811c9dc5;

	if ((const void *)(ip + 1) > data_end || ip->version != 4 || ip->ihl < 5)
		return;
	out->flags |= WEIR_META_IPV4;
	out->dscp = ip->tos >> DSCP_SHIFT;
	hash = hash_word(hash, ip->saddr);
	hash = hash_word(hash, ip->daddr);
	hash = hash_word(hash, ip->protocol);
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENT_MASK))
		out->flags |= WEIR_META_FRAGMENT;
	else if (has_ports(ip->protocol))
		hash = hash_ports(hash, l3 + ip->ihl * 4, data_end);
	out->flow_hash = hash_end(hash);
}

static __always_inline void parse_ipv6(struct parsed *out, const void *l3, const void *data_end)
{
	const struct ipv6hdr *ip = l3;
	__u32 hash = 0x811c9dc5;

	if ((const void *)(ip + 1) > data_end || ip->version != 6)
		return;
	out->flags |= WEIR_META_IPV6;
	out->dscp = (ip->priority << 2) | (ip->flow_lbl[0] >> 6);
#pragma unroll
	for (int i = 0; i < 4; i++) {
		hash = hash_word(hash, ip->saddr.in6_u.u6_addr32[i]);
		hash = hash_word(hash, ip->daddr.in6_u.u6_addr32[i]);
	}
	if (ip->nexthdr == IPPROTO_FRAGMENT) {
		out->flags |= WEIR_META_FRAGMENT;
	} else {
		hash = hash_word(hash, ip->nexthdr);
		if (has_ports(ip->nexthdr))
			hash = hash_ports(hash, ip + 1, data_end);
	}
	out->flow_hash = hash_end(hash);
}

static __always_inline int is_nearest_bridge(const __u8 *address)
{
	return address[0] == 0x01 && address[1] == 0x80 && address[2] == 0xc2 &&
	       address[3] == 0x00 && address[4] == 0x00 && address[5] == 0x0e;
}

/* The frame has a whole Ethernet header. */
static __always_inline void parse(struct parsed *out, const void *data, const void *data_end)
{
	const struct ethhdr *eth = data;
	const void *next = eth + 1;
	__be16 ethertype = eth->h_proto;

#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		const struct vlan_tag *tag = next;

		if (ethertype != bpf_htons(ETH_P_8021Q) && ethertype != bpf_htons(ETH_P_8021AD))
			break;
		if ((const void *)(tag + 1) > data_end)
			break;
		if (i == 0) {
			out->flags |= WEIR_META_TAGGED;
			out->vlan_tci = bpf_ntohs(tag->tci);
		}
		ethertype = tag->ethertype;
		next = tag + 1;
	}
	out->l3_offset = next - data;
	out->flow_hash = hash_macs(eth, ethertype);

	switch (bpf_ntohs(ethertype)) {
	case ETHERTYPE_MAC_CONTROL:
		out->class = WEIR_CLASS_MAC_CONTROL;
		break;
	case ETHERTYPE_LLDP:
		out->class = WEIR_CLASS_LLDP;
		break;
	case ETHERTYPE_CLCM:
		if (is_nearest_bridge(eth->h_dest))
			out->class = WEIR_CLASS_CLCM;
		break;
	case ETH_P_IP:
		parse_ipv4(out, next, data_end);
		break;
	case ETH_P_IPV6:
		parse_ipv6(out, next, data_end);
		break;
	}
	/*
	 * Control protocols are never tagged (802.3 Annex 31A, 802.1AB 7.1): what is tagged is data. Tagged MAC control is not forwarded:
	 * a switch that removes the tag would turn it into a pause of its receiver. The daemon drops it as invalid MAC control.
	 */
	if ((out->flags & WEIR_META_TAGGED) && out->class != WEIR_CLASS_MAC_CONTROL)
		out->class = WEIR_CLASS_DATA;
}

/*
 * Masks an index into a map value in one instruction that no compiler can remove. Verifiers before Linux 7.0 lose the bounds of a number
 * when its bytes are swapped, and those of 6.1 and 6.8 when half a register is spilled; a compiler that derives the bounds itself
 * removes an ordinary mask.
 */
#define within(index, mask)                                             \
	({                                                              \
		__u64 masked = (index);                                 \
		asm volatile("%0 &= %1" : "+r"(masked) : "i"(mask));    \
		masked;                                                 \
	})

static __always_inline __u8 priority_of(const struct weir_settings *settings,
					const struct parsed *parsed)
{
	__u8 priority = settings->default_priority;

	if ((settings->trust & WEIR_TRUST_PCP) && (parsed->flags & WEIR_META_TAGGED))
		priority = settings->pcp_to_priority[within(parsed->vlan_tci >> PCP_SHIFT, WEIR_PRIORITIES - 1)];
	else if ((settings->trust & WEIR_TRUST_DSCP) &&
		 (parsed->flags & (WEIR_META_IPV4 | WEIR_META_IPV6)))
		priority = settings->dscp_to_priority[within(parsed->dscp, WEIR_DSCPS - 1)];
	return priority & (WEIR_PRIORITIES - 1);
}

static __always_inline void count_verdict(__u32 verdict)
{
	__u64 *count = bpf_map_lookup_elem(&weir_verdicts, &verdict);

	if (count)
		*count += 1;
}

static __always_inline void count_traffic(__u8 class, __u8 priority, __u64 bytes)
{
	__u32 index = class * WEIR_PRIORITIES + priority;
	struct weir_traffic *traffic = bpf_map_lookup_elem(&weir_traffic, &index);

	if (traffic) {
		traffic->frames += 1;
		traffic->bytes += bytes;
	}
}

/*
 * Some drivers deliver every buffer of a long frame as a separate frame, so a sender could forge headers in the second.
 * A full buffer is a part, and so is the next one, whatever their content.
 */
static __always_inline int is_cut(const struct weir_settings *settings, __u32 queue, __u64 length)
{
	__u32 goes_on = length >= settings->cut_length;
	__u32 *went_on = bpf_map_lookup_elem(&weir_goes_on, &queue);
	__u32 is_part = goes_on;

	if (went_on) {
		is_part |= *went_on;
		*went_on = goes_on;
	}
	return is_part;
}

#include "express.bpf.h"
#include "slots.bpf.h"

/* The kernel calls the driver. Permitted only to a program bound to its device. */
extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, __u64 *timestamp) __ksym __weak;

static __always_inline int forward(struct xdp_md *ctx, int is_bound)
{
	const void *data = (void *)(long)ctx->data;
	const void *data_end = (void *)(long)ctx->data_end;
	const __u32 zero = 0;
	__u32 queue = ctx->rx_queue_index;
	struct parsed parsed = {};
	const struct weir_settings *settings;
	struct weir_slots *slots = 0;
	struct weir_meta *meta;
	__u64 hardware = 0;
	__u8 priority;
	int action;

	settings = bpf_map_lookup_elem(&weir_settings, &zero);
	if (!settings)
		return XDP_ABORTED;
	if (settings->cut_length && is_cut(settings, queue, data_end - data)) {
		count_verdict(WEIR_VERDICT_CUT);
		return XDP_DROP;
	}
	if (data + sizeof(struct ethhdr) > data_end) {
		count_verdict(WEIR_VERDICT_TOO_SHORT);
		return XDP_DROP;
	}

	parse(&parsed, data, data_end);
	priority = priority_of(settings, &parsed);
	count_traffic(parsed.class, priority, bpf_xdp_get_buff_len(ctx));

	if (parsed.class == WEIR_CLASS_LLDP && settings->lldp == WEIR_LLDP_KERNEL) {
		count_verdict(WEIR_VERDICT_PASSED);
		return XDP_PASS;
	}
	if (!bpf_map_lookup_elem(&weir_xsks, &queue)) {
		if (settings->fallback == WEIR_FALLBACK_PASS) {
			count_verdict(WEIR_VERDICT_PASSED);
			return XDP_PASS;
		}
		count_verdict(WEIR_VERDICT_DROPPED);
		return XDP_DROP;
	}
	if (weir_has_express) {
		action = express(ctx, settings, &parsed, priority);
		if (action >= 0)
			return action;
	}
	if (is_bound && bpf_xdp_metadata_rx_timestamp(ctx, &hardware))
		hardware = 0;
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta))) {
		count_verdict(WEIR_VERDICT_NO_META);
		return XDP_DROP;
	}
	data = (void *)(long)ctx->data;
	meta = (void *)(long)ctx->data_meta;
	if ((const void *)(meta + 1) > data) {
		count_verdict(WEIR_VERDICT_NO_META);
		return XDP_DROP;
	}
	if (weir_has_slots) {
		int entry;

		slots = bpf_map_lookup_elem(&weir_slots, &queue);
		if (!slots)
			return XDP_ABORTED;
		entry = enter_ring(slots, parsed.class, priority, bpf_xdp_get_buff_len(ctx));
		if (entry < 0) {
			count_verdict(WEIR_VERDICT_NO_SLOT);
			return XDP_DROP;
		}
		if (entry > 0)
			parsed.flags |= WEIR_META_CREDIT;
	}
	*meta = (struct weir_meta){
		.magic = WEIR_ABI_MAGIC,
		.version = WEIR_ABI_VERSION,
		.frame_class = parsed.class,
		.priority = priority,
		.flags = parsed.flags,
		.vlan_tci = parsed.vlan_tci,
		.flow_hash = parsed.flow_hash,
		.ifindex = ctx->ingress_ifindex,
		.arrival_nanos = bpf_ktime_get_ns(),
		.l3_offset = parsed.l3_offset,
		.hardware_nanos_high = hardware >> 32,
		.hardware_nanos_low = hardware,
	};
	count_verdict(WEIR_VERDICT_REDIRECTED);
	if (weir_has_express && parsed.class == WEIR_CLASS_DATA)
		note_entered(settings->port, priority);
	/* The socket may be closed since the look-up: the flag's action is the port's fallback. */
	action = bpf_redirect_map(&weir_xsks, queue,
				  settings->fallback == WEIR_FALLBACK_PASS ? XDP_PASS : XDP_DROP);
	if (weir_has_slots && slots && action != XDP_REDIRECT)
		__sync_fetch_and_add(&slots->returned, 1);
	return action;
}

/* A frame may be longer than the first buffer, which contains the headers. */
SEC("xdp.frags")
int weir_xdp(struct xdp_md *ctx)
{
	return forward(ctx, 0);
}

/* The same for a port with hardware-time: loaded for a single device, it reads the device's arrival time of each frame. */
SEC("xdp.frags")
int weir_xdp_bound(struct xdp_md *ctx)
{
	return forward(ctx, 1);
}

/* No GPL-only helpers are used, but the kernel requires a licence. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
