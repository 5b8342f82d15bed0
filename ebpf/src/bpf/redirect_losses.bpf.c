// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Frames that took the express path and that the kernel then could not give their device: its ring is full, or it takes none any
 * more. The kernel tells nobody else of most of them. The egress is shut at once, so that few more are lost before the switch core has
 * seen it.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "lines.bpf.h"
#include "weir_abi.h"

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

/* The map weir_devices of this switch. */
const volatile __u32 weir_devices_id = 0;

/* The port of a device that frames are redirected to. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_PORTS_MAX);
	__type(key, struct weir_device);
	__type(value, __u32);
} weir_egresses SEC(".maps");

static __always_inline void note_lost(__u32 port, __u64 count)
{
	struct weir_line *line = bpf_map_lookup_elem(&weir_lines, &port);

	if (!line)
		return;
	/* First: who finds the egress shut finds why. */
	__sync_fetch_and_add(&line->lost, count);
	__sync_fetch_and_and(&line->gate, ~WEIR_GATE_OPEN_MASK);
}

/* A device was given frames in bulk, and took some of them. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(weir_given, const struct net_device *from, const struct net_device *to, int sent, int drops, int err)
{
	struct weir_device device = {};
	__u32 *port;

	if (drops <= 0)
		return 0;
	device.namespace = to->nd_net.net->ns.inum;
	device.ifindex = to->ifindex;
	port = bpf_map_lookup_elem(&weir_egresses, &device);
	if (port)
		note_lost(*port, drops);
	return 0;
}

/* A frame could not even be queued for its device. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(weir_refused, const struct net_device *from, const void *program, const void *target, int err, int map_type,
	     __u32 map_id, __u32 index)
{
	if (map_id == weir_devices_id)
		note_lost(index, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
