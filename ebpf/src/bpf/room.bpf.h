// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Check that a device certainly accepts a redirected frame: a veth's peer has one ring for all frames sent to it, and the
 * kernel drops frames that find it full. docs/src/internals/express.md explains this ("Room in the ring").
 *
 * The kernel's own ring is read, so all of its entries count, also those of other senders. Everything that is read lives as long
 * as the poll: the map holds the device, and the rest is freed a grace period after it was removed.
 */
#ifndef WEIR_ROOM_BPF_H
#define WEIR_ROOM_BPF_H

#include <bpf/bpf_core_read.h>

#include "lines.bpf.h"

/* Set before the program is loaded, like weir_has_express. */
const volatile __u8 weir_has_room = 0;
/* Entries left free for frames that the host itself sends between check and redirect. */
const volatile __u32 weir_room_spare = 48;

/* NETDEV_ALIGN: what is a driver's own follows struct net_device. */
#define NETDEV_ALIGN 32
#define VLAN_HLEN 4
/* Maximum number in flight. A negative number, after a release without a booking, exceeds it as well. */
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

/* Since Linux 6.2. A load through its result returns zero if nothing is mapped. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* The types of veth may be a module's, to which the kernel cannot cast: a pointer is read as that of a list. */
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
 * Checks that the entry `ahead` plus one batch after the next one to be filled is empty. A ring is filled and emptied in order, except that the
 * consumer clears the last entry of a batch first, so all entries before that batch are empty as well.
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
	/* After reading the producer's position: frames added since are counted as in flight. */
	barrier();
	return !pointer_at(entries, at * sizeof(*entries));
}

/* True if there is room for a frame of `length` bytes, the last of `on_way` in flight to the device of `egress`. */
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
	/* When the kernel drops a longer frame, it drops the ones behind it as well. */
	if (peer->real_num_rx_queues != 1 || length > (__u64)peer->mtu + peer->hard_header_len + VLAN_HLEN)
		return 0;
	queue = pointer_at(private_of(other), bpf_core_field_offset(struct veth_priv, rq));
	if (!queue || !pointer_at(queue, bpf_core_field_offset(struct veth_rq, napi)))
		return 0;
	return on_way < ON_WAY_MAX && is_free(queue, on_way + weir_room_spare);
}

/*
 * Books a place in the ring of `egress` for a frame; it must be released once the device has the frame or it is not sent there.
 * The place is booked before anything is read, so later checks count it. The core closes the gate and then checks for frames in
 * flight: it finds this one, unless this program finds the gate closed.
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
