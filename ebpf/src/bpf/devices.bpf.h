// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The ports of devices, for programs at tracepoints, which see those of the whole machine.
 */
#ifndef WEIR_DEVICES_BPF_H
#define WEIR_DEVICES_BPF_H

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

/* Ports by device. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_PORTS_MAX);
	__type(key, struct weir_device);
	__type(value, __u32);
} weir_watched SEC(".maps");

static __always_inline __u32 *port_of(const struct net_device *device)
{
	struct weir_device key = {};

	key.namespace = device->nd_net.net->ns.inum;
	key.ifindex = device->ifindex;
	return bpf_map_lookup_elem(&weir_watched, &key);
}

#endif
