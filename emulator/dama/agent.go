package dama

import (
	"farlink/emulator/dama/ncc"
	"farlink/emulator/link"
)

// View is what a request agent sees at the beginning of a superframe.
type View struct {
	Backlog  int64 // bytes waiting
	Arrival  int64 // bytes that arrive in a superframe, by the recent past
	InFlight int64 // bytes that grants on their way will carry: requested, not yet in effect
	Latency  int64 // superframes from request to capacity (N)
	Horizon  int64 // superframes in which a predictive agent wants the queue gone (T)
}

// Agent says how many bytes to ask for (volume) to be served in so many
// superframes (spread), beyond the rate of arrival. The three rules are V0,
// V1 and V2 of docs/models.md.
type Agent func(v View) (volume, spread int64)

// Follow asks for the rate of arrival and leaves the standing queue of one
// signalling latency where it is, until nothing arrives any more.
func Follow(v View) (volume, spread int64) {
	if v.Arrival > 0 {
		return 0, 1
	}
	return max(0, v.Backlog-v.InFlight), 1
}

// Conserve asks also for the backlog that no request in flight covers.
func Conserve(v View) (volume, spread int64) {
	return max(0, v.Backlog-v.InFlight), v.Latency
}

// Predict also counts what will have arrived when the capacity comes, and so
// asks the queue away.
func Predict(v View) (volume, spread int64) {
	return max(0, v.Backlog+v.Latency*v.Arrival-v.InFlight), v.Horizon
}

// AgentOf returns the agent called name: "follow", "conserve", "predict".
func AgentOf(name string) (Agent, bool) {
	switch name {
	case "follow":
		return Follow, true
	case "conserve":
		return Conserve, true
	case "predict":
		return Predict, true
	}
	return nil, false
}

// maxWindow is the longest averaging of arrivals, superframes.
const maxWindow = 64

// asker is the requesting half of a terminal: what it has seen arrive, what
// it has asked for, what is still to come.
type asker struct {
	agent   Agent
	horizon int64
	maxRate int64 // RBDC, bit/s; 0: none
	maxVol  int64 // ncc.VBDC, bytes; 0: none
	cra     int64 // bit/s
	least   int64 // one slot a superframe, bit/s: less is not worth asking
	timeout int   // of RBDC; 0: none
	unit    int64 // payload unit of a volume, bytes

	arrived int64   // in the superframe that goes on
	window  []int64 // arrivals of the last superframes, a ring
	recent  int64   // their sum

	rate   int64   // RBDC that the last request holds, bit/s
	timer  int     // superframes for which it holds
	flight []int64 // rate held in each of the last N superframes, a ring
	flying int64   // their sum

	asked  int64  // VBDC bytes requested and not yet granted
	said   int    // superframes since a volume was requested
	keep   int    // superframes after which the NCC forgets it; 0: never
	doubt  bool   // a request went where it may be lost, and nothing has come of it
	answer uint64 // the superframe by which it should have
}

// observe closes the superframe n-1 at the beginning of n.
func (a *asker) observe(n uint64) {
	w := &a.window[n%uint64(len(a.window))]
	a.recent += a.arrived - *w
	*w, a.arrived = a.arrived, 0
	if a.timer > 0 {
		if a.timer--; a.timer == 0 {
			a.rate = 0
		}
	}
	a.said++
}

// hold books, after the requests of superframe n, the rate that will be in
// effect N later.
func (a *asker) hold(n uint64) {
	f := &a.flight[n%uint64(len(a.flight))]
	a.flying += a.rate - *f
	*f = a.rate
}

// idle reports that nothing has arrived or been asked for a while.
func (a *asker) idle() bool {
	return a.recent == 0 && a.flying == 0 && a.rate == 0 && a.asked == 0
}

// view is what the agent sees with so much backlog.
func (a *asker) view(backlog int64, superframe link.Duration) View {
	n := int64(len(a.flight))
	return View{
		Backlog:  backlog,
		Arrival:  a.recent / int64(len(a.window)),
		InFlight: muldiv(a.flying+n*a.cra, int64(superframe), 8e9),
		Latency:  n,
		Horizon:  a.horizon,
	}
}

// wantRate returns the RBDC rate to ask for, bit/s.
func (a *asker) wantRate(v View, superframe link.Duration) int64 {
	if a.maxRate == 0 {
		return 0
	}
	r := muldiv(a.recent, 8e9, int64(superframe)*int64(len(a.window)))
	volume, spread := a.agent(v)
	r += muldiv(volume, 8e9, int64(superframe)*spread)
	if r -= a.cra; r <= 0 {
		return 0
	}
	return min(max(r, a.least), a.maxRate)
}

// askRate returns the RBDC request that is due, if one is: a new rate, or the
// same one to keep it from expiring.
func (a *asker) askRate(v View, superframe link.Duration, c *ncc.Coding) (ncc.Request, bool) {
	r := min(c.Rate(a.wantRate(v, superframe)), a.maxRate)
	return ncc.Request{Category: ncc.RBDC, Value: r}, r > 0 || a.rate > 0
}

// sendRate books that the request went out.
func (a *asker) sendRate(r ncc.Request) { a.rate, a.timer = r.Value, a.timeout }

// askVolume returns the VBDC request that is due, if one is: the backlog net
// of what is asked for already and of what rates will carry. An absolute one
// says the whole again, for a channel that loses requests.
func (a *asker) askVolume(v View, c *ncc.Coding, absolute bool) (ncc.Request, bool) {
	r := ncc.Request{Category: ncc.VBDC, Value: a.asked}
	if absolute {
		r = ncc.Request{Category: ncc.AVBDC, Value: 0}
	}
	w := min(v.Backlog-v.InFlight, a.maxVol) - r.Value
	if w <= 0 {
		// Nothing more; but what is outstanding is not to be forgotten.
		return ncc.Request{Category: ncc.VBDC, Value: 0}, a.keep > 0 && a.asked > 0 && a.said >= a.keep-1
	}
	r.Value = min(c.Volume(w, a.unit), a.maxVol-r.Value)
	return r, true
}

// sendVolume books that the request went out in superframe n, where it may
// be lost or surely arrives.
func (a *asker) sendVolume(r ncc.Request, n uint64, lossy bool) {
	if r.Category == ncc.AVBDC {
		a.asked, a.doubt = 0, false
	}
	if lossy {
		a.doubt, a.answer = true, n+uint64(len(a.flight))+1
	}
	a.asked += r.Value
	a.said = 0
}

// doubtful reports that a request must be taken for lost by superframe n.
func (a *asker) doubtful(n uint64) bool { return a.doubt && n >= a.answer }

// take books a grant of volume.
func (a *asker) take(volume int64) {
	if volume > 0 {
		a.asked = max(0, a.asked-volume)
		a.doubt = false
	}
}

// muldiv returns a·b/c of non-negative numbers, rounded down.
func muldiv(a, b, c int64) int64 { return link.Ratio(uint64(a), uint64(b), uint64(c)) }
