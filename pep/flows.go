package pep

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"

	"farlink/pep/intercept"
	"farlink/pep/relay"
)

// Split is a split connection.
type Split struct {
	intercept.Ends
	FromLAN bool
	Since   time.Time

	flow               uint64 // when its SYN came, by which the interception knows it
	clientCC, serverCC string
	relay              relay.Relay
}

// flows is the table of split connections.
type flows struct {
	mu      sync.Mutex
	entries map[intercept.Ends]*Split
}

func (f *flows) add(s *Split) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries[s.Ends] = s
}

// remove takes s out, unless another connection of the same ends has taken
// its place.
func (f *flows) remove(s *Split) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries[s.Ends] == s {
		delete(f.entries, s.Ends)
	}
}

func (f *flows) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.entries)
}

func (f *flows) list() []*Split {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*Split, 0, len(f.entries))
	for _, s := range f.entries {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Split) int {
		return cmp.Or(a.Since.Compare(b.Since), a.Client.Compare(b.Client), a.Server.Compare(b.Server))
	})
	return all
}

// reset ends every split connection with a reset.
func (f *flows) reset() {
	for _, s := range f.list() {
		s.relay.Abort()
	}
}

// Flow is what is shown of a split connection.
type Flow struct {
	Client    string    `json:"client"`
	Server    string    `json:"server"`
	From      string    `json:"from"` // "lan" or "wan": where the client is
	Since     time.Time `json:"since"`
	State     string    `json:"state"` // open, half_closed_up, half_closed_down
	UpBytes   uint64    `json:"up_bytes"`
	DownBytes uint64    `json:"down_bytes"`
	ToClient  LegState  `json:"to_client"`
	ToServer  LegState  `json:"to_server"`
}

// LegState is TCP_INFO of a leg, in its users' units.
type LegState struct {
	Congestion    string  `json:"congestion"`
	State         string  `json:"state"`
	RTTms         float64 `json:"rtt_ms"`
	Cwnd          uint32  `json:"cwnd_packets"`
	MSS           uint32  `json:"mss_bytes"`
	Retransmits   uint32  `json:"retransmits"`
	DeliveryBps   float64 `json:"delivery_bps"`
	PacingBps     float64 `json:"pacing_bps"`
	UnackedPkts   uint32  `json:"unacked_packets"`
	NotSentBytes  uint32  `json:"not_sent_bytes"`
	MinRTTms      float64 `json:"min_rtt_ms"`
	WindowLimited bool    `json:"receive_window_limited"`
}

// Flows lists split connections, oldest first: most of them from the offset
// on, and how many there are.
func (p *Proxy) Flows(offset, most int) (page []Flow, total int) {
	all := p.flows.list()
	total = len(all)
	all = all[min(offset, total):]
	for _, s := range all[:min(most, len(all))] {
		page = append(page, s.show())
	}
	return page, total
}

func (s *Split) show() Flow {
	f := Flow{
		Client: s.Client.String(), Server: s.Server.String(), From: "wan", Since: s.Since, State: "open",
		UpBytes: s.relay.Up.Bytes(), DownBytes: s.relay.Down.Bytes(),
		ToClient: legState(s.relay.Client, s.clientCC), ToServer: legState(s.relay.Server, s.serverCC),
	}
	if s.FromLAN {
		f.From = "lan"
	}
	if s.relay.Up.Done() {
		f.State = "half_closed_up"
	} else if s.relay.Down.Done() {
		f.State = "half_closed_down"
	}
	return f
}

// tcpStates are the names of include/net/tcp_states.h.
var tcpStates = []string{"", "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close", "close_wait", "last_ack", "listen", "closing"}

func legState(c *net.TCPConn, congestion string) LegState {
	l := LegState{Congestion: congestion, State: "close"}
	i := relay.Info(c)
	if i == nil {
		return l
	}
	if int(i.State) < len(tcpStates) {
		l.State = tcpStates[i.State]
	}
	l.RTTms, l.MinRTTms = float64(i.Rtt)/1e3, float64(i.Min_rtt)/1e3
	l.Cwnd, l.MSS, l.Retransmits = i.Snd_cwnd, i.Snd_mss, i.Total_retrans
	l.DeliveryBps, l.PacingBps = float64(i.Delivery_rate)*8, float64(i.Pacing_rate)*8
	l.UnackedPkts, l.NotSentBytes = i.Unacked, i.Notsent_bytes
	l.WindowLimited = i.Rwnd_limited > 0
	return l
}
