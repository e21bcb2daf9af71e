package dama

import "farlink/emulator/link"

// grid is the superframe: frames in time, carriers in frequency, slots on
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
type grid struct {
	superframe link.Duration
	frames     int
	carriers   int
	at         []link.Duration // start of each slot of a frame; one more for the end of the last
}

// newGrid lays out a superframe for carriers of rate baud and slots of the
// given number of symbols.
func newGrid(superframe link.Duration, frames, carriers, rate, symbols int) grid {
	g := grid{superframe: superframe, frames: frames, carriers: carriers}
	n := muldiv(int64(superframe)/int64(frames), int64(rate), int64(symbols)*1e9)
	for s := range n + 1 {
		g.at = append(g.at, link.Duration(muldiv(s*int64(symbols), 1e9, int64(rate))))
	}
	return g
}

// slots is how many slots a carrier has in a frame.
func (g *grid) slots() int { return len(g.at) - 1 }

// total is how many slots the superframe has.
func (g *grid) total() int { return g.frames * g.carriers * g.slots() }

// limit is how many slots one terminal can use.
func (g *grid) limit() int { return g.frames * g.slots() }

// plan is a terminal's slots in one superframe, in order of time.
type plan struct {
	begin        link.Time // of the superframe
	first, count int       // consecutive slot numbers
	frame        int
	base         link.Time // of the frame
	slot, run    int       // the present run: next slot, slots left
	slot2, run2  int       // the frame's second run
	left         int       // slots left in all
}

// plan returns the plan of count slots from number first on, of the
// superframe that begins at begin.
func (g *grid) plan(begin link.Time, first, count int) plan {
	p := plan{begin: begin, first: first, count: count, left: count, frame: -1}
	g.seek(&p)
	return p
}

// seek goes to the next frame in which the plan has slots.
func (g *grid) seek(p *plan) {
	for p.left > 0 && p.run == 0 {
		p.frame++
		// The numbers n in [first, first+count) with n mod frames = frame
		// have indices n / frames in [lo, hi).
		lo := (p.first - p.frame + g.frames - 1) / g.frames
		hi := (p.first + p.count - p.frame + g.frames - 1) / g.frames
		if hi <= lo {
			continue
		}
		p.base = p.begin.Add(g.superframe * link.Duration(p.frame) / link.Duration(g.frames))
		n := g.slots()
		edge := (lo/n + 1) * n // where the next carrier begins
		p.slot, p.run = lo%n, hi-lo
		if hi > edge {
			p.slot2, p.run2 = p.slot, edge-lo
			p.slot, p.run = 0, hi-edge
		}
	}
}

// next returns when the plan's next slot begins and ends; there must be one.
func (g *grid) next(p *plan) (begin, end link.Time) {
	return p.base.Add(g.at[p.slot]), p.base.Add(g.at[p.slot+1])
}

// step leaves the next slot behind.
func (g *grid) step(p *plan) {
	p.slot++
	p.run--
	p.left--
	if p.run == 0 {
		p.slot, p.run, p.run2 = p.slot2, p.run2, 0
		if p.run == 0 {
			g.seek(p)
		}
	}
}
