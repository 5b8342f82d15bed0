/* SPDX-License-Identifier: GPL-2.0-only
 *
 * What is used of the kernel's types and functions.
 */
#ifndef WEIR_HOST_KERNEL_H
#define WEIR_HOST_KERNEL_H

#include <linux/types.h>
/* Newer than the headers of some systems that this is built on: declared below, whether they have them or not. */
#define bpf_list_head bpf_list_head_of_the_system
#define bpf_list_node bpf_list_node_of_the_system
#define bpf_iter_num bpf_iter_num_of_the_system
#include <linux/bpf.h>
#undef bpf_list_head
#undef bpf_list_node
#undef bpf_iter_num
struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Of the kernel's types only what is used: libbpf finds the fields of the running kernel by name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff {
	unsigned int len;
	__u32 priority;
	__u32 mark;
	__be16 protocol;
	char cb[48];
	unsigned int end;
	unsigned char *head;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct Qdisc {
	__u32 limit;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};
#pragma clang attribute pop

/* With a member: libbpf compares it with the kernel's, for which a declaration is not enough. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
	struct sk_buff *(*dequeue)(struct Qdisc *);
	int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
	void (*reset)(struct Qdisc *);
	void (*destroy)(struct Qdisc *);
};

extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
				   __u64 offset) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;

#define __kptr __attribute__((btf_type_tag("kptr")))
#define __contains(type, field) __attribute__((btf_decl_tag("contains:" #type ":" #field)))

#define ETH_P_MAC_CONTROL 0x8808
/* enum tcx_action_base */
#define PASS_ON (-1)
#define CONSUME 2
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1

#endif
