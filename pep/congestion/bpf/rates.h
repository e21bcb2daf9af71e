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

/* Comparisons without a branch: with one, the verifier would follow every
 * combination of paths. Arguments below 2^63. */
static __always_inline __u64 less(__u64 a, __u64 b) { return (a - b) >> 63; }
static __always_inline __u64 some(__u64 a) { return (a | -a) >> 63; }
static __always_inline __u64 larger(__u64 a, __u64 b) { return a ^ ((a ^ b) & -less(a, b)); }
static __always_inline __u64 smaller(__u64 a, __u64 b) { return b ^ ((a ^ b) & -less(a, b)); }

static __always_inline __u64 rate_of(const struct path *p)
{
	return (smaller(p->cwnd, 1 << 17) << 32) / ((__u64)p->srtt_us + !p->srtt_us);
}

/* w/r^2 in 2^64, shifted right by twice shift. */
static __always_inline __u64 steepness(__u64 rate, __u32 srtt_us, __u32 shift)
{
	return ((rate >> shift) << (32 - shift)) / ((__u64)srtt_us + !srtt_us);
}

/* A function of its own, so that it is verified once and not per caller. */
__noinline int rates_of(struct flow *f, struct rates *r)
{
	__u64 sum = 0, most = 0, best = 0;
	__u32 shift = 0;
	if (!f || !r)
		return 0;
	for (int i = 0; i < PATHS; i++)
		sum += rate_of(&f->path[i]);
	for (int i = 0; i < 20; i++) {
		__u64 over = some(sum >> 31);
		sum >>= over;
		shift += over;
	}
	shift &= 31;
	for (int i = 0; i < PATHS; i++) {
		__u64 x = rate_of(&f->path[i]);
		most = larger(most, x >> shift);
		best = larger(best, steepness(x, f->path[i].srtt_us, shift));
	}
	__u64 own = rate_of(&f->path[f->self & (PATHS - 1)]) >> shift;
	r->sum = sum | !sum;
	r->own = own | !own;
	r->most = most;
	r->best = best;
	r->shift = shift;
	return 0;
}
