// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Whether a device surely takes a frame that is redirected to it: a veth's other end has one ring for all that comes to it, and the
 * kernel drops what finds it full. docs/src/internals/express.md has the argument ("Room in the ring").
 *
 * The ring is read where the kernel has it, so that whatever is in it counts, whoever put it there. All that is read lives for as
 * long as the poll does: the map holds the device, and the rest goes a grace period after it was last to be found.
 */
#ifndef WEIR_ROOM_BPF_H
#define WEIR_ROOM_BPF_H

#include <bpf/bpf_core_read.h>

#include "lines.bpf.h"

/* Set before the program is loaded, as weir_has_express is. */
const volatile __u8 weir_has_room = 0;
/* Entries that stay free, for frames that the host itself sends by the device between look and redirect. */
const volatile __u32 weir_room_spare = 48;

/* NETDEV_ALIGN: what is a driver's own follows struct net_device. */
#define NETDEV_ALIGN 32
#define VLAN_HLEN 4
/* More are never on their way. A number below zero, after one was given back that was never booked, is one above it. */
#define ON_WAY_MAX (1 << 16)

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct net_device {
	unsigned int mtu;
	unsigned short hard_header_len;
	unsigned int real_num_rx_queues;
} __attribute__((preserve_access_index));

struct ptr_ring {
	int producer;
	int size;
	int batch;
	void **queue;
} __attribute__((preserve_access_index));

struct bpf_dtab_netdev {
	struct net_device *dev;
	struct bpf_devmap_val val;
} __attribute__((preserve_access_index));

struct veth_rq {
	void *napi;
	struct ptr_ring xdp_ring;
} __attribute__((preserve_access_index));

struct veth_priv {
	struct net_device *peer;
	struct veth_rq *rq;
} __attribute__((preserve_access_index));

/* Since Linux 6.2. A load by its result gives zero where nothing is mapped. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* The types of veth may be a module's, which the kernel casts to none: a pointer is read as that of a list. */
static __always_inline void *pointer_at(const void *object, __u32 offset)
{
	const struct list_head *word = bpf_rdonly_cast(object + offset, bpf_core_type_id_kernel(struct list_head));

	return word->next;
}

static __always_inline const void *private_of(const void *device)
{
	return device + ((bpf_core_type_size(struct net_device) + NETDEV_ALIGN - 1) & ~(NETDEV_ALIGN - 1));
}

/*
 * The entry `ahead` and a batch after the next one to be filled is empty. A ring is filled and emptied in order, but for a batch whose last entry
 * its consumer clears first: so all entries before that batch are empty, too.
 */
static __always_inline int is_free(const void *queue, __u64 ahead)
{
	const struct ptr_ring *ring = bpf_rdonly_cast(queue + bpf_core_field_offset(struct veth_rq, xdp_ring),
						      bpf_core_type_id_kernel(struct ptr_ring));
	__u32 size = ring->size;
	void **entries = ring->queue;
	__u32 at = ring->producer;

	ahead += ring->batch;
	if (!entries || ahead >= size || at >= size)
		return 0;
	at += ahead;
	if (at >= size)
		at -= size;
	/* After the producer's place was read: who fills the ring meanwhile is counted as on its way. */
	barrier();
	return !pointer_at(entries, at * sizeof(*entries));
}

/* There is room for a frame of `length` bytes, the last of `on_way` that are on their way to the device of `egress`. */
static __always_inline int has_room(__u32 egress, __u64 on_way, __u64 length)
{
	const void *value, *own, *other, *queue;
	const struct net_device *peer;

	if (!bpf_ksym_exists(bpf_rdonly_cast) || !bpf_core_type_exists(struct veth_priv) ||
	    !bpf_core_type_exists(struct veth_rq) || !bpf_core_type_exists(struct bpf_dtab_netdev))
		return 0;
	value = bpf_map_lookup_elem(&weir_devices, &egress);
	if (!value)
		return 0;
	own = pointer_at(value - bpf_core_field_offset(struct bpf_dtab_netdev, val),
			 bpf_core_field_offset(struct bpf_dtab_netdev, dev));
	other = pointer_at(private_of(own), bpf_core_field_offset(struct veth_priv, peer));
	if (!other || pointer_at(private_of(other), bpf_core_field_offset(struct veth_priv, peer)) != own)
		return 0;
	peer = bpf_rdonly_cast(other, bpf_core_type_id_kernel(struct net_device));
	/* One that is longer takes those behind it along as the kernel drops it. */
	if (peer->real_num_rx_queues != 1 || length > (__u64)peer->mtu + peer->hard_header_len + VLAN_HLEN)
		return 0;
	queue = pointer_at(private_of(other), bpf_core_field_offset(struct veth_priv, rq));
	if (!queue || !pointer_at(queue, bpf_core_field_offset(struct veth_rq, napi)))
		return 0;
	return on_way < ON_WAY_MAX && is_free(queue, on_way + weir_room_spare);
}

/*
 * Books a place in the ring of `egress` for a frame, which is to be given back once the device has the frame or it goes another way.
 * The place is booked before anything is read: whoever looks later counts it, and the core, which shuts the gate and then looks whether any
 * frame is on its way, finds this one unless this finds the gate shut.
 */
static __always_inline int take_place(struct weir_line *line, __u32 egress, __u64 bit, __u64 length)
{
	__u64 on_way = __sync_fetch_and_add(&line->on_way, 1) + 1;

	if ((*(const volatile __u64 *)&line->gate & bit) && has_room(egress, on_way, length))
		return 1;
	__sync_fetch_and_add(&line->on_way, -1);
	__sync_fetch_and_add(&line->no_room, 1);
	return 0;
}

#endif
