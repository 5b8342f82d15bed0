// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Express frames that the kernel could not pass to their device: its ring is full, or it no longer accepts frames. The kernel
 * reports most of them nowhere else. The egress is closed at once, so that few more are lost before the switch core notices.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "devices.bpf.h"
#include "lines.bpf.h"
#include "weir_abi.h"

/* ID of this switch's map weir_devices. */
const volatile __u32 weir_devices_id = 0;
/* Set before the programs are loaded: some egress needs the number of frames passed to its device. */
const volatile __u8 weir_counts_given = 0;

static __always_inline void note_lost(struct weir_line *line, __u64 count)
{
	/* First, so that a reader that finds the egress closed also finds the reason. */
	__sync_fetch_and_add(&line->lost, count);
	__sync_fetch_and_and(&line->gate, ~WEIR_GATE_OPEN_MASK);
}

/* Removes frames of an egress from those in flight. */
static __always_inline void note_given(struct weir_line *line, __u64 count)
{
	__sync_fetch_and_add(&line->on_way, -count);
}

/* Frames were passed to a device in bulk, and the accepted ones are in its ring. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(weir_given, const struct net_device *from, const struct net_device *to, int sent, int drops, int err)
{
	struct weir_line *line;
	__u32 *port;

	if (drops <= 0 && !weir_counts_given)
		return 0;
	port = port_of(to);
	if (!port)
		return 0;
	line = bpf_map_lookup_elem(&weir_lines, port);
	if (!line)
		return 0;
	if (drops > 0)
		note_lost(line, drops);
	/* Frames redirected here by other programs were never counted as in flight; ports have only the switch's programs. */
	if (line->sure && port_of(from))
		note_given(line, sent + drops);
	return 0;
}

/* A frame could not be queued for its device. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(weir_refused, const struct net_device *from, const void *program, const void *target, int err, int map_type,
	     __u32 map_id, __u32 index)
{
	struct weir_line *line;

	if (map_id != weir_devices_id)
		return 0;
	line = bpf_map_lookup_elem(&weir_lines, &index);
	if (line) {
		note_lost(line, 1);
		if (line->sure)
			note_given(line, 1);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
