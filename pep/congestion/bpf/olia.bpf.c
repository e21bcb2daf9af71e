//go:build ignore
/* OLIA (Khalili, Gast, Popovic, Le Boudec 2013): see pep/cwnd/olia.go.
 * state[0]: packets acknowledged since the last loss; state[1]: between the
 * last two. */
#include "rates.h"

static __always_inline __u64 length(const struct flow *f)
{
	return f->state[0] > f->state[1] ? f->state[0] : f->state[1];
}

/* l/r^2, comparable between paths; 0 for a path that is not there. */
static __always_inline __u64 quality(const struct path *p)
{
	__u64 r = (p->srtt_us >> 4) | 1; /* 16 us steps keep the square in range */
	__u64 l = p->length & 0x3fffffff;
	return ((l + 1) << 32) / (r * r) & -some(p->cwnd);
}

/* e in 2^-20, signed. */
static __always_inline __s64 epsilon(const struct flow *f)
{
	__u64 top = 0, widest = 0, n = 0, collected = 0, most = 0;
	for (int i = 0; i < PATHS; i++) {
		top = larger(top, quality(&f->path[i]));
		widest = larger(widest, f->path[i].cwnd);
		n += some(f->path[i].cwnd);
	}
	for (int i = 0; i < PATHS; i++) {
		__u64 there = some(f->path[i].cwnd);
		__u64 large = 1 ^ less(f->path[i].cwnd, widest);
		collected += there & (1 ^ less(quality(&f->path[i]), top)) & (1 ^ large);
		most += there & large;
	}
	if (!collected || !most)
		return 0;
	const struct path *own = &f->path[f->self & (PATHS - 1)];
	if (own->cwnd >= widest)
		return -(__s64)((1 << 20) / (n * most));
	return quality(own) >= top ? (1 << 20) / (n * collected) : 0;
}

static __always_inline void olia_acked(struct flow *f, __u32 n)
{
	struct rates r;
	f->state[0] += n;
	f->path[f->self & (PATHS - 1)].length = length(f);
	n = slow_start_by(f, n);
	if (!n)
		return;
	rates_of(f, &r);
	__u64 own = (r.own << (32 - r.shift)) / (f->srtt_us ? f->srtt_us : 1);
	__s64 inc = ratio_q20(own, r.sum * r.sum);
	__s64 e = epsilon(f);
	__u32 w = f->cwnd ? f->cwnd : 1;
	/* signed division is not in BPF v2 */
	inc += e >= 0 ? (__s64)((__u64)e / w) : -(__s64)((__u64)-e / w);
	add_q20(f, inc * n);
}

static __always_inline void olia_lost(struct flow *f)
{
	f->state[1] = f->state[0];
	f->state[0] = 0;
	f->path[f->self & (PATHS - 1)].length = length(f);
	f->cwnd = f->ssthresh = half(f->cwnd);
	f->frac = 0;
}

LAW(olia)
OPS(olia, "fl_olia")
