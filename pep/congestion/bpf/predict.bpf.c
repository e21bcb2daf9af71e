//go:build ignore
/* Reno with prediction by the smoothed RTT: see pep/cwnd/predict.go.
 * state[0]: base SRTT in us; state[1]: the limit in us, 0 is none. */
#include "flow.h"

#define TICK_US 10000

static __always_inline void predict_acked(struct flow *f, __u32 n)
{
	if (!f->state[0])
		f->state[0] = f->srtt_us;
	if (f->state[1] && f->srtt_us >= f->state[1]) {
		f->cwnd = f->ssthresh = half(f->cwnd);
		f->frac = 0;
		f->state[1] = 0;
		return;
	}
	if (f->state[1])
		f->state[1] += TICK_US;
	n = slow_start_by(f, n);
	if (n)
		add_q20(f, ((__u64)n << 20) / (f->cwnd ? f->cwnd : 1));
}

static __always_inline void predict_lost(struct flow *f)
{
	/* base/(base+SRTT) < 1/2: a queue stood */
	if (f->state[0] && f->srtt_us > f->state[0])
		f->state[1] = f->srtt_us;
	f->cwnd = f->ssthresh = half(f->cwnd);
	f->frac = 0;
}

LAW(predict)
OPS(predict, "fl_predict")
