//go:build ignore
/* What comes in for a socket of this namespace, whatever its address, gets a
 * mark by which it is routed to it; so does a SYN for a port that is taken.
 * Everything else goes its way. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

#define MARK 0x0c000001 /* as in mine.go */
#define TCP_LISTEN 10

/* Ports whose SYNs are taken, in network order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, __u8);
} taken SEC(".maps");

static __always_inline int marked(struct __sk_buff *skb, struct bpf_sock_tuple *t, __u32 size, int at, __be16 port)
{
	struct bpf_sock *sk;
	struct tcphdr tcp;
	int mine = 0;

	if (bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		return 0;
	sk = bpf_skc_lookup_tcp(skb, t, size, BPF_F_CURRENT_NETNS, 0);
	if (sk) {
		/* a listener takes what is in the map, and nothing else */
		mine = sk->state != TCP_LISTEN;
		bpf_sk_release(sk);
	}
	return mine || (tcp.syn && !tcp.ack && bpf_map_lookup_elem(&taken, &port));
}

static __always_inline int ipv4(struct __sk_buff *skb)
{
	struct bpf_sock_tuple t = {};
	struct iphdr ip;
	int at = ETH_HLEN;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.protocol != IPPROTO_TCP || ip.frag_off & bpf_htons(0x3fff))
		return 0;
	at += ip.ihl * 4;
	t.ipv4.saddr = ip.saddr;
	t.ipv4.daddr = ip.daddr;
	if (bpf_skb_load_bytes(skb, at, &t.ipv4.sport, 4))
		return 0;
	return marked(skb, &t, sizeof(t.ipv4), at, t.ipv4.dport);
}

static __always_inline int ipv6(struct __sk_buff *skb)
{
	struct bpf_sock_tuple t = {};
	struct ipv6hdr ip;
	int at = ETH_HLEN;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.nexthdr != IPPROTO_TCP)
		return 0;
	at += sizeof(ip);
	__builtin_memcpy(t.ipv6.saddr, &ip.saddr, 32);
	if (bpf_skb_load_bytes(skb, at, &t.ipv6.sport, 4))
		return 0;
	return marked(skb, &t, sizeof(t.ipv6), at, t.ipv6.dport);
}

SEC("tc")
int mine_in(struct __sk_buff *skb)
{
	int is = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		is = ipv4(skb);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		is = ipv6(skb);
	if (is)
		skb->mark = MARK;
	return TC_ACT_UNSPEC; /* the next program, or the stack */
}
