/* What a frame is: a TCP segment, an ICMP error about one, or neither. */
#pragma once
#include "words.h"

enum kind { OTHER, SEGMENT, QUOTED };

struct segment {
	struct tuple tuple;
	__be32 source[4], target[4];
	__be16 source_port, target_port;
	__u32 source_is_a;
	__u32 transport; /* offset of the TCP header */
	__u32 length;    /* of the TCP payload */
	__u32 quoting;   /* offset of the ICMP header whose error quotes it */
	__be32 sequence;
	__u8 v6, tos, hops, syn, ack, rst, mptcp, fastopen;
	__u8 options; /* of IPv4, or a signature: crosses */
	__u8 inner; /* a tag stands in the frame, behind the one beside it */
	struct tag tag;
};

static __always_inline int precedes(const __be32 *x, const __be32 *y, __be16 p, __be16 q)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if (x[i] < y[i])
			return 1;
		if (x[i] > y[i])
			return 0;
	}
	return p < q;
}

static __always_inline void make_tuple(struct segment *s)
{
	s->source_is_a = precedes(s->source, s->target, s->source_port, s->target_port);
	if (s->source_is_a) {
		__builtin_memcpy(s->tuple.a, s->source, 16);
		__builtin_memcpy(s->tuple.b, s->target, 16);
		s->tuple.a_port = s->source_port;
		s->tuple.b_port = s->target_port;
	} else {
		__builtin_memcpy(s->tuple.a, s->target, 16);
		__builtin_memcpy(s->tuple.b, s->source, 16);
		s->tuple.a_port = s->target_port;
		s->tuple.b_port = s->source_port;
	}
}

/* Options that decide whether a SYN is split: MPTCP (30), Fast Open (34), and
 * signatures, which nobody can give in an end's place: MD5 (19), TCP-AO (29). */
static __always_inline void scan_options(struct __sk_buff *skb, struct segment *s, __u32 end)
{
	__u32 at = s->transport + sizeof(struct tcphdr);
	for (int i = 0; i < 40; i++) {
		__u8 option[2];
		if (at + 1 >= end || bpf_skb_load_bytes(skb, at, option, 2))
			return;
		if (option[0] == 0)
			return;
		if (option[0] == 1) {
			at++;
			continue;
		}
		if (option[0] == 30)
			s->mptcp = 1;
		if (option[0] == 34)
			s->fastopen = 1;
		if (option[0] == 19 || option[0] == 29)
			s->options = 1;
		if (option[1] < 2)
			return;
		at += option[1];
	}
}

static __always_inline enum kind parse_tcp(struct __sk_buff *skb, struct segment *s, __u32 total)
{
	struct tcphdr tcp;
	if (bpf_skb_load_bytes(skb, s->transport, &tcp, sizeof(tcp)))
		return OTHER;
	s->source_port = tcp.source;
	s->target_port = tcp.dest;
	s->sequence = tcp.seq;
	s->syn = tcp.syn;
	s->ack = tcp.ack;
	s->rst = tcp.rst;
	s->length = total > tcp.doff * 4 ? total - tcp.doff * 4 : 0;
	make_tuple(s);
	if (s->syn && !s->ack)
		scan_options(skb, s, s->transport + tcp.doff * 4);
	return SEGMENT;
}

/* The header of both ICMPs; their errors are these types (RFC 792, 4443). */
struct icmp {
	__u8 type, code;
	__be16 sum;
	__be32 rest;
};
enum { UNREACHABLE4 = 3, EXCEEDED4 = 11, UNREACHABLE6 = 1, EXCEEDED6 = 3 };

/* As much of a TCP header as every ICMP error quotes. */
struct quoted {
	__be16 source, target;
	__be32 sequence;
};

/* The TCP header that an ICMP error quotes; the packet quoted went the other
 * way, which the tuple does not mind. */
