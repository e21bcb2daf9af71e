package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"farlink/appliance/lab"
	"farlink/appliance/traffic"
	"farlink/emulator/netspace"
)

// Box is the API of a box: Call sends in as JSON and reads the answer into
// out; either may be nil. The path begins behind /api/v1.
type Box interface {
	Call(ctx context.Context, method, path string, in, out any) error
}

// Place is where an experiment is made.
type Place struct {
	Box    Box
	Hosts  traffic.Hosts
	Pair   string // of ports; "" is the only one
	Shared bool   // the box is others' too: it is leased, and put back in the end
}

// LabHosts are the two sides of a lab.
func LabHosts(l lab.Lab) traffic.Hosts {
	return traffic.Hosts{A: traffic.Host{Address: "10.77.0.1", Netns: l.NsA}, B: traffic.Host{Address: "10.77.0.2", Netns: l.NsB}}
}

// Raise makes a lab for the experiment alone, noted in the store so that the
// next to open it takes it down if nobody else does. binary is the farlink to
// run.
func (s *Store) Raise(ctx context.Context, binary string) (l lab.Lab, down func() error, err error) {
	if err := s.Clear(ctx); err != nil {
		return l, nil, err
	}
	name := fmt.Sprintf("x%08x", rand.Uint32())
	if err := s.SetLab(name); err != nil {
		return l, nil, err
	}
	down = func() error { return s.Clear(context.WithoutCancel(ctx)) }
	l, err = lab.Up(ctx, binary, lab.Options{Name: name, Profile: "clear", API: "127.0.0.1:0"})
	if err != nil {
		return l, nil, errors.Join(err, s.SetLab(""))
	}
	for _, ns := range []string{l.NsA, l.NsB} {
		if err := netspace.Do(ns, forget); err != nil {
			return l, nil, errors.Join(err, down())
		}
	}
	return l, down, nil
}

// forget has the kernel keep nothing of a connection for the next one: what
// one setting did would tell in the cells of another.
func forget() error {
	return os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0)
}

// Clear takes down the lab that is noted, if any.
func (s *Store) Clear(ctx context.Context) error {
	name := s.Lab()
	if name == "" {
		return nil
	}
	if _, err := lab.Find(name); err == nil {
		if err := lab.Down(ctx, name); err != nil {
			return err
		}
	}
	return s.SetLab("")
}
