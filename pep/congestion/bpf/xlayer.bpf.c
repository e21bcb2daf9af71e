//go:build ignore
/* The window follows the link's own grants: see pep/cwnd/xlayer.go. */
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define SK_PACING_NEEDED 1
#define CA_RECOVERY 3
#define EPOCH_SHIFT 28 /* 0.27 s: how long a flow with a backlog counts */
#define BACKLOG_SEGMENTS 8

/* A link's capacity in one way. The engine writes the first six words by
 * atomic stores within a millisecond of a grant, through shared memory; the
 * proxy writes faulted and fault; epoch, now and before count the flows
 * that share the link, and belong to this program. Two cache lines. */
struct capacity {
	__u64 told;    /* bytes of frames per second granted now */
	__u64 at;      /* CLOCK_MONOTONIC ns when it was told; 0 is never */
	__u64 next;    /* the next grant, when it is known already, else told */
	__u64 next_at; /* CLOCK_MONOTONIC ns when that takes effect; ~0 is never */
	__u32 queue;   /* bytes waiting for capacity */
	__u32 rtt_us;  /* propagation both ways; ~0 is not known */
	__u64 faulted; /* what is believed in told's place while fault is set */
	__u32 fault;
	__u32 epoch;
	__s32 now, before; /* below 0 for an epoch at most: flows leave while it ends */
	__u64 most;	   /* the highest that may be granted */
	__u32 level, span; /* bytes that should wait: cwnd.XLayer.Level */
	__u64 granted;	   /* in this frame */
	__u64 pace, carry; /* cwnd.Advice; 0 is told */
	__u32 wait_us, demand;
	__u64 pad[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512); /* two for each link: down, up */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct capacity);
} capacities SEC(".maps");

/* Which capacity a socket follows, and how; written through its descriptor
 * before the control is chosen. */
struct carried {
	__u32 column;   /* of capacities */
	__u32 gain;     /* window beyond the product, in 1/256 */
	__u32 floor;    /* packets */
	__u32 overhead; /* bytes a frame has beyond the payload */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct carried);
} links SEC(".maps");

struct private {
	struct carried on;
	__u32 epoch, previous; /* in which it was counted, the last two times */
	__u32 delivered;       /* packets, at the last acknowledgement */
};

struct tcp_sock___delivered {
	__u32 delivered;
} CORE;

/* The question, and the answer: a window in packets and a pacing rate in
 * bytes of payload per second. */
struct ask {
	__u64 pace, carry; /* what to pace by, and what windows are the product of */
	__u32 active, rtt_us, mss, gain, floor, overhead;
	__u32 queue, level, span; /* bytes that wait, that should, and how far is too far; level 0 is no matter */
	__u32 unused;
	__u64 pacing;
	__u64 window;
};

#define LEAST_RATE 8000	 /* bytes per second while nothing is granted: asks */

/* One flow's part of a rate of frames, as payload. */
static __always_inline __u64 share(const struct ask *a, __u64 rate, __u32 mss)
{
	if (rate < LEAST_RATE)
		rate = LEAST_RATE;
	return rate * mss / (mss + a->overhead) / (a->active ? a->active : 1);
}

/* cwnd.XLayer.Level, in 1/256. */
static __always_inline __u32 factor(const struct ask *a, __u32 frame)
{
	__u64 least = 16, off = a->span + (__u64)a->level, factor = 0;
	if (a->queue > a->level)
		least = frame * 256ULL / (frame + (__u64)(a->queue - a->level));
	least = least < 16 ? 16 : least;
	if (a->queue < off)
		factor = (off - a->queue) * 256 / a->span;
	return factor < least ? least : factor > 512 ? 512 : factor;
}

static __always_inline void answer(struct ask *a)
{
	__u32 mss = a->mss ? a->mss : 536;
	__u64 product = share(a, a->carry, mss) * a->rtt_us / 1000000;
	__u64 window = (product * a->gain / 256 + mss - 1) / mss;
	a->window = window < a->floor ? a->floor : window;
	a->pacing = share(a, a->pace, mss);
	if (a->level && a->span)
		a->pacing = a->pacing * factor(a, mss + a->overhead) / 256;
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
		p->previous = p->epoch;
		p->epoch = epoch;
		__sync_fetch_and_add(&c->now, 1);
	}
	__s32 count = c->before > c->now ? c->before : c->now;
	return count < 0 ? 0 : count;
}

/* What the socket follows; none where the link has not said, or has no
 * limit. */
