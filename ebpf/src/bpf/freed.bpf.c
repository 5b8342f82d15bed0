// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Frames that the kernel's network stack drops at devices of this switch, by its reason: `enum skb_drop_reason`.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "devices.bpf.h"
#include "weir_abi.h"

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

/* Frames by port and reason. Pairs for which there is no room are counted as WEIR_UNLISTED, which each watched port has. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_FREED_MAX);
	__type(key, struct weir_freed);
	__type(value, __u64);
} weir_freed SEC(".maps");

/* The third argument exists since Linux 5.17: older kernels refuse the program. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(weir_freed_frame, struct sk_buff *frame, void *location, __u32 reason)
{
	struct weir_freed key = { .reason = reason };
	struct net_device *device = frame->dev;
	__u64 first = 1, *count;
	__u32 *port;

	if (!device)
		return 0;
	port = port_of(device);
	if (!port)
		return 0;
	key.port = *port;
	count = bpf_map_lookup_elem(&weir_freed, &key);
	if (!count && bpf_map_update_elem(&weir_freed, &key, &first, BPF_NOEXIST) == 0)
		return 0;
	/* Another processor may have been first. */
	if (!count)
		count = bpf_map_lookup_elem(&weir_freed, &key);
	if (!count) {
		key.reason = WEIR_UNLISTED;
		count = bpf_map_lookup_elem(&weir_freed, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
