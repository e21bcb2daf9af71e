package schedule

import (
	"container/heap"
	"math"
	"testing"

	"farlink/emulator/link"
	"farlink/pep/cwnd"
)

// carrier is a path of the simulator: a rate, a delay each way, a queue that
// drops what does not fit.
type carrier struct {
	rate  link.Rate
	delay link.Duration // one way
	queue link.Duration // room, as time at rate
	bbr   bool          // a window of two bandwidth-delay products, no threshold
}

const simMSS = 1448

// simPath is a carrier in use.
type simPath struct {
	carrier
	flow      *cwnd.Flow
	srtt, dev link.Duration
	inflight  int
	freeAt    link.Time
	recover   link.Time // losses of what was sent before are one event
	again     []int     // lost here, to be sent here again
	waiting   []int     // in the socket: its window is closed
	copied    int       // Redundant's pointer
	rateSeen  float64   // bytes per second
	lastAck   link.Time
}

type simEvent struct {
	at    link.Time
	kind  uint8 // 0 arrives, 1 acknowledged, 2 found lost, 3 pacing lets the next one go
	path  int
	chunk int
	sent  link.Time
	una   int
}

type simEvents []simEvent

func (h simEvents) Len() int           { return len(h) }
func (h simEvents) Less(i, j int) bool { return h[i].at < h[j].at }
func (h simEvents) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *simEvents) Push(x any)        { *h = append(*h, x.(simEvent)) }
func (h *simEvents) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// sim is a bulk transfer over paths; all chunks are one packet.
type sim struct {
	now        link.Time
	events     simEvents
	paths      []*simPath
	scheduler  Scheduler
	window     int // packets
	next, una  int // sender: next new chunk, least unacknowledged
	rcvd       map[int]bool
	cum        int // receiver: all below are there
	late       int // chunks that came out of order
	perPath    []int
	reinjected uint64
	lastHead   int
	snapshot   Snapshot
}

func newSim(s Scheduler, window int, carriers ...carrier) *sim {
	m := &sim{scheduler: s, window: window, rcvd: map[int]bool{}, perPath: make([]int, len(carriers)), lastHead: -1}
	for _, c := range carriers {
		p := &simPath{carrier: c, flow: cwnd.NewFlow(2 * c.delay), srtt: 2 * c.delay, dev: c.delay / 8}
		if c.bbr {
			p.flow.Cwnd = 2 * float64(c.rate) / 8 / simMSS * (2 * c.delay).Seconds()
		}
		m.paths = append(m.paths, p)
	}
	return m
}

// run returns the goodput in bits per second over d, the first quarter not
// counted.
func (m *sim) run(d link.Duration) float64 {
	begun, from := -1, link.Time(d/4)
	m.pump()
	for len(m.events) > 0 && m.now < link.Time(d) {
		e := heap.Pop(&m.events).(simEvent)
		m.now = e.at
		if begun < 0 && m.now >= from {
			begun = m.cum
		}
		m.happen(e)
		m.pump()
	}
	return float64(m.cum-max(begun, 0)) * simMSS * 8 / (link.Duration(d) - link.Duration(from)).Seconds()
}

func (m *sim) happen(e simEvent) {
	p := m.paths[e.path]
	switch e.kind {
	case 0:
		if e.chunk > m.cum {
			m.late++
		}
		if e.chunk >= m.cum {
			m.rcvd[e.chunk] = true
		}
		for m.rcvd[m.cum] {
			delete(m.rcvd, m.cum)
			m.cum++
		}
		heap.Push(&m.events, simEvent{at: m.now + link.Time(p.delay), kind: 1, path: e.path, sent: e.sent, una: m.cum})
	case 1:
		p.inflight--
		m.una = max(m.una, e.una)
		m.acked(p, link.Duration(m.now-e.sent))
	case 2:
		p.inflight--
		p.again = append(p.again, e.chunk)
		if e.sent > p.recover && !p.bbr {
			cwnd.Reno{}.Lost(p.flow)
			p.recover = m.now
		}
	}
}

