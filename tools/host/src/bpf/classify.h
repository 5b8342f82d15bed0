/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The priority of a frame that is to be sent.
 */
#ifndef WEIR_HOST_CLASSIFY_H
#define WEIR_HOST_CLASSIFY_H

#include <linux/in.h>
#include <linux/if_ether.h>

#include "kernel.h"
#include "weir_host_abi.h"

#define NOBODY WEIR_HOST_PRIORITIES
#define DSCP_SHIFT 2
#define PCP_SHIFT 13
#define FRAGMENT_OFFSET 0x1fff

/* The offset of the IP header and its EtherType, behind one tag at most. */
static __always_inline __be16 network(struct __sk_buff *skb, __u32 *at)
{
	__be16 type = skb->protocol;

	*at = ETH_HLEN;
	if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
		/* A tag that is not in the frame's bytes leaves the EtherType behind it in them. */
		if (bpf_skb_load_bytes(skb, 12, &type, sizeof(type)))
			return 0;
		if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
			*at += 4;
			if (bpf_skb_load_bytes(skb, 16, &type, sizeof(type)))
				return 0;
		}
	}
	return type;
}

/* The priority of a UDP destination port, or NOBODY. */
static __always_inline __u32 of_port(struct __sk_buff *skb, struct weir_host_settings *set, __be16 type, __u32 at)
{
	__u8 protocol = 0, first = 0;
	__be16 port, fragment;

	if (type == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes(skb, at, &first, 1) || bpf_skb_load_bytes(skb, at + 9, &protocol, 1) ||
		    bpf_skb_load_bytes(skb, at + 6, &fragment, 2) || fragment & bpf_htons(FRAGMENT_OFFSET))
			return NOBODY;
		at += (first & 15) * 4;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, at + 6, &protocol, 1))
			return NOBODY;
		at += 40;
	}
	if (protocol != IPPROTO_UDP || bpf_skb_load_bytes(skb, at + 2, &port, 2))
		return NOBODY;
	for (int i = 0; i < WEIR_HOST_PORTS; i++)
		if (set->port[i] && set->port[i] == bpf_ntohs(port))
			return set->port_priority[i] & 7;
	return NOBODY;
}

static __always_inline __u32 of_dscp(struct __sk_buff *skb, struct weir_host_settings *set, __be16 type, __u32 at)
{
	__u8 bytes[2];

	if (type != bpf_htons(ETH_P_IP) && type != bpf_htons(ETH_P_IPV6))
		return 0;
	if (bpf_skb_load_bytes(skb, at, bytes, sizeof(bytes)))
		return 0;
	if (type == bpf_htons(ETH_P_IP))
		return set->dscp[bytes[1] >> DSCP_SHIFT & 63] & 7;
	return set->dscp[((bytes[0] & 15) << 4 | bytes[1] >> 4) >> DSCP_SHIFT & 63] & 7;
}

static __always_inline __u32 of_tag(struct __sk_buff *skb)
{
	__be16 words[2];

	if (skb->vlan_present)
		return skb->vlan_tci >> PCP_SHIFT & 7;
	if (bpf_skb_load_bytes(skb, 12, words, sizeof(words)))
		return 0;
	if (words[0] != bpf_htons(ETH_P_8021Q) && words[0] != bpf_htons(ETH_P_8021AD))
		return 0;
	return bpf_ntohs(words[1]) >> PCP_SHIFT & 7;
}

#endif
