/* A flow as the laws see it, and the entry points that load it from a socket
 * and store it back. The laws themselves are pure: what a law does to a
 * struct flow is all that it does, so a test drives the very same bytecode by
 * BPF_PROG_TEST_RUN. */
#pragma once
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define PATHS 8
#define NO_THRESHOLD 0x7fffffff

/* What a flow shows to the others of its connection. */
struct path {
	__u32 cwnd;
	__u32 srtt_us;
	__u64 length; /* OLIA: packets acknowledged between losses */
};

struct flow {
	__u32 cwnd, ssthresh, clamp;
	__u32 frac;                  /* of a packet, in 2^-20 */
	__u32 srtt_us, min_rtt_us;
	__u32 self, paths;           /* index of this flow, and how many there are */
	struct path path[PATHS];
	__u64 state[4];              /* the law's own */
};

enum event { ACKED, LOST, ROUND };

/* What a test hands in and gets back. */
struct step {
	struct flow flow;
	__u32 event;
	__u32 count; /* packets acknowledged; for ROUND the mean RTT in us */
};

static __always_inline int slow_start(const struct flow *f) { return f->cwnd < f->ssthresh; }

/* Grows by up to n packets to the threshold; returns what is left over. */
static __always_inline __u32 slow_start_by(struct flow *f, __u32 n)
{
	if (!slow_start(f))
		return n;
	__u32 room = f->ssthresh - f->cwnd;
	__u32 grown = n < room ? n : room;
	f->cwnd += grown;
	if (grown == room)
		f->frac = 0; /* exactly at the threshold */
	return n - grown;
}

/* Adds q packets in 2^-20, with carry; negative q takes away, down to one
 * packet. */
static __always_inline void add_q20(struct flow *f, __s64 q)
{
	__s64 w = ((__s64)f->cwnd << 20 | f->frac) + q;
	if (w < 1 << 20)
		w = 1 << 20;
	__s64 most = (__s64)f->clamp << 20;
	if (f->clamp && w > most)
		w = most;
	f->cwnd = w >> 20;
	f->frac = w & 0xfffff;
}

/* num/den in 2^-20 without overflow. */
static __always_inline __u64 ratio_q20(__u64 num, __u64 den)
{
	if (num < 1ULL << 43)
		return (num << 20) / (den ? den : 1);
	den >>= 20;
	return num / (den ? den : 1);
}

static __always_inline __u32 half(__u32 cwnd) { return cwnd > 4 ? cwnd / 2 : 2; }

/* ---- binding to a socket ---- */

/* The private area of a socket: 104 bytes. */
struct private {
	__u64 state[4];
	__u32 frac, group, slot, min_rtt_us;
	__u32 round_end, samples;
	__u64 rtt_sum;
};

struct member {
	__u32 group, slot;
};

/* Which connection a subflow belongs to; written by user space through the
 * socket's descriptor before the control is chosen. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct member);
} members SEC(".maps");

struct group {
	struct path path[PATHS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct group);
} groups SEC(".maps");

static __always_inline struct tcp_sock *tcp(const struct sock *sk) { return (struct tcp_sock *)sk; }

static __always_inline struct private *private_of(const struct sock *sk)
{
	return (struct private *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* A group of 0 is "alone". */
static __always_inline void flow_init(struct sock *sk)
{
	struct private *p = private_of(sk);
	struct member *m = bpf_sk_storage_get(&members, sk, 0, 0);
	__builtin_memset(p, 0, sizeof(*p));
	if (m) {
		p->group = m->group;
		p->slot = m->slot;
	}
}

