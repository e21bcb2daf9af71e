//go:build ignore
/* Balia (Peng, Walid, Hwang, Low 2016): see pep/cwnd/coupled.go. */
#include "rates.h"

static __always_inline void balia_acked(struct flow *f, __u32 n)
{
	struct rates r;
	n = slow_start_by(f, n);
	if (!n)
		return;
	rates_of(f, &r);
	__u64 a = (r.most << 8) / r.own; /* A in 2^-8 */
	if (a > 1 << 16)
		a = 1 << 16;
	__u64 base = ratio_q20(((r.own) << (32 - r.shift)) / (f->srtt_us ? f->srtt_us : 1), r.sum * r.sum);
	/* (1+A)/2 · (4+A)/5 = (256+a)(1024+a)/10 in 2^-16 */
	__u64 factor = (256 + a) * (1024 + a) / 10;
	add_q20(f, (base * factor >> 16) * n);
}

static __always_inline void balia_lost(struct flow *f)
{
	struct rates r;
	rates_of(f, &r);
	__u64 a = (r.most << 8) / r.own;
	if (a > 384) /* 1.5 */
		a = 384;
	__u32 cut = (f->cwnd * a) >> 9;
	f->cwnd = f->ssthresh = f->cwnd > cut + 2 ? f->cwnd - cut : 2;
	f->frac = 0;
}

LAW(balia)
OPS(balia, "fl_balia")
