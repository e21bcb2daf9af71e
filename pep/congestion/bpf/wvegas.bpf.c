//go:build ignore
/* wVegas (Cao, Xu, Fu 2012): see pep/cwnd/wvegas.go.
 * state[0]: alpha in 2^-10 packets; state[1]: the least queue delay in us. */
#include "rates.h"

#define TOTAL_ALPHA 10
#define ONE (1 << 10)

/* The path's share of the connection's rate in 2^-10, with this round's RTT
 * for its own. */
static __always_inline __u64 weight(const struct flow *f, __u32 rtt)
{
	__u64 own = ((__u64)f->cwnd << 32) / (rtt ? rtt : 1), sum = own;
	for (int i = 0; i < PATHS; i++)
		if (i != f->self)
			sum += rate_of(&f->path[i]);
	return ratio_q20(own, sum) >> 10;
}

static __always_inline void wvegas_drain(struct flow *f, __u32 rtt)
{
	__u64 queue = rtt - f->min_rtt_us;
	if (!f->state[1] || queue < f->state[1])
		f->state[1] = queue;
	if (f->state[1] && queue >= 2 * f->state[1]) {
		f->cwnd = (__u64)f->cwnd * f->min_rtt_us / (2 * (__u64)rtt);
		f->state[1] = 0;
	}
}

/* A round ended in which the mean RTT was rtt. */
static __always_inline void wvegas_round(struct flow *f, __u32 rtt)
{
	if (rtt < f->min_rtt_us)
		rtt = f->min_rtt_us;
	__u64 diff = (((__u64)f->cwnd * (rtt - f->min_rtt_us)) << 10) / (rtt ? rtt : 1);
	if (!f->state[0])
		f->state[0] = 2 * ONE;
	if (slow_start(f)) {
		if (diff > ONE) {
			__u32 w = (__u64)f->cwnd * f->min_rtt_us / (rtt ? rtt : 1) + 1;
			f->cwnd = w < f->cwnd ? w : f->cwnd;
			if (f->cwnd < 2)
				f->cwnd = 2;
			f->ssthresh = f->cwnd > 3 ? f->cwnd - 1 : 2;
		} else {
			f->cwnd *= 2;
		}
		return;
	}
	if (diff >= f->state[0]) {
		__u64 share = TOTAL_ALPHA * weight(f, rtt);
		f->state[0] = share > 2 * ONE ? share : 2 * ONE;
	}
	if (diff > f->state[0])
		f->cwnd--;
	else if (diff < f->state[0])
		f->cwnd++;
	wvegas_drain(f, rtt);
	if (f->cwnd < 2)
		f->cwnd = 2;
}

SEC("struct_ops")
void BPF_PROG(wvegas_init, struct sock *sk)
{
	flow_init(sk);
	private_of(sk)->round_end = tcp(sk)->snd_nxt;
}

SEC("struct_ops")
void BPF_PROG(wvegas_release, struct sock *sk) { flow_leave(sk); }

SEC("struct_ops")
void BPF_PROG(wvegas_sample, struct sock *sk, const struct ack_sample *sample)
{
	struct private *p = private_of(sk);
	__s32 rtt = sample->rtt_us;
	if (rtt <= 0)
		return;
	p->rtt_sum += rtt;
	p->samples++;
	if (!p->min_rtt_us || rtt < p->min_rtt_us)
		p->min_rtt_us = rtt;
}

SEC("struct_ops")
void BPF_PROG(wvegas_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct private *p = private_of(sk);
	struct flow f;
	if ((__s32)(ack - p->round_end) < 0)
		return;
	p->round_end = tcp(sk)->snd_nxt;
	flow_load(sk, &f);
	if (p->samples >= 3) {
		/* below three samples delayed acknowledgements would be taken
		 * for a queue */
		wvegas_round(&f, p->rtt_sum / p->samples);
	} else if (slow_start(&f)) {
		f.cwnd *= 2;
	} else {
		f.cwnd++;
	}
	p->rtt_sum = p->samples = 0;
	flow_store(sk, &f);
}

SEC("struct_ops")
__u32 BPF_PROG(wvegas_ssthresh, struct sock *sk)
{
	private_of(sk)->samples = private_of(sk)->rtt_sum = 0;
	return half(tcp(sk)->snd_cwnd);
}

SEC("struct_ops")
__u32 BPF_PROG(wvegas_undo, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

SEC("syscall")
int wvegas_step(struct step *s)
{
	struct flow f = s->flow;
	if (s->event == ROUND)
		wvegas_round(&f, s->count);
	else
		f.cwnd = f.ssthresh = half(f.cwnd);
	s->flow = f;
	return 0;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops wvegas = {
	.init = (void *)wvegas_init, .release = (void *)wvegas_release,
	.pkts_acked = (void *)wvegas_sample, .cong_avoid = (void *)wvegas_avoid,
	.ssthresh = (void *)wvegas_ssthresh, .undo_cwnd = (void *)wvegas_undo,
	.flags = NON_RESTRICTED, .name = "fl_wvegas",
};
