//go:build ignore
/* Layer-2 transparent interception: TCP that a rule wants split goes to a
 * local socket with the addresses of the ends; all else crosses to the other
 * port as it came. Without a listener it is a wire. */
#include "face.h"
#include "policy.h"

#define ENCLOSED 3 /* tags, at most */

/* Puts the tags that stand beside the frame into it: XDP, where it goes, sees
 * no others. */
static __always_inline int enclose(struct __sk_buff *skb)
{
	struct {
		__u8 mac[2 * ETH_ALEN];
		__be16 tag[2 * ENCLOSED];
	} head = {};
	__u32 n = 0;
	if (bpf_skb_load_bytes(skb, 0, head.mac, sizeof(head.mac)))
		return -1;
#pragma unroll
	for (int i = 0; i < ENCLOSED; i++) {
		if (!skb->vlan_present)
			break;
		head.tag[2 * i] = skb->vlan_proto;
		head.tag[2 * i + 1] = bpf_htons(skb->vlan_tci);
		n += 4;
		if (bpf_skb_vlan_pop(skb)) /* the next, in the frame, stands beside it then */
			return -1;
	}
	return bpf_skb_change_head(skb, n, 0) || bpf_skb_store_bytes(skb, 0, &head, sizeof(head.mac) + n, 0);
}

/* Straight to the far end of a veth where there is one: a frame that was
 * redirected to a port's way out would be passed over by generic XDP there. */
static __always_inline int pass(struct __sk_buff *skb, const struct port *p)
{
	count(PASSED);
	if (p->across) {
		if (skb->vlan_present && enclose(skb))
			return TC_ACT_SHOT;
		return bpf_redirect_peer(p->peer, 0);
	}
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
	h->since = f->since;
	f->state = HELD;
	bpf_map_update_elem(&flows, &s->tuple, f, BPF_ANY);
	bpf_ringbuf_submit(h, 0);
	count(SPLIT);
	return TC_ACT_SHOT;
}

/* A SYN that begins a connection, as far as we know. */
static __always_inline int begin(struct __sk_buff *skb, const struct port *p, const struct orders *g, const struct live *l,
				 const struct segment *s)
{
	struct flow f = {};
	if (!g->enabled || !p->splits || s->options)
		return pass(skb, p);
	if (s->fastopen || s->length) { /* data before the handshake: not ours to answer */
		count(FASTOPEN);
		return pass(skb, p);
	}
	look(skb, s, &f.from[CLIENT]);
	mirror(&f.from[CLIENT], &f.from[SERVER]);
	f.client_port = skb->ifindex;
	f.since = bpf_ktime_get_ns();
	f.sequence = s->sequence;
	__u32 action = decide(g, l->set, s, f.from[CLIENT].mac + ETH_ALEN, &f.rule);
	if (action == PASS)
		return pass(skb, p);
	if (l->open >= g->most) {
		count(OVER_LIMIT);
		return pass(skb, p);
	}
	if (!listening(skb, g, l, s->v6)) {
		count(NO_LISTENER);
		return pass(skb, p);
	}
	if (action == SPLIT_DEFERRED)
		return hold(skb, p, s, &f);
	f.state = OPEN;
	bpf_map_update_elem(&opening, &s->tuple, &f, BPF_ANY);
	count(SPLIT);
	return local(skb, p, s);
}

/* Whether the far side is being asked. */
static __always_inline int asked(struct __sk_buff *skb, const struct orders *g, const struct live *l, const struct flow *f, int v6)
{
	return f->state == HELD && bpf_ktime_get_ns() - f->since < (__u64)g->patience_s * 1000000000ULL && listening(skb, g, l, v6);
}

static __always_inline int on_syn(struct __sk_buff *skb, const struct port *p, const struct orders *g, const struct live *l,
				  const struct segment *s, struct flow *f)
{
	if (!f)
		return begin(skb, p, g, l, s);
	if ((skb->mark & MARK_KIND) == MARK_REPLAYED)
		return f->state == HELD ? TC_ACT_SHOT : local(skb, p, s);
	if (f->client_port != skb->ifindex && connected(skb, s)) { /* the other end opens at the same time */
		watch(skb, s, f);
		return local(skb, p, s);
	}
	if (asked(skb, g, l, f, s->v6))
		return TC_ACT_SHOT; /* it will come again */
	if (f->client_port == skb->ifindex && f->state == OPEN && connected(skb, s))
		return local(skb, p, s);
	bpf_map_delete_elem(&flows, &s->tuple); /* of a connection before, that has ended */
	bpf_map_delete_elem(&opening, &s->tuple);
	return begin(skb, p, g, l, s);
}

/* An error about the SYN that we sent for one that is held: it tells the
 * client, too, whose SYN had another sequence number. */
static __always_inline int report(struct __sk_buff *skb, const struct port *p, const struct segment *s, const struct flow *f)
{
	__be32 sequence = f->sequence;
	skb->mark = MARK_REPLAYED;
	bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	skb->mark = 0;
	bpf_l4_csum_replace(skb, s->quoting + 2, s->sequence, sequence, 4);
	bpf_skb_store_bytes(skb, s->transport + 4, &sequence, 4, 0);
	return pass(skb, p);
}

SEC("tcx/ingress")
int intercept_in(struct __sk_buff *skb)
{
	__u32 index = skb->ifindex, zero = 0;
	struct segment s = {};
	struct port *p = bpf_map_lookup_elem(&ports, &index);
	struct live *l = bpf_map_lookup_elem(&alive, &zero);
	if (!p || !l)
		return TC_ACT_OK;
	__u32 set = l->set;
	struct orders *g = bpf_map_lookup_elem(&settings, &set);
	if (!g)
		return TC_ACT_OK;
	enum kind k = parse(skb, &s);
	if (k == OTHER)
		return pass(skb, p);
	struct flow *f = known(&s.tuple);
	if (k == SEGMENT && s.syn && !s.ack && !s.rst)
		return on_syn(skb, p, g, l, &s, f);
	if (!f)
		return pass(skb, p);
	if (k == SEGMENT) {
		watch(skb, &s, f);
		return local(skb, p, &s);
	}
	if ((skb->mark & MARK_KIND) == MARK_REPLAYED)
		return local(skb, p, &s);
	count(ERRORS);
	if (f->state == HELD && f->client_port != skb->ifindex)
		return report(skb, p, &s, f);
	return local(skb, p, &s);
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
		struct flow *f = known(&s.tuple);
		if (f) /* to the client in the server's place, and the other way */
			return disguise(skb, &s, &f->from[f->client_port == skb->ifindex ? SERVER : CLIENT]);
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
	struct flow *f = known(&s.tuple);
	if (!f || f->state != OPEN)
		return SK_PASS;
	struct bpf_sock *sk = bpf_map_lookup_elem(&listeners, &which);
	if (!sk)
		return SK_PASS;
	bpf_sk_assign(ctx, sk, 0);
	bpf_sk_release(sk);
	return SK_PASS;
}
