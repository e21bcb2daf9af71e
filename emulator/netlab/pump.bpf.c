//go:build ignore

// SPDX-License-Identifier: GPL-2.0
/* pump hands frames to the driver of an interface at a steady rate. It is run
 * over and over on live frames: each is redirected when it is due, and
 * dropped when it is too early. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* How many frames leave together: the other end is woken once for them. */
#define TRAIN 32
/* How many frames it makes up for after a pause; what is more is forgone. */
#define BACKLOG 1024

struct flow {
	__u64 rate; /* frames per second */
	__u64 most; /* frames after which it ends */
	__u64 begun; /* CLOCK_MONOTONIC ns of the first run; 0 before */
	__u64 last; /* of the last train */
	__u64 sent; /* frames */
	__u64 until; /* which this train reaches */
	__u64 forgone; /* frames */
	__u32 device; /* index of the interface */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

/* train begins the next train when it is due. */
static __always_inline int train(struct flow *f, __u64 now)
{
	__u64 due;

	if (!f->begun)
		f->begun = now;
	due = (now - f->begun) * f->rate / 1000000000 - f->forgone;
	if (f->rate < 1000000000 && due > f->sent + BACKLOG) {
		f->forgone += due - f->sent - BACKLOG;
		due = f->sent + BACKLOG;
	}
	if (due > f->most)
		due = f->most;
	else if (due < f->sent + TRAIN)
		return 0;
	if (due == f->sent)
		return 0;
	f->until = due;
	f->last = now;
	return 1;
}

SEC("xdp")
int pump(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct flow *f = bpf_map_lookup_elem(&flows, &zero);

	if (!f)
		return XDP_ABORTED;
	if (f->sent == f->until && !train(f, bpf_ktime_get_ns()))
		return XDP_DROP;
	f->sent++;
	return bpf_redirect(f->device, 0);
}
