package cwnd

import "farlink/emulator/link"

// Advice is what XLayer needs to know of a link's capacity at an instant.
type Advice struct {
	Told  link.Rate     // granted, of late where a frame says little
	Pace  link.Rate     // what flows together are paced by, at the level; 0 is Told
	Carry link.Rate     // of what their windows are the product; 0 is Told
	Level link.Size     // what should wait before the link
	Span  link.Size     // how far from the level the pace goes to its bounds
	Wait  link.Duration // beyond the round trip, for which windows must last
}

// Follower makes advice of what a link tells of its capacity. There are three
// kinds of links.
//
// Where the grant is the link's own and holds, flows are paced by it, and a
// queue of 20 ms keeps the link busy between two looks, less if its buffer
// is small.
//
// Where it changes every few milliseconds (LTE), a single grant says little:
// it is averaged, and flows are paced by the most that may be granted and
// held by the queue.
//
// Where it is granted on demand, by requests that took half a second (DAMA),
// keeping to it would go round in circles: the agent that asks makes a rate
// of what arrives, so a sender that sends as it is granted swings with the
// period of the loop, at 1.5 times the amplitude each time round (an agent
// that predicts asks for twice the arrivals less the requests in flight, and
// the latter mean out over the period). So flows are paced by a rate that
// moves slowly: towards the most that may be granted while less than the level
// waits, towards the grant while more does, which is how a grant cut short by
// others is found. The queue corrects it, softly: its span is longer than the
// loop. And where the agent asks on account of what waits, the level is what
// must wait for a full grant, one loop of it.
type Follower struct {
	told, pace float64 // bit/s
	begun      bool
}

// Levels, spans and time constants.
const (
	frame       = 1514 // bytes
	levelSteady = 20 * link.Millisecond
	levelFramed = 25 * link.Millisecond
	spanDemand  = 800 * link.Millisecond
	riseFramed  = 100 * link.Millisecond
	fallFramed  = 250 * link.Millisecond
	fallDemand  = 4 * link.Second
	riseDemand  = link.Second
	frameMost   = 200 * link.Millisecond // a grant that lasts longer holds
)

// Follow takes what a link tells, dt after it told last; the present grant
// lasts for lasting.
func (f *Follower) Follow(c link.Capacity, dt, lasting link.Duration) Advice {
	most := max(c.Most, c.Rate)
	if lasting <= 0 || lasting >= frameMost {
		f.told, f.begun = float64(c.Rate), false
		level := bearable(c, c.Rate.Bytes(levelSteady))
		return Advice{Told: c.Rate, Level: level, Span: level, Wait: levelSteady}
	}
	f.told = approach(f.told, float64(c.Rate), dt, riseFramed, fallFramed)
	told := link.Rate(f.told)
	if !c.OnDemand {
		level := bearable(c, told.Bytes(levelFramed))
		return Advice{Told: told, Pace: most, Carry: 2 * told, Level: level, Span: level}
	}
	if !f.begun {
		f.pace, f.begun = float64(most), true
	}
	level := bearable(c, link.Rate(f.pace).Bytes(levelSteady+c.Loop))
	if c.Queue > level {
		f.pace = approach(f.pace, f.told, dt, fallDemand, fallDemand)
	} else {
		f.pace = approach(f.pace, float64(most), dt, riseDemand, riseDemand)
	}
	pace := link.Rate(f.pace)
	return Advice{Told: told, Pace: pace, Carry: pace, Level: level,
		Span: max(pace.Bytes(spanDemand), level), Wait: levelSteady + c.Loop}
}

// bearable is a level that is three frames at least, and half of what the
// link's buffer bears at most.
func bearable(c link.Capacity, level link.Size) link.Size {
	level = max(level, 3*frame)
	if c.Room > 0 {
		level = min(level, max(c.Room/2, frame))
	}
	return level
}

// approach moves was towards is in dt, with a time constant for each
// direction.
func approach(was, is float64, dt, rising, falling link.Duration) float64 {
	constant := falling
	if is > was {
		constant = rising
	}
	return was + min(max(dt.Seconds()/constant.Seconds(), 0), 1)*(is-was)
}
