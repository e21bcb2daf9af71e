/* How the frames of an end look, and how ours are made to look like them. */
#pragma once
#include "parse.h"

static __always_inline void look(struct __sk_buff *skb, const struct segment *s, struct face *f)
{
	__builtin_memset(f, 0, sizeof(*f));
	bpf_skb_load_bytes(skb, 0, f->mac, sizeof(f->mac));
	f->tos = s->tos;
	f->hops = s->hops;
	if (skb->vlan_present) {
		f->tags[0].proto = skb->vlan_proto;
		f->tags[0].tci = skb->vlan_tci;
		f->tags[1] = s->tag;
	} else {
		f->tags[0] = s->tag;
	}
}

/* Keeps up with an end that changes: a router that another takes over from,
 * another traffic class. */
static __always_inline void watch(struct __sk_buff *skb, const struct segment *s, struct flow *f)
{
	struct face now;
	struct face *was = &f->from[f->client_port == skb->ifindex ? CLIENT : SERVER];
	look(skb, s, &now);
	const __u64 *x = (const __u64 *)&now, *y = (const __u64 *)was;
	if (x[0] != y[0] || x[1] != y[1] || x[2] != y[2])
		*was = now;
}

/* The end that has not been seen looks like the other, the other way round. */
static __always_inline void mirror(const struct face *f, struct face *to)
{
	__builtin_memset(to, 0, sizeof(*to));
	__builtin_memcpy(to->mac, f->mac + ETH_ALEN, ETH_ALEN);
	__builtin_memcpy(to->mac + ETH_ALEN, f->mac, ETH_ALEN);
	to->tags[0] = f->tags[0];
	to->tags[1] = f->tags[1];
}

/* Replaces two bytes of an IP header and corrects IPv4's checksum. */
static __always_inline void replace(struct __sk_buff *skb, const struct segment *s, __u32 at, __u8 first, __u8 second)
{
	__u8 old[2], new[2] = {first, second};
	__be16 was, is;
	if (bpf_skb_load_bytes(skb, at, old, 2))
		return;
	__builtin_memcpy(&was, old, 2);
	__builtin_memcpy(&is, new, 2);
	if (!s->v6)
		bpf_l3_csum_replace(skb, ETH_HLEN + 10, was, is, 2);
	bpf_skb_store_bytes(skb, at, new, 2, 0);
}

/* DSCP and hop limit; congestion marks are each leg's own. */
static __always_inline void dress(struct __sk_buff *skb, const struct segment *s, const struct face *f)
{
	__u8 tos = (f->tos & ~3) | (s->tos & 3), h[2];
	if (tos != s->tos && !bpf_skb_load_bytes(skb, ETH_HLEN, h, 2)) {
		if (s->v6)
			replace(skb, s, ETH_HLEN, (h[0] & 0xf0) | tos >> 4, (h[1] & 0xf) | tos << 4);
		else
			replace(skb, s, ETH_HLEN, h[0], tos);
	}
	if (f->hops && f->hops != s->hops) {
		if (s->v6)
			replace(skb, s, ETH_HLEN + 6, IPPROTO_TCP, f->hops);
		else
			replace(skb, s, ETH_HLEN + 8, f->hops, IPPROTO_TCP);
	}
}

/* What the stack sends in an end's place gets the end's looks. */
static __always_inline int disguise(struct __sk_buff *skb, const struct segment *s, const struct face *f)
{
	struct tag outer = f->tags[0], inner = f->tags[1];
	dress(skb, s, f);
	if (bpf_skb_store_bytes(skb, 0, f->mac, sizeof(f->mac), 0))
		return TC_ACT_SHOT;
	if (inner.proto && bpf_skb_vlan_push(skb, inner.proto, inner.tci))
		return TC_ACT_SHOT;
	if (outer.proto && bpf_skb_vlan_push(skb, outer.proto, outer.tci))
		return TC_ACT_SHOT;
	count(SENT);
	return TC_ACT_OK;
}
