//go:build ignore
/* CUBIC that resumes: Careful Resume (RFC 9959), see pep/cwnd/resume.go. What
 * a flow used of its link is saved; a later one, once its first round has
 * shown that the path is the same, jumps to half of it. */
#include "jump.h"

char LICENSE[] SEC("license") = "GPL";

#define LIFETIME (3600ULL * 1000000000)	/* ns: how long what was saved is trusted */
#define WORTH 20			/* packets: less is no use to anyone */
#define CA_OPEN 0
#define SK_PACING_NEEDED 1

SEC("syscall")
int resume_step(struct jump *s)
{
	struct jump r = *s;
	if (r.event == ROUND)
		first_round(&r);
	else if (r.event == ACKED)
		acked(&r);
	else
		lost(&r);
	*s = r;
	return 0;
}

/* ---- binding to a socket ---- */

struct sock___resume {
	__u32 sk_pacing_status;
} CORE;

struct tcp_sock___resume {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd, snd_ssthresh, srtt_us, snd_una, snd_nxt, write_seq, mss_cache;
	__u32 packets_out, retrans_out, sacked_out, lost_out;
	struct minmax rtt_min;
} CORE;

/* What is saved of a link in one way, and what became of jumps. */
struct saved {
	__u64 bytes; /* used and acknowledged within a round */
	__u64 at;    /* CLOCK_MONOTONIC ns; 0 is never */
	__u32 rtt_us;
	__u32 jumps, validated, retreats;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512); /* two for each link: down, up */
	__type(key, __u32);
	__type(value, struct saved);
} paths SEC(".maps");

/* A flow; column is written by user space before the control is chosen. */
struct private {
	__u32 column;
	struct jump r;
	__u32 seen;	 /* packets acknowledged in all, as long as it matters */
	__u32 round_end; /* sequence number */
	__u32 round;	 /* packets acknowledged in this round */
	__u32 lossy;	 /* something was lost in this round */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct private);
} resuming SEC(".maps");

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

static __always_inline struct private *private_of(struct sock *sk) { return bpf_sk_storage_get(&resuming, sk, 0, 0); }

static __always_inline struct tcp_sock___resume *tcp(struct sock *sk) { return (struct tcp_sock___resume *)sk; }

