package dama

import (
	"fmt"

	"farlink/emulator/dama/burst"
	"farlink/emulator/dama/contention"
	"farlink/emulator/dama/ncc"
	"farlink/emulator/dama/traffic"
	"farlink/emulator/link"
)

// Carrier is the medium: a superframe, the NCC, background terminals, and
// the stations of real traffic.
type Carrier struct {
	cfg    Config
	wave   burst.Waveform
	encap  burst.Encapsulation
	coding ncc.Coding
	grid   burst.Grid
	ncc    ncc.Centre
	access contention.Block
	csc    contention.Block
	draws  struct{ traffic, access, place, load, logon link.Draw }

	latency     int // N: superframes from request to capacity
	uplink      int // U: of it, from request to allocation
	table       int // D: from allocation to capacity
	logonWait   int
	logonWindow int

	terminals []terminal
	stations  []*Station

	tick   uint64        // the next superframe to begin
	next   link.Time     // when it begins
	grants [][]ncc.Grant // by superframe, a ring
	inbox  [][]letter    // by superframe, a ring
	calm   int           // superframes in which nothing changed
	primed bool          // the grants of the first superframes are there

	callers []call // of this superframe
	joiners []int32
	where   []uint16
	ok      []bool

	attempts, collisions int // bursts of contention; those lost
	used                 int // slots granted in the superframe allocated last
}

// NewCarrier returns a carrier with its background terminals. Stations are
// added by Station before the first packet.
func NewCarrier(cfg Config, draw link.Draw) (*Carrier, error) {
	var problem error
	cfg.Check(func(path, got, want string) {
		if problem == nil {
			problem = fmt.Errorf("dama carrier: %s is %s, want %s", path, got, want)
		}
	})
	if problem != nil {
		return nil, problem
	}
	c := &Carrier{cfg: cfg.Complete()}
	c.wave, _ = c.cfg.waveform()
	c.encap, _ = burst.Encapsulate(c.cfg.Encapsulation)
	c.coding, _ = ncc.Code(c.cfg.Coding)
	c.grid = burst.NewGrid(c.cfg.Superframe, c.cfg.Frames, c.cfg.Carriers, c.cfg.SymbolRate, c.wave.Symbols)
	c.build(draw)
	return c, nil
}

// build makes the carrier of its configuration, waveform and grid.
func (c *Carrier) build(draw link.Draw) {
	c.latency, c.table = c.cfg.Latency()
	c.uplink = c.latency - c.table
	c.ncc = ncc.Centre{
		Superframe: c.cfg.Superframe, Slots: c.grid.Total(), Fair: c.cfg.Sharing == "fair",
		Free: c.cfg.FCA, Timeout: c.cfg.RBDCTimeout, Persistence: c.cfg.Persistence,
	}
	c.access = contention.Block{Slots: c.cfg.Access.Slots, Copies: c.cfg.Access.Copies}
	c.csc = contention.Block{Slots: c.cfg.Logon.Slots, Copies: 1}
	c.logonWait = int(c.cfg.Logon.Wait/c.cfg.Superframe) + 1
	c.logonWindow = int(c.cfg.Logon.Window/c.cfg.Superframe) + 1
	c.draws.traffic, c.draws.access = draw.Sub("traffic"), draw.Sub("backoff")
	c.draws.place, c.draws.load, c.draws.logon = draw.Sub("slots"), draw.Sub("load"), draw.Sub("logon")
	c.grants = make([][]ncc.Grant, c.table+1)
	c.inbox = make([][]letter, c.uplink+1)
	for i := range c.cfg.Background {
		b := &c.cfg.Background[i]
		for range b.Count {
			c.background(b)
		}
	}
}

// background adds a simulated terminal.
func (c *Carrier) background(b *Background) {
	t, terms := c.newTerminal(&b.Station)
	t.source = traffic.New(b.model(), c.cfg.Superframe, int64(c.encap.Cost(b.Packet, t.room)))
	peak := b.Station.peak(&c.cfg, &c.encap, c.wave)
	q := b.Station.queue(&c.cfg, peak)
	t.limit = int64(q.Limit.Holds(q.Rate))
	c.add(t, terms)
}

func (c *Carrier) add(t terminal, terms ncc.Terms) {
	c.terminals = append(c.terminals, t)
	c.ncc.Add(terms, t.state == on)
	for i := range c.grants {
		c.grants[i] = append(c.grants[i], ncc.Grant{})
	}
}

// lateness is how far into a run a carrier that nobody has told the time may
// begin as if from the beginning of the run; later it begins where it is told.
const lateness = 60 * link.Second

// advance begins every superframe that is due by t.
func (c *Carrier) advance(t link.Time) {
	if !c.primed && c.tick == 0 && t > link.Time(lateness) {
		c.beginAt(t.Add(-c.cfg.Superframe))
	}
	for c.next <= t {
		// Once every pipeline holds calm only, a superframe is a function
		// of its number, and those nobody sees may be passed over.
		if c.calm > c.latency+maxWindow {
			if k := int64(t.Sub(c.next)/c.cfg.Superframe) - int64(c.table+2); k > 0 {
				c.tick += uint64(k)
				c.next = c.next.Add(link.Duration(k) * c.cfg.Superframe)
			}
		}
		c.step()
	}
}

