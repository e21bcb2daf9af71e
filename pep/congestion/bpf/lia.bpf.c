//go:build ignore
/* LIA, RFC 6356: see pep/cwnd/coupled.go. */
#include "rates.h"

static __always_inline void lia_acked(struct flow *f, __u32 n)
{
	struct rates r;
	n = slow_start_by(f, n);
	if (!n)
		return;
	rates_of(f, &r);
	__u64 inc = ratio_q20(r.best, r.sum * r.sum);
	__u64 reno = (1 << 20) / (f->cwnd ? f->cwnd : 1);
	add_q20(f, (inc < reno ? inc : reno) * n);
}

static __always_inline void lia_lost(struct flow *f)
{
	f->cwnd = f->ssthresh = half(f->cwnd);
	f->frac = 0;
}

LAW(lia)
OPS(lia, "fl_lia")
