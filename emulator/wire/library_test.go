package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/profiles"
)

// modelled is the product's own emulator, as its daemon wires it.
type modelled struct{ *emulator.Emulator }

func (m modelled) Succeed(old Emulator, w link.Way, now link.Time) {
	if was, ok := old.(modelled); ok {
		m.Emulator.Succeed(was.Emulator, w, now)
	}
}

func (m modelled) Probes(w link.Way, now link.Time, yield func(link.Probe)) {
	m.Emulator.Probes(w, now, func(_ int, p link.Probe) { yield(p) })
}

// buildAny builds the emulators of these tests: plain ones, and the
// product's from documents that have links.
func buildAny(doc []byte) (Emulator, error) {
	if !bytes.Contains(doc, []byte(`"links"`)) {
		return buildPlain(doc)
	}
	spec, problems := emulator.ParseSpec(doc)
	if profiles.Fatal(problems) {
		return nil, errors.New(problems[0].String())
	}
	e, err := emulator.New(spec)
	if err != nil {
		return nil, err
	}
	return modelled{e}, nil
}

// documentOf is one link with a profile.
func documentOf(p *profiles.Profile) []byte {
	return emulator.Spec{Line: link.GigabitPerSecond, Links: []emulator.LinkSpec{{Name: "main", Seed: 1, Profile: p}}}.JSON()
}

// Every shipped profile on the wire, one after the other while traffic flows
// both ways: the books add up at each publication, and the engine itself
// loses nothing.
func TestEveryShippedProfile(t *testing.T) {
	documents, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, netlab.Options{}, Config{})
	stop, done := make(chan struct{}), make(chan struct{}, 2)
	for _, d := range []struct{ from, to netlab.End }{{r.A, r.B}, {r.B, r.A}} {
		go func() {
			for {
				select {
				case <-stop:
					done <- struct{}{}
					return
				default:
					netlab.Flood(d.from, d.to, netlab.FloodOptions{Size: 500, Rate: 2000, For: 200 * time.Millisecond})
				}
			}
		}()
	}
	broken := [2]uint64{}
	for _, d := range documents {
		a, err := r.Apply(documentOf(d.Profile))
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		time.Sleep(25 * time.Millisecond)
		for w, way := range r.Stats().Ways {
			if way.Book.Broken > broken[w] {
				t.Errorf("%s, %v: the book broke: in %d copies %d out %d lost %d held %d; %+v", d.Name, link.Way(w), way.Book.In, way.Book.Copies, way.Book.Out, way.Book.Losses(), way.Book.Held, way.Book.Engine)
				broken[w] = way.Book.Broken
			}
			if way.Checks[0].Early > 0 {
				t.Errorf("%s, %v: %d of %d sooner than promised, the soonest after %v", d.Name, link.Way(w), way.Checks[0].Early, way.Checks[0].Timed, way.Checks[0].Least)
			}
		}
		if s := r.Stats(); s.NotEffective != "" {
			t.Errorf("%s: %s", d.Name, s.NotEffective)
		}
		if a.Switch > 100*link.Millisecond || a.Build > 500*link.Millisecond {
			t.Logf("%s: built in %v, switched in %v", d.Name, a.Build, a.Switch)
		}
	}
	close(stop)
	<-done
	<-done
	s := r.Stats()
	for _, w := range link.Ways {
		b := s.Ways[w].Book
		t.Logf("%v: in %d out %d lost %d, late p50 %v p99 %v", w, b.In, b.Out, b.Losses(), link.Duration(b.Lateness.Quantile(.5)), link.Duration(b.Lateness.Quantile(.99)))
		if b.Engine.Loss() > 0 {
			t.Errorf("%v: the engine lost %+v", w, b.Engine)
		}
	}
}