static __always_inline void flow_load(struct sock *sk, struct flow *f)
{
	struct tcp_sock *tp = tcp(sk);
	struct private *p = private_of(sk);
	__u32 rtt = tp->srtt_us >> 3, id = p->group;

	__builtin_memset(f, 0, sizeof(*f));
	f->cwnd = tp->snd_cwnd;
	f->ssthresh = tp->snd_ssthresh;
	f->clamp = tp->snd_cwnd_clamp;
	f->frac = p->frac;
	f->srtt_us = rtt ? rtt : 1000;
	if (!p->min_rtt_us || f->srtt_us < p->min_rtt_us)
		p->min_rtt_us = f->srtt_us;
	f->min_rtt_us = p->min_rtt_us;
	__builtin_memcpy(f->state, p->state, sizeof(f->state));
	f->self = p->slot & (PATHS - 1);
	struct group *g = id ? bpf_map_lookup_elem(&groups, &id) : 0;
	if (g) {
		for (int i = 0; i < PATHS; i++)
			f->path[i] = g->path[i];
		f->paths = PATHS;
	} else {
		f->self = 0;
		f->paths = 1;
	}
	f->path[f->self & (PATHS - 1)].cwnd = f->cwnd;
	f->path[f->self & (PATHS - 1)].srtt_us = f->srtt_us;
}

static __always_inline void flow_store(struct sock *sk, const struct flow *f)
{
	struct tcp_sock *tp = tcp(sk);
	struct private *p = private_of(sk);
	__u32 id = p->group;

	tp->snd_cwnd = f->cwnd;
	tp->snd_ssthresh = f->ssthresh;
	p->frac = f->frac;
	__builtin_memcpy(p->state, f->state, sizeof(p->state));
	struct group *g = id ? bpf_map_lookup_elem(&groups, &id) : 0;
	if (g) {
		__u32 i = p->slot & (PATHS - 1);
		g->path[i].cwnd = f->cwnd;
		g->path[i].srtt_us = f->srtt_us;
		g->path[i].length = f->path[i].length;
	}
}

static __always_inline void flow_leave(struct sock *sk)
{
	struct private *p = private_of(sk);
	__u32 id = p->group;
	struct group *g = id ? bpf_map_lookup_elem(&groups, &id) : 0;
	if (g)
		__builtin_memset(&g->path[p->slot & (PATHS - 1)], 0, sizeof(struct path));
}

/* Whether the window is what limits the flow: if not, it must not grow. */
static __always_inline int limited(struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The programs of a law with acked(flow, n) and lost(flow), as members of one
 * tcp_congestion_ops, and the test entry. */
#define LAW(law)                                                                  \
	SEC("struct_ops")                                                         \
	void BPF_PROG(law##_init, struct sock *sk) { flow_init(sk); }             \
	SEC("struct_ops")                                                         \
	void BPF_PROG(law##_release, struct sock *sk) { flow_leave(sk); }         \
	SEC("struct_ops")                                                         \
	void BPF_PROG(law##_avoid, struct sock *sk, __u32 ack, __u32 acked)       \
	{                                                                         \
		struct flow f;                                                    \
		if (!limited(sk))                                                 \
			return;                                                   \
		flow_load(sk, &f);                                                \
		law##_acked(&f, acked);                                           \
		flow_store(sk, &f);                                               \
	}                                                                         \
	SEC("struct_ops")                                                         \
	__u32 BPF_PROG(law##_ssthresh, struct sock *sk)                           \
	{                                                                         \
		struct flow f;                                                    \
		flow_load(sk, &f);                                                \
		law##_lost(&f);                                                   \
		__u32 threshold = f.ssthresh;                                     \
		f.cwnd = tcp(sk)->snd_cwnd;                                       \
		f.ssthresh = tcp(sk)->snd_ssthresh;                               \
		flow_store(sk, &f);                                               \
		return threshold;                                                 \
	}                                                                         \
	SEC("struct_ops")                                                         \
	__u32 BPF_PROG(law##_undo, struct sock *sk) { return tcp_reno_undo_cwnd(sk); } \
	SEC("syscall")                                                            \
	int law##_step(struct step *s)                                            \
	{                                                                         \
		struct flow f = s->flow;                                          \
		if (s->event == ACKED)                                            \
			law##_acked(&f, s->count);                                \
		else                                                              \
			law##_lost(&f);                                           \
		s->flow = f;                                                      \
		return 0;                                                         \
	}

#define OPS(law, text)                                                            \
	SEC(".struct_ops.link")                                                   \
	struct tcp_congestion_ops law = {                                         \
		.init = (void *)law##_init, .release = (void *)law##_release,     \
		.cong_avoid = (void *)law##_avoid, .ssthresh = (void *)law##_ssthresh, \
		.undo_cwnd = (void *)law##_undo, .flags = NON_RESTRICTED, .name = text, \
	};