static __always_inline struct capacity *capacity_of(const struct sock *sk)
{
	__u32 column = private_of(sk)->on.column;
	struct capacity *c = bpf_map_lookup_elem(&capacities, &column);
	return c && c->at ? c : 0;
}

/* Reports whether there was a capacity to follow. */
static __always_inline int follow(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private *p = private_of(sk);
	struct capacity *c = capacity_of(sk);
	if (!c)
		return 0;
	__u32 rtt = tp->rtt_min.s[0].v;
	if (rtt == ~0U || !rtt)
		rtt = tp->srtt_us >> 3;
	if (!rtt)
		rtt = c->rtt_us && c->rtt_us != ~0U ? c->rtt_us : 1000;
	__u64 rate = c->fault ? c->faulted : c->told;
	struct ask a = {.pace = c->pace && !c->fault ? c->pace : rate, .carry = c->carry && !c->fault ? c->carry : rate,
			.active = active(c, tp, p), .rtt_us = rtt + c->wait_us,
			.mss = tp->mss_cache, .gain = p->on.gain, .floor = p->on.floor, .overhead = p->on.overhead,
			.queue = c->queue, .level = c->level, .span = c->span};
	answer(&a);
	tp->snd_cwnd = a.window < tp->snd_cwnd_clamp ? a.window : tp->snd_cwnd_clamp;
	tp->snd_ssthresh = tp->snd_cwnd;
	sk->sk_pacing_rate = a.pacing;
	return 1;
}

/* Without a capacity: Reno, unpaced. */
static __always_inline void unknown(struct sock *sk, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	sk->sk_pacing_rate = ~0UL;
	if (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != CA_RECOVERY)
		tcp_reno_cong_avoid(sk, 0, acked);
	else if (tp->snd_cwnd > tp->snd_ssthresh)
		tp->snd_cwnd = tp->snd_ssthresh;
}

SEC("struct_ops")
void BPF_PROG(xlayer_init, struct sock *sk)
{
	struct private *p = private_of(sk);
	struct carried *on = bpf_sk_storage_get(&links, sk, 0, 0);
	if (on) {
		p->on.column = on->column;
		p->on.gain = on->gain;
		p->on.floor = on->floor;
		p->on.overhead = on->overhead;
	}
	p->epoch = p->previous = 0;
	p->delivered = ((struct tcp_sock___delivered *)sk)->delivered;
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	follow(sk);
}

/* A flow that ends is counted no more: the next one has all of the link. */
SEC("struct_ops")
void BPF_PROG(xlayer_release, struct sock *sk)
{
	struct private *p = private_of(sk);
	__u32 column = p->on.column;
	struct capacity *c = bpf_map_lookup_elem(&capacities, &column);
	if (!c || !p->epoch)
		return;
	__u32 epoch = c->epoch;
	if (p->epoch == epoch)
		__sync_fetch_and_add(&c->now, -1);
	if (p->epoch == epoch - 1 || (p->epoch == epoch && p->previous == epoch - 1))
		__sync_fetch_and_add(&c->before, -1);
}

/* Of the arguments only the socket is used: kernels before 6.10 give two, in
 * another order. */
SEC("struct_ops")
void BPF_PROG(xlayer_control, struct sock *sk)
{
	struct private *p = private_of(sk);
	__u32 delivered = ((struct tcp_sock___delivered *)sk)->delivered, acked = delivered - p->delivered;
	p->delivered = delivered;
	if (!follow(sk))
		unknown(sk, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(xlayer_ssthresh, struct sock *sk)
{
	return capacity_of(sk) ? ((struct tcp_sock *)sk)->snd_cwnd : tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(xlayer_undo, struct sock *sk)
{
	return capacity_of(sk) ? ((struct tcp_sock *)sk)->snd_cwnd : tcp_reno_undo_cwnd(sk);
}

/* Asked before each transmission: so that the pace follows the queue also while
 * no acknowledgement comes, for a round trip at the start and after a pause,
 * when a pace found with an empty queue would flood a small buffer. One segment
 * at a time below 12 Mbit/s: a burst of two would stand out in the queue of a
 * slow link. */
SEC("struct_ops")
__u32 BPF_PROG(xlayer_tso, struct sock *sk)
{
	follow(sk);
	return sk->sk_pacing_rate < 1500000 ? 1 : 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops xlayer = {
	.init = (void *)xlayer_init, .release = (void *)xlayer_release,
	.cong_control = (void *)xlayer_control,
	.ssthresh = (void *)xlayer_ssthresh, .undo_cwnd = (void *)xlayer_undo,
	.min_tso_segs = (void *)xlayer_tso, .flags = NON_RESTRICTED, .name = "fl_xlayer",
};
