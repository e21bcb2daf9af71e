/* The phases of a flow that resumes, as in pep/cwnd/resume.go: pure. */
#pragma once
#include "kernel.h"

#define INITIAL 10			/* packets: RFC 6928 */
#define NO_THRESHOLD 0x7fffffff

enum phase { RECONNAISSANCE, UNVALIDATED, VALIDATING, RETREAT, NORMAL };
enum event { ROUND, ACKED, LOST };

/* A flow as the law sees it, and a step of it for a test. Packets. */
struct jump {
	__u32 phase, cwnd, ssthresh;
	__u32 pipe, ahead, mark;
	__u32 saved, saved_rtt_us, rtt_us; /* saved is 0 when it is too old */
	__u32 event, count, inflight;
	__u32 below; /* the law below answers the loss */
};

static __always_inline void first_round(struct jump *r)
{
	__u32 to = r->saved / 2;
	r->phase = NORMAL;
	if (r->rtt_us < r->saved_rtt_us / 2 || r->rtt_us > 10ULL * r->saved_rtt_us || to <= r->cwnd)
		return;
	r->phase = UNVALIDATED;
	r->pipe = r->ahead = r->inflight;
	r->cwnd = to;
}

static __always_inline __u32 halved(const struct jump *r, __u32 least) { return r->pipe / 2 > least ? r->pipe / 2 : least; }

/* Books acknowledged packets; ends the phase with the last that was in flight
 * when it began. */
static __always_inline void booked(struct jump *r, __u32 n)
{
	r->mark -= n < r->mark ? n : r->mark;
	if (r->mark)
		return;
	r->ssthresh = r->phase == RETREAT ? halved(r, 2) : NO_THRESHOLD;
	r->phase = NORMAL;
}

static __always_inline void acked(struct jump *r)
{
	__u32 n = r->count, flight = r->inflight + n;
	if (r->phase == VALIDATING || r->phase == RETREAT) {
		r->pipe += n;
		booked(r, n);
	}
	if (r->phase != UNVALIDATED)
		return;
	if (n <= r->ahead) {
		r->ahead -= n;
		return;
	}
	r->pipe += n - r->ahead;
	r->ahead = 0;
	r->phase = VALIDATING;
	r->mark = r->inflight;
	if (flight < r->cwnd)
		r->cwnd = flight;
	if (r->cwnd < r->pipe)
		r->cwnd = r->pipe;
	booked(r, 0);
}

static __always_inline void lost(struct jump *r)
{
	r->below = 0;
	if (r->phase == UNVALIDATED || r->phase == VALIDATING) {
		r->phase = RETREAT;
		r->mark = r->inflight;
		r->cwnd = r->ssthresh = halved(r, INITIAL / 2);
		return;
	}
	if (r->phase == RETREAT)
		return;
	r->phase = NORMAL;
	r->below = 1;
}
