//go:build ignore

// SPDX-License-Identifier: GPL-2.0
/* steer decides, for each frame that comes to a port of a pair, whether it
 * goes to the engine (emulate), straight to the other port (bypass) or
 * nowhere (cut). It is pinned and outlives every process: when the engine's
 * socket is gone or its heartbeat is stale, the fallback mode holds. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* As the constants of config.go and counts.go. */
enum mode { EMULATE, BYPASS, CUT };
enum kind { EMULATED, BYPASSED, DROPPED, FELL_BACK, KINDS };

#define PORTS 2
#define QUEUES 64

/* One writer for mode, fallback and patience (the control side), one for
 * each beat (the loop that reads the port). Times are CLOCK_MONOTONIC ns. */
struct config {
	__u32 mode;
	__u32 fallback;
	__u64 patience; /* how old a beat may be */
	__u64 beat[PORTS];
};

struct count {
	__u64 frames;
	__u64 bytes;
};

/* What the test entry takes in place of the clock and the map of sockets. */
struct trial {
	__u64 now;
	__u32 port;
	__u32 connected;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} configs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, PORTS * QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* others[p] is the port that frames from port p leave by. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u32);
} others SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PORTS * KINDS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trial);
} trials SEC(".maps");

static __always_inline void book(struct xdp_md *ctx, __u32 port, enum kind k)
{
	__u32 i = port * KINDS + k;
	struct count *c = bpf_map_lookup_elem(&counts, &i);

	if (!c)
		return;
	c->frames++;
	c->bytes += bpf_xdp_get_buff_len(ctx);
}

/* The arrival goes into 8 bytes in front of the frame, where the engine
 * finds it however late it looks. A driver without metadata leaves none. */
static __always_inline void stamp(struct xdp_md *ctx, __u64 now)
{
	__u64 *m;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*m)))
		return;
	m = (void *)(long)ctx->data_meta;
	if ((void *)(m + 1) <= (void *)(long)ctx->data)
		*m = now;
}

static __always_inline int core(struct xdp_md *ctx, __u32 port, __u32 slot, int connected, __u64 now)
{
	__u32 zero = 0, mode;
	struct config *c = bpf_map_lookup_elem(&configs, &zero);

	if (!c || port >= PORTS)
		return XDP_ABORTED;
	mode = c->mode;
	/* Signed: a beat may be a little newer than this CPU's now. */
	if (mode == EMULATE && (!connected || (__s64)(now - c->beat[port]) > (__s64)c->patience)) {
		mode = c->fallback;
		book(ctx, port, FELL_BACK);
	}
	switch (mode) {
	case EMULATE:
		stamp(ctx, now);
		book(ctx, port, EMULATED);
		return bpf_redirect_map(&sockets, slot, XDP_DROP);
	case BYPASS:
		book(ctx, port, BYPASSED);
		return bpf_redirect_map(&others, port, XDP_DROP);
	}
	book(ctx, port, DROPPED);
	return XDP_DROP;
}

static __always_inline int live(struct xdp_md *ctx, __u32 port)
{
	__u32 queue = ctx->rx_queue_index;
	__u32 slot = port * QUEUES + queue;
	int connected = queue < QUEUES && bpf_map_lookup_elem(&sockets, &slot) != 0;

	return core(ctx, port, slot, connected, bpf_ktime_get_ns());
}

SEC("xdp.frags")
int steer_a(struct xdp_md *ctx)
{
	return live(ctx, 0);
}

SEC("xdp.frags")
int steer_b(struct xdp_md *ctx)
{
	return live(ctx, 1);
}

SEC("xdp.frags")
int steer_trial(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct trial *t = bpf_map_lookup_elem(&trials, &zero);

	if (!t)
		return XDP_ABORTED;
	return core(ctx, t->port, t->port * QUEUES, t->connected, t->now);
}
