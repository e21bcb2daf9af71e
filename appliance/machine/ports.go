// Package machine is what a box needs of this machine: its network
// interfaces as test ports, and engines that drive them.
package machine

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"

	"farlink/appliance"
	"farlink/appliance/box"
	"farlink/appliance/ports"
	"farlink/appliance/store"
	"farlink/emulator/link"
)

// Ports are the interfaces of this machine.
type Ports struct {
	Store  *store.Store
	Listen string // where the API listens; its port is no test port
}

// portsFile is what must be undone on the ports of a pair.
type portsFile struct {
	Boot  string       `json:"boot_id"` // of the kernel's run in which Steps were done
	Steps []ports.Step `json:"steps"`
}

func portsName(p appliance.PairConfig) string { return "ports-" + p.Name + ".json" }

// Plan returns what Prepare would do, and every reason why it would not: ports
// that another daemon holds are none to take.
func (k Ports) Plan(p appliance.PairConfig) ([]ports.Step, error) {
	ns, err := ports.Open(p.Netns)
	if err != nil {
		return nil, err
	}
	h := &heldPorts{ns: ns}
	steps, err := k.plan(ns, p)
	return steps, errors.Join(h.lock(p), err, h.letGo())
}

func (k Ports) plan(ns *ports.Namespace, p appliance.PairConfig) ([]ports.Step, error) {
	a, err := ns.Read(p.A)
	if err != nil {
		return nil, err
	}
	b, err := ns.Read(p.B)
	if err != nil {
		return nil, err
	}
	want := ports.Pair{A: p.A, B: p.B, MTU: p.MTU}
	if p.Netns == "" {
		want.Carries = ports.Carries(k.Listen)
	}
	steps, refusals := ports.Plan(want, a, b)
	for _, r := range refusals {
		err = errors.Join(err, r)
	}
	return steps, err
}

// Prepare takes both ports and makes them test ports. What must be undone is
// saved before it is done, so that a killed daemon's successor can undo it.
func (k Ports) Prepare(_ context.Context, p appliance.PairConfig) (box.Held, error) {
	ns, err := ports.Open(p.Netns)
	if err != nil {
		return nil, err
	}
	h := &heldPorts{ns: ns, store: k.Store, file: portsName(p)}
	if err := h.take(k, p); err != nil {
		return nil, errors.Join(err, h.letGo())
	}
	return h, nil
}

// heldPorts are the ports of a pair while they are test ports.
type heldPorts struct {
	ns    *ports.Namespace
	store *store.Store
	file  string
	locks []net.Listener
	undo  []ports.Step
}

// lock takes the ports for this process.
func (h *heldPorts) lock(p appliance.PairConfig) error {
	for _, port := range slices.Compact([]string{p.A, p.B}) {
		lock, err := h.ns.Lock(port)
		if err != nil {
			return err
		}
		h.locks = append(h.locks, lock)
	}
	return nil
}

func (h *heldPorts) take(k Ports, p appliance.PairConfig) error {
	if err := h.lock(p); err != nil {
		return err
	}
	boot := bootID()
	var before portsFile
	if _, err := k.Store.Load(h.file, &before); err != nil {
		return err
	}
	if before.Boot == boot {
		h.undo = before.Steps
	}
	steps, err := k.plan(h.ns, p)
	if err != nil {
		return err
	}
	for _, s := range steps {
		done := func(d ports.Step) bool { return d.Port == s.Port && d.Setting == s.Setting }
		if !slices.ContainsFunc(h.undo, done) {
			h.undo = append(h.undo, s)
		}
	}
	if before.Boot != boot || !slices.Equal(before.Steps, h.undo) {
		// A full disk is no reason to leave the wire dead: the store tells of
		// it, and this process undoes the steps all the same.
		if err := k.Store.Save(h.file, portsFile{boot, h.undo}); err != nil && !store.Full(err) {
			return err
		}
	}
	return h.ns.Apply(steps)
}

// Release gives the ports back as they were.
func (h *heldPorts) Release() error {
	err := h.ns.Restore(h.undo)
	if err == nil {
		err = h.store.Remove(h.file)
	}
	return errors.Join(err, h.letGo())
}

func (h *heldPorts) letGo() error {
	var err error
	for _, l := range h.locks {
		err = errors.Join(err, l.Close())
	}
	return errors.Join(err, h.ns.Close())
}

// Watch calls changed when a port of the pair comes or goes, or its carrier
// does; first for both as they are.
func (k Ports) Watch(ctx context.Context, p appliance.PairConfig, changed func(box.PortChange)) error {
	ns, err := ports.Open(p.Netns)
	if err != nil {
		return err
	}
	defer ns.Close()
	was := map[string]box.PortChange{}
	look := func() {
		for _, port := range []string{p.A, p.B} {
			there, carrier, speed := ns.Look(port)
			now := box.PortChange{Port: port, There: there, Carrier: carrier, Speed: link.Rate(speed) * link.MegabitPerSecond,
				Unfinished: ns.Unfinished(port)}
			if now != was[port] {
				was[port] = now
				changed(now)
			}
		}
	}
	look()
	return ns.Watch(ctx, look)
}

// bootID names the kernel's run.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
