//go:build ignore
/* Layer-2 transparent interception: TCP that a rule wants split goes to a
 * local socket with the addresses of the ends; all else crosses to the other
 * port as it came. Without a listener it is a wire. */
#include "parse.h"

#define TCP_TIME_WAIT 6
#define TCP_LISTEN 10

/* Straight to the far end of a veth where there is one: a frame that was
 * redirected to a port's way out would be passed over by generic XDP there. */
static __always_inline int pass(struct __sk_buff *skb, const struct port *p)
{
	count(PASSED);
	if (p->across)
		return bpf_redirect_peer(p->peer, 0);
	skb->mark = MARK_PASSED;
	return bpf_redirect(p->peer, 0);
}

/* Into the stack, as if it were for us: routing by mark does the rest. */
static __always_inline int local(struct __sk_buff *skb, const struct port *p, const struct segment *s)
{
	count(LOCAL);
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	if (s->inner && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	skb->mark = p->mark;
	bpf_skb_change_type(skb, 0 /* PACKET_HOST */);
	return TC_ACT_OK;
}

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

/* Whether somebody listens for split connections. */
static __always_inline int listening(struct __sk_buff *skb, const struct orders *g, int v6)
{
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
static __always_inline __u32 decide(const struct orders *g, const struct segment *s, const __u8 *mac, __u32 *by)
{
	__u32 base = g->set ? RULES : 0;
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

static __always_inline void remember(struct __sk_buff *skb, const struct segment *s, struct flow *f)
{
	bpf_skb_load_bytes(skb, 0, f->server_mac, ETH_ALEN);
	bpf_skb_load_bytes(skb, ETH_ALEN, f->client_mac, ETH_ALEN);
	f->client_port = skb->ifindex;
	f->client_is_a = s->source_is_a;
	f->since = bpf_ktime_get_ns();
	f->tos = s->tos;
	if (skb->vlan_present) {
		f->tags[0].proto = skb->vlan_proto;
		f->tags[0].tci = skb->vlan_tci;
		f->tags[1] = s->tag;
	} else {
		f->tags[0] = s->tag;
	}
}

/* Gives the SYN to user space, which asks the far side first. */
static __always_inline int hold(struct __sk_buff *skb, const struct port *p, const struct segment *s, struct flow *f)
{
	struct held *h = bpf_ringbuf_reserve(&syns, sizeof(*h), 0);
	if (!h)
		return pass(skb, p);
	__u32 length = skb->len;
	if (length > sizeof(h->frame))
		length = sizeof(h->frame);
	if (length < ETH_HLEN + 40 || bpf_skb_load_bytes(skb, 0, h->frame, length)) {
		bpf_ringbuf_discard(h, 0);
		return pass(skb, p);
	}
	h->tuple = s->tuple;
	h->ifindex = skb->ifindex;
	h->length = length;
	h->client_is_a = s->source_is_a;
	h->rule = f->rule;
	f->state = HELD;
	bpf_map_update_elem(&flows, &s->tuple, f, BPF_ANY);
	bpf_ringbuf_submit(h, 0);
	count(SPLIT);
	return TC_ACT_SHOT;
}

/* A SYN that begins a connection, as far as we know. */
static __always_inline int begin(struct __sk_buff *skb, const struct port *p, const struct orders *g, const struct segment *s)
{
	struct flow f = {};
	if (!g->enabled || !p->splits)
		return pass(skb, p);
	if (s->fastopen || s->length) { /* data before the handshake: not ours to answer */
		count(FASTOPEN);
		return pass(skb, p);
	}
	remember(skb, s, &f);
	__u32 action = decide(g, s, f.client_mac, &f.rule);
	if (action == PASS)
		return pass(skb, p);
	if (g->open >= g->most) {
		count(OVER_LIMIT);
		return pass(skb, p);
	}
	if (!listening(skb, g, s->v6)) {
		count(NO_LISTENER);
		bpf_map_delete_elem(&flows, &s->tuple);
		return pass(skb, p);
	}
	if (action == SPLIT_DEFERRED)
		return hold(skb, p, s, &f);
	f.state = OPEN;
	bpf_map_update_elem(&flows, &s->tuple, &f, BPF_ANY);
	count(SPLIT);
	return local(skb, p, s);
}

static __always_inline int on_syn(struct __sk_buff *skb, const struct port *p, const struct orders *g, const struct segment *s, struct flow *f)
{
	if (!f)
		return begin(skb, p, g, s);
	if (f->client_port != skb->ifindex) /* the other end opens at the same time */
		return local(skb, p, s);
	if ((skb->mark & MARK_KIND) == MARK_REPLAYED)
		return f->state == HELD ? TC_ACT_SHOT : local(skb, p, s);
	if (f->state == HELD && bpf_ktime_get_ns() - f->since < (__u64)g->patience_s * 1000000000ULL && listening(skb, g, s->v6))
		return TC_ACT_SHOT; /* sent again while the far side is asked */
	if (f->state == OPEN && connected(skb, s))
		return local(skb, p, s);
	return begin(skb, p, g, s);
}

SEC("tcx/ingress")
int intercept_in(struct __sk_buff *skb)
{
	__u32 index = skb->ifindex, zero = 0;
	struct segment s = {};
	struct port *p = bpf_map_lookup_elem(&ports, &index);
	if (!p)
		return TC_ACT_OK;
	struct orders *g = bpf_map_lookup_elem(&settings, &zero);
	if (!g)
		return TC_ACT_OK;
	enum kind k = parse(skb, &s);
	if (k == OTHER)
		return pass(skb, p);
	struct flow *f = bpf_map_lookup_elem(&flows, &s.tuple);
	if (k == SEGMENT && s.syn && !s.ack && !s.rst)
		return on_syn(skb, p, g, &s, f);
	if (!f)
		return pass(skb, p);
	if (k == QUOTED)
		count(ERRORS);
	return local(skb, p, &s);
}

/* What the stack sends gets the MAC addresses and tags of the end it speaks
 * for. */
static __always_inline int send(struct __sk_buff *skb, const struct flow *f)
{
	__u8 mac[2 * ETH_ALEN];
	if (f->client_port == skb->ifindex) {
		__builtin_memcpy(mac, f->client_mac, ETH_ALEN);
		__builtin_memcpy(mac + ETH_ALEN, f->server_mac, ETH_ALEN);
	} else {
		__builtin_memcpy(mac, f->server_mac, ETH_ALEN);
		__builtin_memcpy(mac + ETH_ALEN, f->client_mac, ETH_ALEN);
	}
	struct tag outer = f->tags[0], inner = f->tags[1];
	if (bpf_skb_store_bytes(skb, 0, mac, sizeof(mac), 0))
		return TC_ACT_SHOT;
	if (inner.proto && bpf_skb_vlan_push(skb, inner.proto, inner.tci))
		return TC_ACT_SHOT;
	if (outer.proto && bpf_skb_vlan_push(skb, outer.proto, outer.tci))
		return TC_ACT_SHOT;
	count(SENT);
	return TC_ACT_OK;
}

SEC("tcx/egress")
int intercept_out(struct __sk_buff *skb)
{
	__u32 kind = skb->mark & MARK_KIND;
	struct segment s = {};
	if (kind == MARK_PASSED)
		return TC_ACT_OK;
	if (kind == MARK_REPLAYED) {
		count(REPLAYED);
		return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
	}
	if (parse(skb, &s) == SEGMENT) {
		struct flow *f = bpf_map_lookup_elem(&flows, &s.tuple);
		if (f)
			return send(skb, f);
	}
	count(DROPPED);
	return TC_ACT_SHOT;
}

/* Hands the SYN of an open flow to the listener. Not by bpf_sk_assign in tc:
 * that would find our own TIME_WAIT socket when a client's port comes again. */
SEC("sk_lookup")
int intercept_listen(struct bpf_sk_lookup *ctx)
{
	struct segment s = {};
	__u32 which = 0;
	if (ctx->protocol != IPPROTO_TCP)
		return SK_PASS;
	if (ctx->family == 2 /* AF_INET */) {
		s.source[0] = ctx->remote_ip4;
		s.target[0] = ctx->local_ip4;
	} else {
		s.source[0] = ctx->remote_ip6[0];
		s.source[1] = ctx->remote_ip6[1];
		s.source[2] = ctx->remote_ip6[2];
		s.source[3] = ctx->remote_ip6[3];
		s.target[0] = ctx->local_ip6[0];
		s.target[1] = ctx->local_ip6[1];
		s.target[2] = ctx->local_ip6[2];
		s.target[3] = ctx->local_ip6[3];
		which = 1;
	}
	s.source_port = ctx->remote_port;
	s.target_port = bpf_htons(ctx->local_port);
	make_tuple(&s);
	struct flow *f = bpf_map_lookup_elem(&flows, &s.tuple);
	if (!f || f->state != OPEN)
		return SK_PASS;
	struct bpf_sock *sk = bpf_map_lookup_elem(&listeners, &which);
	if (!sk)
		return SK_PASS;
	bpf_sk_assign(ctx, sk, 0);
	bpf_sk_release(sk);
	return SK_PASS;
}