func (m *sim) acked(p *simPath, rtt link.Duration) {
	p.dev += (max(rtt-p.srtt, p.srtt-rtt) - p.dev) / 4
	p.srtt += (rtt - p.srtt) / 8
	if gap := (m.now - p.lastAck); gap > 0 {
		seen := simMSS / link.Duration(gap).Seconds()
		p.rateSeen += (math.Min(seen, float64(p.rate)/8) - p.rateSeen) / 16
	}
	p.lastAck = m.now
	if !p.bbr && p.inflight+1 >= int(p.flow.Cwnd)-1 {
		p.flow.SRTT = p.srtt
		cwnd.Reno{}.Acked(p.flow, 1)
	}
}

// send gives a chunk to a path's socket.
func (m *sim) send(i, chunk int) {
	if p := m.paths[i]; p.inflight >= int(p.flow.Cwnd) {
		p.waiting = append(p.waiting, chunk)
		return
	}
	m.leave(i, chunk)
}

// leave puts a chunk on a path; a queue that is full drops it, which its
// sender finds out a round trip later.
func (m *sim) leave(i, chunk int) {
	p := m.paths[i]
	p.inflight++
	m.perPath[i]++
	start := max(m.now, p.freeAt)
	if !p.bbr && link.Duration(start-m.now) > p.queue {
		heap.Push(&m.events, simEvent{at: start + link.Time(2*p.delay), kind: 2, path: i, chunk: chunk, sent: m.now})
		return
	}
	p.freeAt = start + link.Time(float64(simMSS*8)/float64(p.rate)*1e9)
	heap.Push(&m.events, simEvent{at: p.freeAt + link.Time(p.delay), kind: 0, path: i, chunk: chunk, sent: m.now})
	if p.bbr { // paced at the carrier's rate: the next one waits till then
		heap.Push(&m.events, simEvent{at: p.freeAt, kind: 3, path: i})
	}
}

// pump sends all that may be sent now: what was lost on a path first, then
// what the scheduler says, then the head of a blocked window once more.
func (m *sim) pump() {
	for i, p := range m.paths {
		for len(p.again) > 0 && p.inflight < int(p.flow.Cwnd) {
			if p.again[0] >= m.una {
				m.send(i, p.again[0])
			}
			p.again = p.again[1:]
		}
		for len(p.waiting) > 0 && p.inflight < int(p.flow.Cwnd) {
			m.leave(i, p.waiting[0])
			p.waiting = p.waiting[1:]
		}
	}
	for {
		s := m.look()
		c := m.scheduler.Next(s)
		if c.Path == Wait {
			if s.Left < s.Chunk {
				m.unblock(s)
			}
			return
		}
		p := m.paths[c.Path]
		if c.Copy {
			m.send(c.Path, max(p.copied, m.una))
			p.copied = max(p.copied, m.una) + 1
			continue
		}
		p.copied = m.next + 1
		m.send(c.Path, m.next)
		m.next++
	}
}

func (m *sim) unblock(s *Snapshot) {
	if i := s.least(s.Available); i != Wait && m.lastHead != m.una {
		m.lastHead = m.una
		m.reinjected++
		m.send(i, m.una)
	}
}

func (m *sim) look() *Snapshot {
	m.snapshot.Paths = m.snapshot.Paths[:0]
	for _, p := range m.paths {
		ssthresh := math.MaxInt32
		if !math.IsInf(p.flow.Ssthresh, 1) {
			ssthresh = int(p.flow.Ssthresh)
		}
		m.snapshot.Paths = append(m.snapshot.Paths, Path{
			SRTT: p.srtt, RTTVar: p.dev, MSS: simMSS, Cwnd: int(p.flow.Cwnd), Inflight: p.inflight + len(p.again), NotSent: len(p.waiting) * simMSS,
			Ssthresh: ssthresh, Rate: link.Rate(p.rateSeen * 8), Paced: p.bbr,
			Full:   p.bbr && p.freeAt > m.now,
			Behind: max(m.next-max(p.copied, m.una), 0) * simMSS,
		})
	}
	s := &m.snapshot
	s.Now, s.Chunk, s.Unsent, s.More, s.Window, s.Reinjected = m.now, simMSS, 1<<20, true, m.window*simMSS, m.reinjected
	s.Left = (m.una + m.window - m.next) * simMSS
	return s
}

var (
	skt = carrier{rate: 15_940_000, delay: 12900 * link.Microsecond, queue: 100 * link.Millisecond}
	kt  = carrier{rate: 38_170_000, delay: 20100 * link.Microsecond, queue: 100 * link.Millisecond}
)

func scheduler(t testing.TB, name string) Scheduler {
	t.Helper()
	s, err := New(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
