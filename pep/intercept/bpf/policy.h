/* Which SYNs are split: rules, and whether somebody is there to do it. */
#pragma once
#include "parse.h"

#define TCP_TIME_WAIT 6
#define TCP_LISTEN 10

static __always_inline struct bpf_sock *find(struct __sk_buff *skb, const struct segment *s)
{
	struct bpf_sock_tuple t = {};
	if (s->v6) {
		__builtin_memcpy(t.ipv6.saddr, s->source, 16);
		__builtin_memcpy(t.ipv6.daddr, s->target, 16);
		t.ipv6.sport = s->source_port;
		t.ipv6.dport = s->target_port;
		return bpf_skc_lookup_tcp(skb, &t, sizeof(t.ipv6), BPF_F_CURRENT_NETNS, 0);
	}
	t.ipv4.saddr = s->source[0];
	t.ipv4.daddr = s->target[0];
	t.ipv4.sport = s->source_port;
	t.ipv4.dport = s->target_port;
	return bpf_skc_lookup_tcp(skb, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0);
}

/* Whether somebody listens for split connections, and does not hang. */
static __always_inline int listening(struct __sk_buff *skb, const struct orders *g, const struct live *l, int v6)
{
	if (bpf_ktime_get_ns() - l->beat > TIMELY)
		return 0;
	struct segment s = {.v6 = v6, .source_port = bpf_htons(1), .target_port = bpf_htons(g->listener)};
	s.source[v6 ? 3 : 0] = s.target[v6 ? 3 : 0] = v6 ? bpf_htonl(1) : bpf_htonl(0x7f000001);
	struct bpf_sock *sk = find(skb, &s);
	if (!sk)
		return 0;
	bpf_sk_release(sk);
	return 1;
}

/* Whether the connection has a socket already, so that this SYN is one sent
 * again. */
static __always_inline int connected(struct __sk_buff *skb, const struct segment *s)
{
	struct bpf_sock *sk = find(skb, s);
	if (!sk)
		return 0;
	int live = sk->state != TCP_TIME_WAIT && sk->state != TCP_LISTEN;
	bpf_sk_release(sk);
	return live;
}

static __always_inline int within(const __be32 *x, const __be32 *prefix, const __be32 *mask)
{
	__u32 differs = 0;
#pragma unroll
	for (int i = 0; i < 4; i++)
		differs |= (x[i] ^ prefix[i]) & mask[i];
	return !differs;
}

static __always_inline int same_mac(const __u8 *x, const __u8 *y)
{
	__u8 differs = 0;
#pragma unroll
	for (int i = 0; i < ETH_ALEN; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

static __always_inline int matches(const struct rule *r, const struct segment *s, const __u8 *mac)
{
	__u16 port = bpf_ntohs(s->target_port);
	if (r->family && r->family != (s->v6 ? 6 : 4))
		return 0;
	if (r->last_port && (port < r->first_port || port > r->last_port))
		return 0;
	if (r->by_dscp && r->dscp != s->tos >> 2)
		return 0;
	if (r->mptcp && (r->mptcp == 1) != s->mptcp)
		return 0;
	if (r->by_mac && !same_mac(r->mac, mac))
		return 0;
	return within(s->source, r->source, r->source_mask) && within(s->target, r->target, r->target_mask);
}

/* What is to be done with a SYN, and by which rule. */
static __always_inline __u32 decide(const struct orders *g, __u32 set, const struct segment *s, const __u8 *mac, __u32 *by)
{
	__u32 base = set ? RULES : 0;
	for (__u32 i = 0; i < RULES; i++) {
		if (i >= g->rules)
			break;
		__u32 at = base + i;
		struct rule *r = bpf_map_lookup_elem(&rules, &at);
		if (r && matches(r, s, mac)) {
			*by = i;
			return r->action;
		}
	}
	*by = RULES;
	return g->fallback;
}
