package burst

import "farlink/emulator/link"

// Grid is the superframe: frames in time, carriers in frequency, slots on
// each carrier of each frame.
//
//	          frame 0          frame 1
//	carrier 0 ┌──┬──┬──┬──┐   ┌──┬──┬──┬──┐
//	carrier 1 ├──┼──┼──┼──┤   ├──┼──┼──┼──┤
//	          └──┴──┴──┴──┘   └──┴──┴──┴──┘
//
// Slots are numbered frame first, then along a carrier, then by carrier: a
// terminal that has consecutive numbers has them spread over the frames, and
// within a frame, because a run that ends at the edge of a carrier goes on at
// the beginning of the next (McNaughton's wrap-around rule, 1959), it never
// has two slots at one time as long as it has at most frames × slots.
type Grid struct {
	superframe link.Duration
	frames     int
	carriers   int
	at         []link.Duration // start of each slot of a frame; one more for the end of the last
}

// NewGrid lays out a superframe for carriers of rate baud and slots of the
// given number of symbols.
func NewGrid(superframe link.Duration, frames, carriers, rate, symbols int) Grid {
	g := Grid{superframe: superframe, frames: frames, carriers: carriers}
	n := link.Ratio(uint64(superframe)/uint64(frames), uint64(rate), uint64(symbols)*1e9)
	for s := range n + 1 {
		g.at = append(g.at, link.Duration(link.Ratio(uint64(s)*uint64(symbols), 1e9, uint64(rate))))
	}
	return g
}

// Slots is how many slots a carrier has in a frame.
func (g *Grid) Slots() int { return len(g.at) - 1 }

// Total is how many slots the superframe has.
func (g *Grid) Total() int { return g.frames * g.carriers * g.Slots() }

// Limit is how many slots one terminal can use.
func (g *Grid) Limit() int { return g.frames * g.Slots() }

// Plan is a terminal's slots in one superframe, in order of time.
type Plan struct {
	begin        link.Time // of the superframe
	first, count int       // consecutive slot numbers
	frame        int
	base         link.Time // of the frame
	slot, run    int       // the present run: next slot, slots left
	slot2, run2  int       // the frame's second run
	Left         int       // slots left in all
}

// Plan returns the plan of count slots from number first on, of the
// superframe that begins at begin.
func (g *Grid) Plan(begin link.Time, first, count int) Plan {
	p := Plan{begin: begin, first: first, count: count, Left: count, frame: -1}
	g.seek(&p)
	return p
}

// seek goes to the next frame in which the plan has slots.
func (g *Grid) seek(p *Plan) {
	for p.Left > 0 && p.run == 0 {
		p.frame++
		// The numbers n in [first, first+count) with n mod frames = frame
		// have indices n / frames in [lo, hi).
		lo := (p.first - p.frame + g.frames - 1) / g.frames
		hi := (p.first + p.count - p.frame + g.frames - 1) / g.frames
		if hi <= lo {
			continue
		}
		p.base = p.begin.Add(g.superframe * link.Duration(p.frame) / link.Duration(g.frames))
		n := g.Slots()
		edge := (lo/n + 1) * n // where the next carrier begins
		p.slot, p.run = lo%n, hi-lo
		if hi > edge {
			p.slot2, p.run2 = p.slot, edge-lo
			p.slot, p.run = 0, hi-edge
		}
	}
}

// Next returns when the plan's next slot begins and ends; there must be one.
func (g *Grid) Next(p *Plan) (begin, end link.Time) {
	return p.base.Add(g.at[p.slot]), p.base.Add(g.at[p.slot+1])
}

// Ahead returns when the slot ends that is so many behind the next one, or
// the last of the run that goes on without a break.
func (g *Grid) Ahead(p *Plan, slots int) link.Time {
	return p.base.Add(g.at[p.slot+min(slots, p.run-1)+1])
}

// Step leaves the next slot behind.
func (g *Grid) Step(p *Plan) {
	p.slot++
	p.run--
	p.Left--
	if p.run == 0 {
		p.slot, p.run, p.run2 = p.slot2, p.run2, 0
		if p.run == 0 {
			g.seek(p)
		}
	}
}