static __always_inline __u32 in_flight(struct sock *sk)
{
	struct tcp_sock___resume *tp = tcp(sk);
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static __always_inline __u32 round_trip(struct sock *sk)
{
	__u32 rtt = tcp(sk)->rtt_min.s[0].v;
	return rtt == ~0U || !rtt ? tcp(sk)->srtt_us >> 3 : rtt;
}

/* Whether more waits to be sent than the window lets out. */
static __always_inline int waiting(struct sock *sk) { return tcp(sk)->write_seq - tcp(sk)->snd_nxt >= tcp(sk)->mss_cache; }

/* Reconnaissance: until the initial window is acknowledged. */
static __always_inline void explore(struct sock *sk, struct private *p, __u32 n)
{
	struct saved *s = bpf_map_lookup_elem(&paths, &p->column);
	struct jump *r = &p->r;
	p->seen += n;
	if (!s || p->seen < INITIAL || !waiting(sk))
		return;
	__u32 mss = tcp(sk)->mss_cache;
	r->saved = s->at && bpf_ktime_get_ns() - s->at < LIFETIME && mss ? s->bytes / mss : 0;
	r->saved_rtt_us = s->rtt_us;
	r->rtt_us = round_trip(sk);
	r->cwnd = tcp(sk)->snd_cwnd;
	r->inflight = in_flight(sk);
	first_round(r);
	if (r->phase == UNVALIDATED) {
		tcp(sk)->snd_cwnd = r->cwnd;
		__sync_fetch_and_add(&s->jumps, 1);
	}
}

/* Observing: what a round without loss has carried. Less than what is saved
 * says something of the path only while bytes wait. */
static __always_inline void observe(struct sock *sk, struct private *p, __u32 n)
{
	struct tcp_sock___resume *tp = tcp(sk);
	p->round += n;
	if (p->round_end && (__s32)(tp->snd_una - p->round_end) < 0)
		return;
	struct saved *s = bpf_map_lookup_elem(&paths, &p->column);
	__u64 bytes = (__u64)p->round * tp->mss_cache;
	if (s && p->round_end && !p->lossy && p->round >= WORTH && (!s->at || bytes >= s->bytes || waiting(sk))) {
		s->bytes = bytes;
		s->rtt_us = round_trip(sk);
		s->at = bpf_ktime_get_ns();
	}
	p->round = p->lossy = 0;
	p->round_end = tp->snd_nxt;
}

/* What an acknowledgement says of a jump. */
static __always_inline void validate(struct sock *sk, struct private *p, __u32 n)
{
	struct jump *r = &p->r;
	__u32 before = r->phase;
	r->count = n;
	r->inflight = in_flight(sk);
	r->cwnd = tcp(sk)->snd_cwnd;
	acked(r);
	if (before == UNVALIDATED && r->phase != UNVALIDATED)
		tcp(sk)->snd_cwnd = r->cwnd;
	if (r->phase != NORMAL)
		return;
	if (before == RETREAT)
		tcp(sk)->snd_ssthresh = r->ssthresh;
	struct saved *s = bpf_map_lookup_elem(&paths, &p->column);
	if (s && before != RETREAT)
		__sync_fetch_and_add(&s->validated, 1);
}

SEC("struct_ops")
void BPF_PROG(resume_init, struct sock *sk)
{
	struct private *p = private_of(sk);
	if (p) {
		__u32 column = p->column;
		__builtin_memset(p, 0, sizeof(*p));
		p->column = column;
	}
	cubictcp_init(sk);
	/* A jump is spread over a round trip. */
	if (!((struct sock___resume *)sk)->sk_pacing_status)
		((struct sock___resume *)sk)->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(resume_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct private *p = private_of(sk);
	__u32 n = sample->pkts_acked;
	cubictcp_acked(sk, sample);
	if (!p)
		return;
	if (p->r.phase == RECONNAISSANCE)
		explore(sk, p, n);
	else if (p->r.phase != NORMAL)
		validate(sk, p, n);
	observe(sk, p, n);
}

SEC("struct_ops")
void BPF_PROG(resume_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct private *p = private_of(sk);
	if (!p || p->r.phase == RECONNAISSANCE || p->r.phase == NORMAL)
		cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(resume_ssthresh, struct sock *sk)
{
	struct private *p = private_of(sk);
	if (!p)
		return cubictcp_recalc_ssthresh(sk);
	p->lossy = 1;
	__u32 before = p->r.phase;
	p->r.inflight = in_flight(sk);
	lost(&p->r);
	if (p->r.below)
		return cubictcp_recalc_ssthresh(sk);
	struct saved *s = bpf_map_lookup_elem(&paths, &p->column);
	if (before != RETREAT && s) {
		s->at = 0; /* the path is another by now */
		__sync_fetch_and_add(&s->retreats, 1);
	}
	return p->r.ssthresh;
}

SEC("struct_ops")
void BPF_PROG(resume_state, struct sock *sk, __u8 state)
{
	struct private *p = private_of(sk);
	cubictcp_state(sk, state);
	if (p && state == CA_OPEN && p->r.phase == RETREAT) { /* all is repaired */
		p->r.mark = 0;
		booked(&p->r, 0);
		tcp(sk)->snd_ssthresh = p->r.ssthresh;
	}
}

SEC("struct_ops")
void BPF_PROG(resume_event, struct sock *sk, enum tcp_ca_event event) { cubictcp_cwnd_event(sk, event); }

SEC("struct_ops")
__u32 BPF_PROG(resume_undo, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

SEC(".struct_ops.link")
struct tcp_congestion_ops resume = {
	.init = (void *)resume_init, .pkts_acked = (void *)resume_acked, .cong_avoid = (void *)resume_avoid,
	.ssthresh = (void *)resume_ssthresh, .set_state = (void *)resume_state, .cwnd_event = (void *)resume_event,
	.undo_cwnd = (void *)resume_undo, .flags = NON_RESTRICTED, .name = "fl_resume",
};
