// Package emulator makes links of profiles and seeds: all the links of one
// pair of ports, the classifier in front of them, and the change from one
// set of links to the next while packets are inside.
//
//	                 ┌▶ link 0: gate ▶ queue ▶ loss ▶ corrupt ▶ path ▶ reorder ▶ duplicate ▶ middlebox ─┐
//	Arrive ─ rules ──┼▶ link 1: …  └ or a carrier, a cell, a return link, a WLAN                       ├▶ Sink
//	                 └▶ pass ────────────────────────────────────────────────────────────────────────────┘
//
// An Emulator is told the time by its driver: the wire, the simulator or the
// replay. Each way has one owner at a time; ways that share a model say so
// by Coupled, and their driver then takes turns.
package emulator

import (
	"errors"
	"fmt"
	"strconv"

	"farlink/emulator/frame"
	"farlink/emulator/link"
	"farlink/profiles"
)

// Numbers that stand in place of a link's index in a Mark.
const (
	// Passed: the frame took no link.
	Passed = 255
	// Retired: the frame's link is no more; it was inside when the link
	// went.
	Retired = 254
)

// Emulator is the links of one pair of ports, both ways.
type Emulator struct {
	spec     Spec
	ways     [2]direction
	stations []*station
	fallback int // index of the default link, or Passed
	targets  []int
	coupled  bool
	waits    bool // a timeline waits for a packet, or did
	inspects bool // a middlebox wants to know what carries MPTCP
}

// direction is all of one way: what its loop owns.
type direction struct {
	way     link.Way
	lines   []*line
	retired []*line
	passed  Count
	hits    []Count // by rule
	now     link.Time
}

// Count is a number of packets and their bytes.
type Count struct{ Packets, Bytes uint64 }

func (c *Count) add(size int) {
	c.Packets++
	c.Bytes += uint64(size)
}

// New returns the links of a spec that has no problems; if it has, the error
// names them all.
func New(spec Spec) (*Emulator, error) {
	if err := asError(spec.Check()); err != nil {
		return nil, err
	}
	e := &Emulator{spec: spec, fallback: Passed}
	if spec.Default != Pass && len(spec.Links) > 0 {
		e.fallback = max(spec.index(spec.Default), 0)
	}
	for i := range spec.Rules {
		target := Passed
		if spec.Rules[i].Link != Pass {
			target = spec.index(spec.Rules[i].Link)
		}
		e.targets = append(e.targets, target)
	}
	for _, w := range link.Ways {
		e.ways[w] = direction{way: w, hits: make([]Count, len(spec.Rules))}
	}
	if err := e.build(); err != nil {
		return nil, err
	}
	return e, nil
}

