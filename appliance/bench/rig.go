package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire"
	"farlink/profiles"
)

// rig is a lab with an engine in its box.
type rig struct {
	*netlab.Lab
	*wire.Engine
	config wire.Config
}

// newRig makes a lab and starts an engine with a document; nil is the wire
// without a model.
func newRig(ctx context.Context, doc []byte, change ...func(*wire.Config)) (*rig, error) {
	lab, err := netlab.New(fmt.Sprintf("fb%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		return nil, err
	}
	r := &rig{Lab: lab, config: wire.Config{Pair: lab.Box, A: lab.PortA, B: lab.PortB, Netns: lab.Box, Doc: doc}}
	for _, f := range change {
		f(&r.config)
	}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, lab.Close())
	}
	return r, nil
}

func (r *rig) start(ctx context.Context) (err error) {
	r.Engine, err = wire.Start(ctx, r.config)
	return err
}

// stop takes engine and program off the ports; the lab stays.
func (r *rig) stop() error {
	return errors.Join(r.Engine.Close(), wire.Remove(r.config.Pair))
}

// Close takes everything down.
func (r *rig) Close() error { return errors.Join(r.stop(), r.Lab.Close()) }

// document is what the engine is told: one link with a profile.
func document(p *profiles.Profile, seed uint64) ([]byte, error) {
	type entry struct {
		Name    string          `json:"name"`
		Seed    uint64          `json:"seed"`
		Profile json.RawMessage `json:"profile"`
	}
	return json.Marshal(map[string]any{
		"line": "1Gbit/s", "default": "main", "links": []entry{{"main", seed, p.JSON()}},
	})
}

// shipped is the document of a shipped profile.
func shipped(name string) ([]byte, error) {
	p, err := profiles.Lookup(name)
	if err != nil {
		return nil, err
	}
	return document(p.Profile, 1)
}

// shippedRig is a rig with a shipped profile, and the profile's document.
func shippedRig(ctx context.Context, name string) ([]byte, *rig, error) {
	doc, err := shipped(name)
	if err != nil {
		return nil, nil, err
	}
	r, err := newRig(ctx, doc)
	return doc, r, err
}

// written is the document of a profile in TOML.
func written(toml string) ([]byte, error) {
	p, problems := profiles.Parse([]byte(toml))
	for _, one := range problems {
		if one.Level == profiles.Error {
			return nil, fmt.Errorf("profile of the bench: %v", one)
		}
	}
	return document(p, 1)
}

// delayed is a profile of a constant delay each way and nothing else.
func delayed(d link.Duration) ([]byte, error) {
	if d == 0 {
		return shipped("clear")
	}
	return written(fmt.Sprintf("name = \"bench/delay\"\n[down.path]\ndelay = %q\n[up.path]\ndelay = %q\n", d, d))
}

// paced is a profile of a rate each way, with room for a burst.
func paced(r link.Rate) ([]byte, error) {
	return written(fmt.Sprintf("name = \"bench/rate\"\n[down.queue]\nrate = %q\nlimit = \"64MB\"\n[up.queue]\nrate = %q\nlimit = \"64MB\"\n", r, r))
}

// cpu is the processor time that a process has used.
func cpu(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name in brackets may hold blanks; utime and stime are fields 14
	// and 15 (proc(5)), in ticks of 10 ms.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system int64
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// load floods from A to B at a rate of bits per second until the returned
// function is called; 1250-byte frames.
func (r *rig) load(bits float64, d time.Duration) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		_, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1250, Rate: bits / 1e4, For: d})
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	return func() error { return <-done }
}
