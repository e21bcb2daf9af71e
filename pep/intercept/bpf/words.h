/* The words that the programs of intercept share with user space. */
#pragma once
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* Marks, above the low byte that names the port. */
#define MARK_KIND 0xff000000
#define MARK_PASSED 0x0b000000   /* crosses as it came */
#define MARK_REPLAYED 0x0e000000 /* a held SYN on its way in again */

#define RULES 64
#define TAGS 2
#define TIMELY 2000000000ULL /* ns: a proxy that has not beaten for so long hangs */

/* A connection whatever the direction of the packet: a < b. */
struct tuple {
	__be32 a[4], b[4];
	__be16 a_port, b_port;
};

enum state {
	HELD = 1, /* the SYN waits for the far side's answer */
	OPEN,     /* the SYN may reach the listener */
	REFUSED,  /* the SYN is answered by a reset */
};

struct tag {
	__be16 proto;
	__u16 tci;
};

/* What the frames of one end look like, so that ours in its place look alike.
 * Three words. */
struct face {
	__u8 mac[2 * ETH_ALEN]; /* to, from: as in the frame */
	struct tag tags[TAGS];	/* outer first; proto 0 is none */
	__u8 tos;
	__u8 hops; /* 0 is not known */
	__u16 pad;
};

enum end { CLIENT, SERVER };

/* A split connection. */
struct flow {
	struct face from[2]; /* of each end, as last seen */
	__u64 since;	     /* CLOCK_MONOTONIC ns of the SYN */
	__u32 client_port;   /* ifindex of the port the SYN came by */
	__u32 state;
	__u32 rule;
	__be32 sequence; /* of the client's SYN */
};

struct port {
	__u32 peer; /* ifindex of the other port */
	__u32 mark;
	__u32 splits; /* SYNs that come by this port may be split */
	__u32 across; /* the other port is a veth into another namespace */
};

/* Which SYNs a rule is for. Fields that do not matter are zero, with their
 * mask or range. */
struct rule {
	__be32 source[4], source_mask[4];
	__be32 target[4], target_mask[4];
	__u16 first_port, last_port; /* of the server; 0,0 is any */
	__u8 mac[ETH_ALEN], by_mac, family; /* client's MAC; family 4, 6 or 0 */
	__u8 dscp, by_dscp, mptcp;          /* mptcp: 0 any, 1 only, 2 not */
	__u8 action;
	__u32 pad;
};

enum action { PASS, SPLIT_DEFERRED, SPLIT_EARLY };

/* One of two sets: the one not in force is written, and then put in force. */
struct orders {
	__u32 enabled;
	__u32 rules;	  /* how many there are in its half of the rule table */
	__u32 fallback;	  /* action when no rule matches */
	__u32 most;	  /* split connections at the same time; beyond it SYNs pass */
	__u32 listener;	  /* port of the listeners on the loopback */
	__u32 patience_s; /* how long a SYN may be held */
};

/* What the proxy says of itself, again and again. */
struct live {
	__u64 beat; /* CLOCK_MONOTONIC ns */
	__u32 open; /* split connections */
	__u32 set;  /* 0 or 1: which orders are in force */
};

struct held {
	struct tuple tuple;
	__u32 ifindex, length, client_is_a, rule;
	__u64 since; /* of the flow */
	__u8 frame[256];
};

/* Named here so that its layout is in the object's type information. */
struct held *held_layout __attribute__((unused));

enum count { PASSED, LOCAL, SPLIT, SENT, DROPPED, REPLAYED, ERRORS, NO_LISTENER, OVER_LIMIT, FASTOPEN, COUNTS };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 262144);
	__type(key, struct tuple);
	__type(value, struct flow);
} flows SEC(".maps");

/* Flows whose SYN is answered at once, until their client has completed the
 * handshake: apart, so that a flood of SYNs drives none out that stand. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct tuple);
	__type(value, struct flow);
} opening SEC(".maps");

static __always_inline struct flow *known(const struct tuple *t)
{
	struct flow *f = bpf_map_lookup_elem(&flows, t);
	return f ? f : bpf_map_lookup_elem(&opening, t);
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * RULES);
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct orders);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct live);
} alive SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} listeners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} syns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &what);
	if (n)
		(*n)++;
}
