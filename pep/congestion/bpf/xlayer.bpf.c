//go:build ignore
/* The window follows the link's own grants: see pep/cwnd/xlayer.go. */
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define SK_PACING_NEEDED 1
#define EPOCH_SHIFT 28 /* 0.27 s: how long a flow with a backlog counts */
#define BACKLOG_SEGMENTS 8

/* What a link grants now, written by user space within a millisecond of the
 * grant; epoch, now and before count the flows that share it. */
struct capacity {
	__u64 rate; /* bytes of frames per second; 0 is unknown */
	__u32 gain; /* in 1/256 */
	__u32 floor; /* packets */
	__u32 overhead; /* bytes a frame has beyond the payload */
	__u32 epoch, now, before;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct capacity);
} capacities SEC(".maps");

struct carried {
	__u32 link;
};

/* Which link carries a socket; written through its descriptor before the
 * control is chosen. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct carried);
} links SEC(".maps");

struct private {
	__u32 link, epoch;
};

/* The question, and the answer: a window in packets and a pacing rate in
 * bytes of payload per second. */
struct ask {
	__u64 rate;
	__u32 active, rtt_us, mss, gain, floor, overhead;
	__u64 pacing;
	__u64 window;
};

static __always_inline void answer(struct ask *a)
{
	__u32 mss = a->mss ? a->mss : 536;
	__u64 share = a->rate * mss / (mss + a->overhead) / (a->active ? a->active : 1);
	__u64 product = share * a->rtt_us / 1000000;
	__u64 window = (product * a->gain / 256 + mss - 1) / mss;
	a->pacing = share;
	a->window = window < a->floor ? a->floor : window;
}

SEC("syscall")
int xlayer_step(struct ask *a)
{
	struct ask x = *a;
	answer(&x);
	a->pacing = x.pacing;
	a->window = x.window;
	return 0;
}

static __always_inline struct private *private_of(const struct sock *sk)
{
	return (struct private *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* Counts the flows that had a backlog in this epoch or the last: open but
 * idle connections have no claim. */
static __always_inline __u32 active(struct capacity *c, struct tcp_sock *tp, struct private *p)
{
	__u32 epoch = bpf_ktime_get_ns() >> EPOCH_SHIFT, old = c->epoch;
	if (old != epoch && __sync_val_compare_and_swap(&c->epoch, old, epoch) == old) {
		c->before = epoch - old == 1 ? c->now : 0;
		c->now = 0;
	}
	if (p->epoch != epoch && tp->write_seq - tp->snd_una > BACKLOG_SEGMENTS * tp->mss_cache) {
		p->epoch = epoch;
		__sync_fetch_and_add(&c->now, 1);
	}
	return c->before > c->now ? c->before : c->now;
}

static __always_inline void follow(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private *p = private_of(sk);
	__u32 id = p->link;
	struct capacity *c = bpf_map_lookup_elem(&capacities, &id);
	if (!c || !c->rate)
		return;
	__u32 rtt = tp->rtt_min.s[0].v;
	if (rtt == ~0U || !rtt)
		rtt = tp->srtt_us >> 3;
	struct ask a = {.rate = c->rate, .active = active(c, tp, p), .rtt_us = rtt ? rtt : 1000,
			.mss = tp->mss_cache, .gain = c->gain, .floor = c->floor, .overhead = c->overhead};
	answer(&a);
	tp->snd_cwnd = a.window < tp->snd_cwnd_clamp ? a.window : tp->snd_cwnd_clamp;
	tp->snd_ssthresh = tp->snd_cwnd;
	sk->sk_pacing_rate = a.pacing;
}

SEC("struct_ops")
void BPF_PROG(xlayer_init, struct sock *sk)
{
	struct private *p = private_of(sk);
	struct carried *on = bpf_sk_storage_get(&links, sk, 0, 0);
	p->link = on ? on->link : 0;
	p->epoch = 0;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	follow(sk);
}

SEC("struct_ops")
void BPF_PROG(xlayer_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs) { follow(sk); }

SEC("struct_ops")
__u32 BPF_PROG(xlayer_ssthresh, struct sock *sk) { return ((struct tcp_sock *)sk)->snd_cwnd; }

SEC("struct_ops")
__u32 BPF_PROG(xlayer_undo, struct sock *sk) { return ((struct tcp_sock *)sk)->snd_cwnd; }

/* One segment at a time below 12 Mbit/s: a burst of two would stand out in
 * the queue of a slow link. */
SEC("struct_ops")
__u32 BPF_PROG(xlayer_tso, struct sock *sk) { return sk->sk_pacing_rate < 1500000 ? 1 : 2; }

SEC(".struct_ops.link")
struct tcp_congestion_ops xlayer = {
	.init = (void *)xlayer_init, .cong_control = (void *)xlayer_control,
	.ssthresh = (void *)xlayer_ssthresh, .undo_cwnd = (void *)xlayer_undo,
	.min_tso_segs = (void *)xlayer_tso, .flags = NON_RESTRICTED, .name = "fl_xlayer",
};