// asError joins the errors among problems.
func asError(problems []profiles.Problem) error {
	var errs []error
	for _, p := range problems {
		if p.Level == profiles.Error {
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

// index returns the place of the link called name, -1 if there is none.
func (s Spec) index(name string) int {
	for i := range s.Links {
		if s.Links[i].Name == name {
			return i
		}
	}
	return -1
}

// Spec returns what the emulator was made of.
func (e *Emulator) Spec() Spec { return e.spec }

// Coupled reports whether both ways share state, so that the driver must not
// run them at the same time.
func (e *Emulator) Coupled() bool { return e.coupled }

// Arrive takes a frame that came in at when on its way w: it chooses the
// link, numbers the packet and puts it in. ref is the driver's own handle.
func (e *Emulator) Arrive(w link.Way, when link.Time, ref uint32, bytes []byte, out link.Sink) {
	d := &e.ways[w]
	p := link.Packet{When: when, Ref: ref, Body: link.Body{Size: uint16(len(bytes))}}
	i := e.fallback
	if len(e.targets) > 0 {
		i = e.classify(d, bytes)
	}
	p.Mark = p.Mark.OnLink(i)
	if frame.Capable(bytes) {
		p.Mark |= link.ECT
	}
	if e.inspects {
		p.Mark |= multipath(bytes)
	}
	if i == Passed {
		p.Seq = d.passed.Packets
		d.passed.add(len(bytes))
		out.Deliver(p)
		return
	}
	if len(d.lines) > 1 || len(d.retired) > 0 {
		e.Run(w, when, out) // what other links let out by now goes first
	}
	if e.waits {
		e.arm(i, bytes, w, when)
	}
	l := d.lines[i]
	p.Seq = l.seq
	l.seq++
	l.put(p, out)
}

// multipath returns what a stage must know of the frame that meddles with
// MPTCP.
func multipath(bytes []byte) link.Mark {
	var h frame.Header
	h.Read(bytes)
	return h.Multipath(bytes)
}

// classify returns the index of the link that the first matching rule names.
func (e *Emulator) classify(d *direction, bytes []byte) int {
	var h frame.Header
	h.Read(bytes)
	for i := range e.spec.Rules {
		if e.spec.Rules[i].Takes(&h, d.way) {
			d.hits[i].add(len(bytes))
			return e.targets[i]
		}
	}
	return e.fallback
}

// Next returns when Run has something to do in way w.
func (e *Emulator) Next(w link.Way) link.Time {
	d := &e.ways[w]
	next := link.Never
	for _, l := range d.lines {
		next = min(next, l.due())
	}
	for _, l := range d.retired {
		next = min(next, l.due())
	}
	return next
}

// Run does all that is due in way w at or before now. Packets of all links
// leave in order of time.
func (e *Emulator) Run(w link.Way, now link.Time, out link.Sink) {
	d := &e.ways[w]
	if len(d.lines) == 1 && len(d.retired) == 0 {
		d.lines[0].run(now, out)
		return
	}
	for {
		first, second := d.earliest()
		if first == nil || first.due() > now {
			break
		}
		first.run(min(second, now), out)
	}
	d.bury()
}

// earliest returns the line that is due first and when the next one is.
func (d *direction) earliest() (*line, link.Time) {
	var first *line
	due, second := link.Never, link.Never
	for _, lines := range [2][]*line{d.lines, d.retired} {
		for _, l := range lines {
			if t := l.due(); t < due {
				first, due, second = l, t, due
			} else {
				second = min(second, t)
			}
		}
	}
	return first, second
}

// bury forgets retired lines that are empty.
func (d *direction) bury() {
	kept := d.retired[:0]
	for _, l := range d.retired {
		if n, _ := l.chain.Held(); n > 0 {
			kept = append(kept, l)
		}
	}
	clear(d.retired[len(kept):])
	d.retired = kept
}

// Finish makes the bytes of a frame say what happened to its packet: it
// takes out the option that a middlebox took, flips a bit of what was corrupted
// and marks what met congestion.
func (e *Emulator) Finish(p link.Packet, w link.Way, bytes []byte) {
	if p.Mark&link.Stripped != 0 {
		frame.StripMPTCP(bytes)
	}
	if p.Mark&link.CE != 0 {
		frame.MarkCE(bytes)
	}
	if p.Mark&link.Corrupted == 0 {
		return
	}
	flips := link.NewDraw(0, "retired")
	if i := p.Mark.Link(); i < len(e.ways[w].lines) {
		flips = e.ways[w].lines[i].flips
	}
	frame.Corrupt(bytes, flips.Uint64(p.Seq))
}

// Held returns how many packets and bytes are inside in way w.
func (e *Emulator) Held(w link.Way) (packets, bytes int) {
	d := &e.ways[w]
	for _, lines := range [2][]*line{d.lines, d.retired} {
		for _, l := range lines {
			n, b := l.chain.Held()
			packets, bytes = packets+n, bytes+b
		}
	}
	return packets, bytes
}

// Links returns the names of the links, in the order of their index.
func (e *Emulator) Links() []string {
	names := make([]string, len(e.spec.Links))
	for i := range names {
		names[i] = e.spec.Links[i].Name
	}
	return names
}

// Stages returns the names of the stages of a link in way w: Cause.Stage is
// an index into them.
func (e *Emulator) Stages(w link.Way, i int) []string {
	if i < 0 || i >= len(e.ways[w].lines) {
		return nil
	}
	return placeNames
}

// Probes yields the live figures of the models in way w, each with the index
// of its link.
func (e *Emulator) Probes(w link.Way, now link.Time, yield func(i int, p link.Probe)) {
	for i, l := range e.ways[w].lines {
		if l.timeline.began != link.Never {
			yield(i, link.Probe{Name: "timeline_s", Value: now.Sub(l.timeline.began).Seconds()})
		}
		for _, s := range l.chain.Stages() {
			if s, ok := s.(link.Prober); ok {
				s.Probes(now, func(p link.Probe) { yield(i, p) })
			}
		}
	}
}

// Figures yields the same by name alone, and what the rules took:
// "rule_0_packets", and "passed_packets" for what passed all links. The name
// of a link other than the first stands before its figures: "kt:queue_bytes".
func (e *Emulator) Figures(w link.Way, now link.Time, yield func(link.Probe)) {
	e.Probes(w, now, func(i int, p link.Probe) {
		if i > 0 {
			p.Name = e.spec.Links[i].Name + ":" + p.Name
		}
		yield(p)
	})
	if len(e.targets) == 0 && e.fallback != Passed {
		return
	}
	e.Rules(w, func(rule int, c Count) {
		name := "passed_packets"
		if rule >= 0 {
			name = "rule_" + strconv.Itoa(rule) + "_packets"
		}
		yield(link.Probe{Name: name, Value: float64(c.Packets)})
	})
}

// Rules yields what each rule took in way w, and in the end, as rule -1,
// what passed all links.
func (e *Emulator) Rules(w link.Way, yield func(rule int, c Count)) {
	for i, c := range e.ways[w].hits {
		yield(i, c)
	}
	yield(-1, e.ways[w].passed)
}

// Index returns the index of the link called name.
func (e *Emulator) Index(name string) (int, error) {
	if i := e.spec.index(name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("link %q: want one of %q", name, e.Links())
}
