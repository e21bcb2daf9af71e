package sim

import (
	"fmt"

	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// Figures is what one notices of a link: what a profile promises and its
// self-test compares.
type Figures struct {
	IdleRTT  tally.Distribution `json:"idle_rtt"`       // of 98-byte pings, about one a second
	DownRate float64            `json:"down_rate_bps"`  // saturated, of 1,514-byte frames
	UpRate   float64            `json:"up_rate_bps"`    //
	DownLoss float64            `json:"down_loss"`      // share of frames lost on the air, not to queues
	UpLoss   float64            `json:"up_loss"`        //
	PingLoss float64            `json:"idle_ping_loss"` // share of pings without an answer in time
}

// Effort is how long Measure looks. The zero value is the default.
type Effort struct {
	Idle      link.Duration // of pings; 0 is 60 s
	Warm      link.Duration // saturated, before the rate counts; 0 is 10 s
	Saturated link.Duration // for which the rate counts; 0 is 20 s
}

// Defaults of Effort.
const (
	defaultIdle      = 60 * link.Second
	defaultWarm      = 10 * link.Second
	defaultSaturated = 20 * link.Second
)

// pingGap is a second and a little: pings at full seconds would always meet
// cycles such as 10 ms of scheduling requests or 100 ms of a superframe at the
// same phase. So they go through all phases of a cycle of up to a second or so
// within twenty pings.
const pingGap = 1061803 * link.Microsecond

// Sizes of the frames with which is measured: ping's default of 56 bytes of
// data, and a full Ethernet frame without FCS.
const (
	PingFrame = 98
	FullFrame = 1514
)

// Measure takes the figures of a link in virtual time: pings over the idle
// link, then each way saturated alone. build must return a fresh link at each
// call.
func Measure(build func() (Emulator, error), e Effort) (Figures, error) {
	var f Figures
	if err := f.ping(build, or(e.Idle, defaultIdle)); err != nil {
		return f, err
	}
	warm, length := or(e.Warm, defaultWarm), or(e.Saturated, defaultSaturated)
	for _, w := range link.Ways {
		rate, loss, err := saturate(build, w, warm, length)
		if err != nil {
			return f, err
		}
		if w == link.Down {
			f.DownRate, f.DownLoss = rate, loss
		} else {
			f.UpRate, f.UpLoss = rate, loss
		}
	}
	return f, nil
}

func or(d, standard link.Duration) link.Duration {
	if d == 0 {
		return standard
	}
	return d
}

// ping measures the idle link. The first ping starts half a second into the
// run; the run goes on for 5 s after the last, which is how long an answer
// may take.
func (f *Figures) ping(build func() (Emulator, error), length link.Duration) error {
	e, err := build()
	if err != nil {
		return fmt.Errorf("idle link: %w", err)
	}
	p := &Ping{Name: "ping", From: link.Up, Size: PingFrame, Every: pingGap, Start: link.Time(link.Second / 2), Stop: link.Time(length)}
	r, err := Run(Config{Emulator: e, Senders: []Sender{p}, Until: link.Time(length + 5*link.Second)})
	if err != nil {
		return err
	}
	flow := r.Flows[0]
	if flow.RTT != nil {
		f.IdleRTT = *flow.RTT
	}
	if flow.Up.In > 0 {
		f.PingLoss = 1 - float64(f.IdleRTT.Count)/float64(flow.Up.In)
	}
	return nil
}

// saturate measures one way alone.
func saturate(build func() (Emulator, error), w link.Way, warm, length link.Duration) (rate, loss float64, err error) {
	e, err := build()
	if err != nil {
		return 0, 0, fmt.Errorf("saturated %s: %w", w, err)
	}
	g := &Greedy{Name: "greedy", Way: w, Size: FullFrame}
	r, err := Run(Config{Emulator: e, Senders: []Sender{g}, From: link.Time(warm), Until: link.Time(warm + length)})
	if err != nil {
		return 0, 0, err
	}
	t := r.way(w)
	return t.Rate, airLoss(t), nil
}

// queueReasons are the losses that are a queue's answer to too much load.
var queueReasons = [...]string{link.QueueFull.String(), link.HeadDropped.String(), link.EarlyDropped.String(), link.TimedOut.String()}

// airLoss is the share of frames lost among those that no queue dropped.
func airLoss(t tally.Totals) float64 {
	lost := int64(0)
	for _, l := range t.Losses {
		if !queued(l.Reason) {
			lost += l.Packets
		}
	}
	if lost+t.Delivered == 0 {
		return 0
	}
	return float64(lost) / float64(lost+t.Delivered)
}

func queued(reason string) bool {
	for _, q := range queueReasons {
		if q == reason {
			return true
		}
	}
	return false
}
