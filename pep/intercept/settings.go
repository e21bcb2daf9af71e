package intercept

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Settings are what the programs decide by.
type Settings struct {
	Enabled  bool
	Rules    []Rule
	Fallback Action // for SYNs that no rule matches
	Most     uint32 // split connections at a time; beyond it SYNs cross
	Listener uint16 // port of the listeners
	Patience uint32 // seconds that a SYN may be held
}

// Apply puts settings in force at once: SYNs meet the old rules or the new,
// never a mixture. What is not in force is written first.
func (s *Space) Apply(want Settings) error {
	if len(want.Rules) > MostRules {
		return fmt.Errorf("%d rules: want at most %d", len(want.Rules), MostRules)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := 1 - s.live.Set
	for i, r := range want.Rules {
		encoded := r.encode()
		if err := s.objects.Rules.Put(next*MostRules+uint32(i), &encoded); err != nil {
			return fmt.Errorf("rule %d (%s): %w", i+1, r.Name, err)
		}
	}
	value := interceptOrders{
		Rules: uint32(len(want.Rules)), Fallback: uint32(want.Fallback), Most: want.Most,
		Listener: uint32(want.Listener), PatienceS: want.Patience,
	}
	if want.Enabled {
		value.Enabled = 1
	}
	if err := s.objects.Settings.Put(next, &value); err != nil {
		return fmt.Errorf("settings of interception: %w", err)
	}
	s.live.Set = next
	return s.beat()
}

// Report tells the programs that the proxy lives, and how many connections it
// splits now. One that has not reported for two seconds is taken to hang:
// SYNs then cross.
func (s *Space) Report(open uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live.Open = open
	return s.beat()
}

func (s *Space) beat() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	s.live.Beat = uint64(now.Nano())
	return s.objects.Alive.Put(uint32(0), &s.live)
}

// Listen names the sockets that SYNs go to, by address family.
func (s *Space) Listen(v4, v6 syscall.Conn) error {
	for i, c := range []syscall.Conn{v4, v6} {
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		var put error
		err = raw.Control(func(fd uintptr) { put = s.objects.Listeners.Put(uint32(i), uint64(fd)) })
		if err := errors.Join(err, put); err != nil {
			return fmt.Errorf("name the listener: %w", err)
		}
	}
	return nil
}

// Counts are what the programs have done since they were loaded, in frames
// unless it says otherwise.
type Counts struct {
	Passed     uint64 `json:"passed"` // crossed as they came
	Local      uint64 `json:"local"`  // went to local sockets
	Split      uint64 `json:"split"`  // connections
	Sent       uint64 `json:"sent"`   // in the place of an end
	Dropped    uint64 `json:"dropped"`
	Replayed   uint64 `json:"replayed"`    // SYNs that had been held
	Errors     uint64 `json:"errors"`      // ICMP errors about split connections
	NoListener uint64 `json:"no_listener"` // SYNs that crossed since nobody listened
	OverLimit  uint64 `json:"over_limit"`  // SYNs that crossed since there were too many connections
	FastOpen   uint64 `json:"fast_open"`   // SYNs that crossed for their data, or for Fast Open
}

// Counts reads the counters of all CPUs.
func (s *Space) Counts() (Counts, error) {
	var c Counts
	for i, at := range []*uint64{&c.Passed, &c.Local, &c.Split, &c.Sent, &c.Dropped, &c.Replayed, &c.Errors, &c.NoListener, &c.OverLimit, &c.FastOpen} {
		var each []uint64
		if err := s.objects.Counts.Lookup(uint32(i), &each); err != nil {
			return c, fmt.Errorf("counters of interception: %w", err)
		}
		for _, n := range each {
			*at += n
		}
	}
	return c, nil
}

// Ends are the two ends of a connection: who opened it, and to whom.
type Ends struct{ Client, Server netip.AddrPort }

// Flow is what the programs know of a split connection.
type Flow struct {
	FromLAN bool   // the client is behind the lan port
	Rule    int    // which rule, MostRules if none
	Since   uint64 // CLOCK_MONOTONIC ns of its SYN: tells it from others of the same ends
}

// Flow returns what is known of a connection; ok is false when it is not (or
// no longer) split.
func (s *Space) Flow(e Ends) (f Flow, ok bool, err error) {
	var value interceptFlow
	key, _ := makeTuple(e)
	err = s.objects.Flows.Lookup(&key, &value)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		err = s.settle(&key, &value)
	}
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("flow of %v to %v: %w", e.Client, e.Server, err)
	}
	return s.describe(&value), true, nil
}

// settle takes a flow whose client has completed an early handshake among
// those that stand.
func (s *Space) settle(key *interceptTuple, value *interceptFlow) error {
	if err := s.objects.Opening.Lookup(key, value); err != nil {
		return err
	}
	if err := s.objects.Flows.Put(key, value); err != nil {
		return err
	}
	return s.objects.Opening.Delete(key)
}

func (s *Space) describe(f *interceptFlow) Flow {
	return Flow{FromLAN: f.ClientPort == uint32(s.lan.Index), Rule: int(f.Rule), Since: f.Since}
}

// Mark is the socket mark by which a socket sends through the lan or the wan
// port.
func Mark(lan bool) int {
	if lan {
		return markBase
	}
	return markBase + 1
}
