package wire

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/wire/steer"
	"farlink/emulator/wire/xsk"

	"golang.org/x/sys/unix"
)

// machine is the engine: everything between the two ports.
type machine struct {
	config Config
	build  Build
	page   *page
	wire   *steer.Wire
	umem   *xsk.Umem
	ports  [2]steer.Port
	xsks   [2]*xsk.Socket // by port
	stores [2]*store      // by way
	waits  [2]*waiter
	loops  [2]*loop // by way
	lock   spinlock
	feed   Feed
	claims []int // abstract sockets that say whose the ports are
	em     Emulator
	floor  Floor
	// unplugged says of each port that it has no carrier; followed by
	// watch, which ends with unwatch.
	unplugged [2]atomic.Bool
	unwatch   chan struct{}
	ended     chan struct{} // gets one for each loop that ended
}

// settling is how long a port that was plugged in anew may take until what is
// at its other end is ready as before.
const settling = 500 * time.Millisecond

// portOf is the port that the frames of a way come from: Up from A.
func portOf(w link.Way) int { return int(w.Other()) }

// newMachine takes the ports and is ready to go. What it cannot finish it
// undoes.
func newMachine(c Config, p *page, build Build, open OpenFeed) (*machine, error) {
	m := &machine{config: c, build: build, page: p, ended: make(chan struct{}, 2)}
	if c.Feed != "" && open != nil {
		var err error
		if m.feed, err = open(c.Feed); err != nil {
			return nil, err
		}
	}
	if err := m.open(); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) open() error {
	err := steer.Privileged()
	if err != nil {
		return err
	}
	if m.em, err = m.emulator(m.config.Doc); err != nil {
		return err
	}
	for i, name := range []string{m.config.A, m.config.B} {
		if m.ports[i], err = findPort(name); err != nil {
			return err
		}
		if err := m.claim(m.ports[i]); err != nil {
			return err
		}
	}
	dir := steer.Dir(m.config.Pair)
	if m.config.unpinned {
		dir = ""
	} else {
		if b := m.config.Before; b != nil && b.Attached == [2]steer.Attach{steer.Native, steer.Native} {
			steer.AwaitNative(m.ports, settling)
		}
		m.floor = floorOf(m.config, steer.Expected(m.config.Attach, m.ports))
	}
	m.wire, err = steer.Open(steer.Options{Dir: dir, Ports: m.ports, Attach: m.config.Attach})
	if err != nil {
		return err
	}
	m.wire.SetFallback(m.config.Fallback, int64(m.config.Patience))
	if m.umem, err = xsk.NewUmem(m.config.Frames, 2048); err != nil {
		return err
	}
	for i := range m.xsks {
		if err := m.openSocket(i); err != nil {
			return err
		}
	}
	for _, w := range link.Ways {
		if err := m.openWay(w); err != nil {
			return err
		}
	}
	return m.watch()
}

// emulator builds the document's emulator; one that could hold more than
// there is memory for is refused.
func (m *machine) emulator(doc []byte) (Emulator, error) {
	if len(doc) == 0 {
		return bare{}, nil
	}
	em, err := m.build(doc)
	if err != nil {
		return nil, err
	}
	if b, ok := em.(Bounded); ok {
		for _, w := range link.Ways {
			if bound := b.Bound(w); bound > m.config.Memory/2 {
				return nil, fmt.Errorf("the %v way can hold up to %v of frames, but the engine has %v for each way: want a smaller queue or more memory", w, bound, m.config.Memory/2)
			}
		}
	}
	return em, nil
}

// claim takes the port for this process by a name in the abstract socket
// space, which belongs to the network namespace like the port itself; it is
// let go of when the process ends, however it ends.
func (m *machine) claim(p steer.Port) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("claim port %s: %w", p.Name, err)
	}
	m.claims = append(m.claims, fd)
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@farlink/port/%d", p.Index)})
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("port %s is held by another engine: stop that first", p.Name)
	}
	return err
}

func (m *machine) openSocket(port int) error {
	copying := m.wire.Attached(port) == steer.Generic
	s, err := xsk.Open(m.umem, xsk.Options{Ifindex: m.ports[port].Index, Ring: m.config.Ring, Copy: copying})
	if err != nil {
		return fmt.Errorf("port %s: %w", m.ports[port].Name, err)
	}
	m.xsks[port] = s
	return nil
}

// openWay makes the store, the waiter and the loop of a way.
func (m *machine) openWay(w link.Way) error {
	var err error
	half := m.config.Frames / 2
	if m.stores[w], err = newStore(m.umem, uint32(w)*half, half, m.config.Memory/2); err != nil {
		return err
	}
	port := portOf(w)
	if m.waits[w], err = newWaiter(m.xsks[port].Fd(), int64(m.config.Coalesce)); err != nil {
		return err
	}
	page := &m.page.Ways[w]
	l := &loop{
		way: w, rx: m.xsks[port], tx: m.xsks[1-port], store: m.stores[w], wait: m.waits[w],
		page: page, tap: &m.page.Taps[w], book: &page.Book, limits: m.config.Limits, lock: &m.lock,
		beat: func(now int64) { m.wire.Beat(port, now) },
		spin: int64(m.config.Spin), nap: min(int64(m.config.Patience)/3, bookEvery), priority: m.config.Priority, yield: page.yield, em: m.em, locked: m.em.Coupled(),
		teller: teller{feed: m.feed}, unplugged: &m.unplugged[1-port],
	}
	m.loops[w] = l
	return nil
}

// start sets the loops going and sends them the ports' frames.
func (m *machine) start() error {
	epoch := nanotime()
	m.page.Epoch, m.page.Runs = epoch, 1
	for w, l := range m.loops {
		l.epoch, l.other, l.booked = epoch, m.loops[1-w], epoch
		l.checks.begin(l.em, l.way, &l.page.wayView)
		l.store.pool = l.rx.Fill.Give(l.store.pool, m.config.Ring)
		m.wire.Beat(portOf(l.way), epoch)
		go func() {
			l.run()
			m.ended <- struct{}{}
		}()
	}
	for port, s := range m.xsks {
		if err := m.wire.Connect(port, 0, s.Fd()); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the loops; what they hold is lost.
func (m *machine) stop() {
	(&order{}).give(m.loops)
	<-m.ended
	<-m.ended
}

// close gives everything back but the pins.
func (m *machine) close() {
	for _, s := range m.xsks {
		if s != nil {
			s.Close()
		}
	}
	for w := range m.stores {
		if m.stores[w] != nil {
			m.stores[w].close()
		}
		if m.waits[w] != nil {
			m.waits[w].close()
		}
	}
	if m.unwatch != nil {
		close(m.unwatch)
	}
	if m.umem != nil {
		m.umem.Close()
	}
	if m.wire != nil {
		m.wire.Close()
	}
	for _, fd := range m.claims {
		unix.Close(fd)
	}
}

// roomForThreads gives the runtime more processors than the loops can hold,
// so that the control side always has one.
func roomForThreads() {
	runtime.GOMAXPROCS(max(runtime.NumCPU(), 2+4))
}

func report(m *machine) *Report {
	r := &Report{
		Attached: [2]steer.Attach{m.wire.Attached(0), m.wire.Attached(1)}, Why: cmp.Or(m.wire.Why(0), m.wire.Why(1)),
		ZeroCopy: m.xsks[0].ZeroCopy() && m.xsks[1].ZeroCopy(), TakenOver: m.wire.TakenOver(),
		Floor: m.floor, PID: os.Getpid(),
	}
	if priority() > 0 {
		r.Priority = m.config.Priority
	}
	return r
}