// step begins superframe c.tick: the last one's bursts and arrivals are
// closed, requests sent, contention resolved, slots of N superframes after
// the requests allocated.
func (c *Carrier) step() {
	n := c.tick
	if !c.primed {
		c.prime()
	}
	grants := c.grants[n%uint64(len(c.grants))]
	c.callers, c.joiners = c.callers[:0], c.joiners[:0]
	calm := true
	for i := range c.terminals {
		t, g := &c.terminals[i], &grants[i]
		if t.station != nil {
			t.station.close()
		} else if n > 0 {
			t.arrive(c.draws.traffic, n-1)
		}
		t.observe(n)
		if t.state != on && !t.mute {
			c.join(t, n)
		}
		if t.state == on && !t.mute {
			c.ask(t, n, g)
			c.rest(t)
		}
		t.hold(n)
		t.take(g.Volume)
		if t.station != nil {
			t.station.begin(c.next, g)
		} else {
			t.backlog = max(0, t.backlog-int64(g.Slots)*int64(t.room))
		}
		calm = calm && t.still() && c.owes(i) == 0
	}
	c.contend(n)
	c.answer(n)
	if c.calm++; !calm {
		c.calm = 0
	}
	c.tick++
	c.next = c.next.Add(c.cfg.Superframe)
}

// owes returns a figure that is 0 when the NCC owes a terminal nothing.
func (c *Carrier) owes(id int) int64 {
	rate, volume := c.ncc.Outstanding(id)
	return rate | volume
}

// prime allocates the first superframes, as the NCC did before the run for
// the terminals that were logged on.
func (c *Carrier) prime() {
	c.primed = true
	for i := range uint64(c.table) {
		c.ncc.Allocate(c.tick+i, c.grants[(c.tick+i)%uint64(len(c.grants))])
	}
}

// answer is the NCC's tick: the letters that have come are booked, and a
// superframe D ahead is allocated.
func (c *Carrier) answer(n uint64) {
	box := &c.inbox[n%uint64(len(c.inbox))]
	for _, l := range *box {
		switch l.Category {
		case logon, logoff:
			c.ncc.Admit(int(l.id), l.Category == logon)
		default:
			c.ncc.Accept(int(l.id), l.Request)
		}
	}
	*box = (*box)[:0]
	row := c.grants[(n+uint64(c.table))%uint64(len(c.grants))]
	c.ncc.Allocate(n+uint64(c.table), row)
	c.used = 0
	for i := range row {
		c.used += int(row[i].Slots)
	}
}

// contend resolves the contention of superframe n: the block of random
// access, then the CSC slots.
func (c *Carrier) contend(n uint64) {
	if len(c.callers) > 0 {
		bursts := 0
		for i := range c.callers {
			bursts += int(c.callers[i].bursts)
		}
		others := 0
		if c.cfg.Access.Load > 0 {
			others = traffic.Poisson(c.draws.load.Float(n), c.cfg.Access.Load*float64(c.access.Slots))
		}
		c.scatter(&c.access, bursts+others)
		b := 0
		for i := range c.callers {
			k := &c.callers[i]
			for j := range int(k.bursts) {
				c.access.Place(c.draws.place.Uint64(index(int(k.id), n, j)), c.at(&c.access, b))
				b++
			}
		}
		for j := range others {
			c.access.Place(c.draws.load.Uint64(index(j+1, n, 1)), c.at(&c.access, b))
			b++
		}
		c.access.Resolve(c.where, c.ok)
		c.outcome()
	}
	if len(c.joiners) > 0 {
		c.scatter(&c.csc, len(c.joiners))
		for b, id := range c.joiners {
			c.csc.Place(c.draws.logon.Uint64(index(int(id), n, 0)), c.at(&c.csc, b))
		}
		c.csc.Resolve(c.where, c.ok)
		c.admit(n)
	}
}

// scatter makes room for so many bursts.
func (c *Carrier) scatter(k *contention.Block, bursts int) {
	for len(c.ok) < bursts {
		c.ok = append(c.ok, false)
	}
	for len(c.where) < bursts*k.Copies {
		c.where = append(c.where, 0)
	}
	c.ok, c.where = c.ok[:bursts], c.where[:bursts*k.Copies]
}

func (c *Carrier) at(k *contention.Block, burst int) []uint16 {
	return c.where[burst*k.Copies : (burst+1)*k.Copies]
}

// outcome delivers what the bursts of calls carried, if all of them got
// through.
func (c *Carrier) outcome() {
	b := 0
	for i := range c.callers {
		k := &c.callers[i]
		through, last := true, uint16(0)
		for range int(k.bursts) {
			through = through && c.ok[b]
			for _, s := range c.at(&c.access, b) {
				last = max(last, s)
			}
			c.attempts++
			if !c.ok[b] {
				c.collisions++
			}
			b++
		}
		if through {
			c.send(k)
		}
		if k.data {
			end := c.next.Add(c.cfg.Superframe * link.Duration(last+1) / link.Duration(c.access.Slots))
			c.terminals[k.id].station.offered(end, through)
		}
	}
}

// admit lets the terminals whose CSC burst got through log on: the NCC knows
// U superframes on, the terminal N.
func (c *Carrier) admit(n uint64) {
	for b, id := range c.joiners {
		c.attempts++
		if !c.ok[b] {
			c.collisions++
			continue
		}
		t := &c.terminals[id]
		t.state, t.due = waiting, n+uint64(c.latency)
		c.post(id, ncc.Request{Category: logon})
	}
}
