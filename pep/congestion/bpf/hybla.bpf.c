//go:build ignore
/* TCP Hybla (Caini, Firrincieli 2004): see pep/cwnd/hybla.go. */
#include "flow.h"

#define RTT0_US 25000
#define MAX_RHO_Q7 (16 << 7)

/* 2^(i/16) in 2^-7, rounded. */
static const __u16 exp2_q7[16] = {128, 134, 140, 146, 152, 159, 166, 173, 181, 189, 197, 206, 215, 225, 235, 245};

static __always_inline __u32 rho_q7(const struct flow *f)
{
	__u64 r = ((__u64)f->min_rtt_us << 7) / RTT0_US;
	if (r < 128)
		return 128;
	return r > MAX_RHO_Q7 ? MAX_RHO_Q7 : r;
}

static __always_inline void hybla_acked(struct flow *f, __u32 n)
{
	__u32 rho = rho_q7(f);
	if (slow_start(f)) {
		__u64 step = ((__u64)exp2_q7[rho >> 3 & 15] << (rho >> 7)) - 128; /* 2^rho - 1 in 2^-7 */
		__u32 threshold = f->ssthresh;
		add_q20(f, (step * n) << 13);
		if (f->cwnd >= threshold) {
			f->cwnd = threshold;
			f->frac = 0;
		}
		return;
	}
	__u64 square = (__u64)rho * rho; /* in 2^-14 */
	add_q20(f, ((square * n) << 6) / (f->cwnd ? f->cwnd : 1));
}

static __always_inline void hybla_lost(struct flow *f)
{
	f->cwnd = f->ssthresh = half(f->cwnd);
	f->frac = 0;
}

LAW(hybla)
OPS(hybla, "fl_hybla")