static __always_inline enum kind quote4(struct __sk_buff *skb, struct segment *s, __u32 at)
{
	struct icmp icmp;
	struct iphdr ip;
	struct quoted q;
	s->quoting = at;
	if (bpf_skb_load_bytes(skb, at, &icmp, sizeof(icmp)))
		return OTHER;
	if (icmp.type != UNREACHABLE4 && icmp.type != EXCEEDED4)
		return OTHER;
	at += sizeof(icmp);
	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.protocol != IPPROTO_TCP)
		return OTHER;
	s->transport = at + ip.ihl * 4;
	if (bpf_skb_load_bytes(skb, s->transport, &q, sizeof(q)))
		return OTHER;
	s->source[0] = ip.saddr;
	s->target[0] = ip.daddr;
	s->source_port = q.source;
	s->target_port = q.target;
	s->sequence = q.sequence;
	make_tuple(s);
	return QUOTED;
}

static __always_inline enum kind quote6(struct __sk_buff *skb, struct segment *s, __u32 at)
{
	struct icmp icmp;
	struct ipv6hdr ip;
	struct quoted q;
	s->quoting = at;
	if (bpf_skb_load_bytes(skb, at, &icmp, sizeof(icmp)))
		return OTHER;
	if (icmp.type < UNREACHABLE6 || icmp.type > EXCEEDED6)
		return OTHER;
	at += sizeof(icmp);
	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.nexthdr != IPPROTO_TCP)
		return OTHER;
	s->transport = at + sizeof(ip);
	if (bpf_skb_load_bytes(skb, s->transport, &q, sizeof(q)))
		return OTHER;
	__builtin_memcpy(s->source, &ip.saddr, 16);
	__builtin_memcpy(s->target, &ip.daddr, 16);
	s->source_port = q.source;
	s->target_port = q.target;
	s->sequence = q.sequence;
	make_tuple(s);
	return QUOTED;
}

static __always_inline enum kind parse4(struct __sk_buff *skb, struct segment *s, __u32 at)
{
	struct iphdr ip;
	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.ihl < 5)
		return OTHER;
	if (ip.frag_off & bpf_htons(0x3fff)) /* MF, or an offset */
		return OTHER;
	__u32 header = ip.ihl * 4;
	if (ip.protocol == IPPROTO_ICMP)
		return quote4(skb, s, at + header);
	if (ip.protocol != IPPROTO_TCP || bpf_ntohs(ip.tot_len) < header)
		return OTHER;
	s->transport = at + header;
	s->tos = ip.tos;
	s->hops = ip.ttl;
	s->options = ip.ihl > 5;
	s->source[0] = ip.saddr;
	s->target[0] = ip.daddr;
	return parse_tcp(skb, s, bpf_ntohs(ip.tot_len) - header);
}

static __always_inline enum kind parse6(struct __sk_buff *skb, struct segment *s, __u32 at)
{
	struct ipv6hdr ip;
	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)))
		return OTHER;
	s->v6 = 1;
	if (ip.nexthdr == IPPROTO_ICMPV6)
		return quote6(skb, s, at + sizeof(ip));
	if (ip.nexthdr != IPPROTO_TCP) /* extension headers pass unsplit */
		return OTHER;
	s->transport = at + sizeof(ip);
	s->tos = ip.priority << 4 | ip.flow_lbl[0] >> 4;
	s->hops = ip.hop_limit;
	__builtin_memcpy(s->source, &ip.saddr, 16);
	__builtin_memcpy(s->target, &ip.daddr, 16);
	return parse_tcp(skb, s, bpf_ntohs(ip.payload_len));
}

/* The outermost tag stands beside the frame (skb->vlan_tci); one more may
 * stand in it. */
static __always_inline enum kind parse(struct __sk_buff *skb, struct segment *s)
{
	__be16 proto;
	__u32 at = ETH_HLEN;
	if (bpf_skb_load_bytes(skb, 12, &proto, 2))
		return OTHER;
	if (proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD)) {
		struct {
			__be16 tci, proto;
		} tag;
		if (bpf_skb_load_bytes(skb, at, &tag, sizeof(tag)))
			return OTHER;
		s->inner = 1;
		s->tag.proto = proto;
		s->tag.tci = bpf_ntohs(tag.tci);
		proto = tag.proto;
		at += 4;
	}
	if (proto == bpf_htons(ETH_P_IP))
		return parse4(skb, s, at);
	if (proto == bpf_htons(ETH_P_IPV6))
		return parse6(skb, s, at);
	return OTHER;
}
