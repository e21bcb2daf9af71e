/* Rates of a connection's paths in fixed point, for the coupled laws. */
#pragma once
#include "flow.h"

/* x = w/r in 2^32 packets/us over all paths, with the shift that brings the
 * sum below 2^31, so that its square fits. */
struct rates {
	__u64 sum;  /* shifted */
	__u64 own;  /* shifted */
	__u64 most; /* shifted */
	__u32 shift;
	__u64 best; /* max w/r^2, shifted by twice shift */
};

static __always_inline __u64 rate_of(const struct path *p)
{
	if (!p->srtt_us)
		return 0;
	__u64 w = p->cwnd < 1 << 17 ? p->cwnd : 1 << 17;
	return (w << 32) / p->srtt_us;
}

/* w/r^2 in 2^64, shifted right by twice shift. */
static __always_inline __u64 steepness(__u64 rate, __u32 srtt_us, __u32 shift)
{
	return ((rate >> shift) << (32 - shift)) / (srtt_us ? srtt_us : 1);
}

static __always_inline void rates_of(const struct flow *f, struct rates *r)
{
	__u64 sum = 0;
	__builtin_memset(r, 0, sizeof(*r));
	for (int i = 0; i < PATHS; i++)
		sum += rate_of(&f->path[i]);
	for (int i = 0; i < 20 && sum >= 1ULL << 31; i++) {
		sum >>= 1;
		r->shift++;
	}
	r->sum = sum ? sum : 1;
	for (int i = 0; i < PATHS; i++) {
		__u64 x = rate_of(&f->path[i]);
		__u64 m = steepness(x, f->path[i].srtt_us, r->shift);
		if (x >> r->shift > r->most)
			r->most = x >> r->shift;
		if (m > r->best)
			r->best = m;
		if (i == f->self)
			r->own = x >> r->shift;
	}
	if (!r->own)
		r->own = 1;
}
