/* The few kernel types that the laws touch, by name: CO-RE finds the fields
 * where the running kernel has them. */
#pragma once
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CORE __attribute__((preserve_access_index))

struct sock {
	__u32 sk_mark;
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
} CORE;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_ulp_data;
	__u8 icsk_ca_state : 5, icsk_ca_rest : 3;
	__u64 icsk_ca_priv[13];
} CORE;

struct minmax_sample {
	__u32 t, v;
} CORE;
struct minmax {
	struct minmax_sample s[3];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh, srtt_us;
	__u32 snd_una, snd_nxt, write_seq, mss_cache, packets_out, max_packets_out;
	__u8 is_cwnd_limited : 1, unused : 7;
	bool is_mptcp;
	struct minmax rtt_min;
} CORE;

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
} CORE;

struct rate_sample {
	__u32 acked_sacked;
} CORE;
enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART };

struct tcp_congestion_ops {
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

/* TCP_CONG_NON_RESTRICTED: may be the default of a namespace. */
#define NON_RESTRICTED 1
