package box

import (
	"fmt"
	"time"

	"farlink/appliance"
	"farlink/emulator/link"
)

// apart is how far two signs of trouble must be from each other to be of two
// faults.
const apart = time.Second

// fault is a stretch of time in which the engine shaped no frames, though it
// should have: it hung, or was gone. Frames then met the fallback.
type fault struct {
	what, why string
	open      bool // the engine is gone
	began     time.Time
	last      time.Time // the last sign of it
	before    uint64    // Snapshot.Unshaped before it
}

// sign takes note that the engine does not do its work since the time given:
// of the fault that goes on, or of a new one. The caller holds the lock.
func (p *pair) sign(what, why string, since time.Time) {
	now := time.Now()
	f := &p.fault
	if !f.open && (f.last.IsZero() || since.Sub(f.last) > apart) {
		*f = fault{what: what, why: why, began: since, before: p.unshaped}
		p.state.Engine.Faults++
	}
	f.last = now
}

// faulty writes the fault down. The caller holds the lock.
func (p *pair) faulty(unshaped uint64) {
	f := p.fault
	n, known := unshaped-f.before, unshaped >= f.before
	p.unshaped = unshaped
	text := fmt.Sprintf("%s for %v", f.what, link.Duration(f.last.Sub(f.began).Round(10*time.Millisecond)))
	if f.why != "" {
		text += " (" + f.why + ")"
	}
	how := "passed in bypass"
	if p.cfg.Fallback == appliance.CutOff {
		how = "were cut"
	}
	switch {
	case !known:
		text += ": the link was not emulated"
	case n == 0:
		text += ": no frame came meanwhile"
	case n == 1:
		text += ": 1 frame was not emulated"
	default:
		text += fmt.Sprintf(": %d frames %s", n, how)
	}
	p.state.Engine.Fault = text
}

// heed looks whether the engine does its work. A hang too short to be caught
// shows by the frames that met the fallback. The caller holds the lock.
func (p *pair) heed(s Snapshot) {
	if s.Fallen || s.Unshaped > p.unshaped {
		p.sign("engine hung", "", time.Now().Add(-s.Silent))
		p.faulty(max(s.Unshaped, p.unshaped))
	}
}

// gone takes note that there is no engine any more.
func (p *pair) gone(why error) {
	p.mu.Lock()
	p.sign("engine was gone", why.Error(), time.Now())
	p.fault.open = true
	p.faulty(p.unshaped)
	p.mu.Unlock()
	p.judged(p.standing(appliance.Verdict{}))
}

// back takes note that there is one again, unshaped being its count; what it
// returns is what the fault was, "" if there was none.
func (p *pair) back(unshaped uint64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.unshaped = unshaped }()
	if !p.fault.open {
		return ""
	}
	p.fault.last = time.Now()
	p.faulty(unshaped)
	p.fault.open = false
	p.told = p.state.Engine.Faults
	return p.state.Engine.Fault
}

// standing is the verdict on the pair where the ledger's is v: it says nothing
// of frames that the engine never saw.
func (p *pair) standing(v appliance.Verdict) appliance.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch word := p.state.Word; {
	case p.fault.open:
		return appliance.Verdict{Word: appliance.Invalid, Reason: p.state.Engine.Fault}
	case word == appliance.Fault || word == appliance.Starting:
		return appliance.Verdict{Word: appliance.Invalid, Reason: fmt.Sprintf("the link is not emulated: %s", orWord(p.state.Why, word))}
	}
	return v
}

// hanging is the verdict while the engine hangs.
func (p *pair) hanging() appliance.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return appliance.Verdict{Word: appliance.Invalid, Reason: p.state.Engine.Fault}
}

func orWord(why string, w appliance.Word) string {
	if why == "" {
		return string(w)
	}
	return why
}

// judged makes the verdict known when it is another.
func (p *pair) judged(v appliance.Verdict) {
	p.mu.Lock()
	before := p.state.Verdict
	p.state.Verdict = v
	p.mu.Unlock()
	if before.Word == v.Word || before.Word == "" {
		return
	}
	text := string(v.Word)
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	p.box.bus.Publish(appliance.Event{Kind: appliance.KindVerdict, Pair: p.cfg.Name, Word: string(v.Word), Text: text})
}

// tell makes a fault known that is over and left no other trace.
func (p *pair) tell() {
	p.mu.Lock()
	news := p.state.Engine.Faults > p.told && !p.fault.open
	p.told = p.state.Engine.Faults
	text := p.state.Engine.Fault
	p.mu.Unlock()
	if news {
		p.event(appliance.KindEngine, "", text)
	}
}
