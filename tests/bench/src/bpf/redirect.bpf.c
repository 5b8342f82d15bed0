// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/* One port of the bare forwarder: every frame goes to the socket of its queue, unread. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} redirect_sockets SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md *ctx)
{
	return bpf_redirect_map(&redirect_sockets, ctx->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
