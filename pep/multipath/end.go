package multipath

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/framing"
)

// end is what router and proxy have in common: configuration, key, sessions.
type end struct {
	key    []byte
	shelf  *congestion.Shelf
	groups *Groups
	log    *slog.Logger
	config atomic.Pointer[Config]
	way    link.Way // of what is sent, in the shelf's feed

	mu       sync.Mutex
	sessions map[token]*session

	delays     Delays
	totals     totals
	small, big sync.Pool // of buffers for chunks
}

type token [16]byte

type totals struct{ opened, resets, refused, reinjected, held atomic.Uint64 }

// LeastKey is the least size of a key, in bytes.
const LeastKey = 16

func newEnd(c Config, key []byte, shelf *congestion.Shelf, groups *Groups, log *slog.Logger) (*end, error) {
	if len(key) < LeastKey {
		return nil, fmt.Errorf("multipath: key of %d bytes, want at least %d", len(key), LeastKey)
	}
	e := &end{key: key, shelf: shelf, groups: groups, log: log, sessions: map[token]*session{}}
	return e, e.Configure(c)
}

// Configure puts a configuration in force for new connections.
func (e *end) Configure(c Config) error {
	if err := c.Err(); err != nil {
		return err
	}
	c = c.withDefaults()
	e.shelf.Load(append(slices.Clone(c.PerPath), c.Congestion)...)
	e.config.Store(&c)
	return nil
}

// Follow says that carrier i is link i of the shelf's feed and that this relay
// sends in way w: what the law xlayer goes by. To be called before any
// connection.
func (e *end) Follow(w link.Way) { e.way = w }

// Config returns the configuration in force.
func (e *end) Config() Config { return *e.config.Load() }

// Groups numbers connections for the coupled laws, one set for all relays
// that share a shelf.
type Groups struct {
	mu   sync.Mutex
	free []uint32
	last uint32
}

// mostGroups is how many connections can be coupled at once; further ones
// behave as single subflows.
const mostGroups = 4096

func (g *Groups) take() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.free); n > 0 {
		id := g.free[n-1]
		g.free = g.free[:n-1]
		return id
	}
	if g.last+1 >= mostGroups {
		return 0
	}
	g.last++
	return g.last
}

func (g *Groups) give(id uint32) {
	if id == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = append(g.free, id)
}

// sockopts of linux/tcp.h that x/sys does not name.
const tcpRTOMaxMS = 44

// shape prepares a subflow's socket: its law, no delay.
func (e *end) shape(fd int, c *Config, group uint32, slot int) (law string, err error) {
	if law = c.law(slot); law == Auto {
		law = auto(0) // the handshake will tell
	}
	at := congestion.Place{Group: group, Slot: uint32(slot), Column: congestion.Column(slot, e.way)}
	if law, err = e.shelf.Use(fd, law, "cubic", at); err != nil {
		return "", err
	}
	// A path that was silent for long is asked again every second; kernels
	// before 6.15 do not know the option and ask less often.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, tcpRTOMaxMS, 1000)
	errs := []error{
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 20_000),
	}
	return law, errors.Join(append(errs, roomy(fd, c))...)
}

// auto is the law of a path whose handshake took rtt; see Auto.
func auto(rtt link.Duration) string {
	if rtt >= farRTT {
		return "cubic"
	}
	return "bbr"
}

// fit gives a path whose handshake is over the law that Auto stands for.
func (e *end) fit(f *subflow, c *Config) error {
	if c.law(f.index) != Auto {
		return nil
	}
	info, err := f.info()
	if err != nil {
		return err
	}
	law := auto(link.Duration(info.Rtt) * link.Microsecond)
	if law == f.law {
		return nil
	}
	var set error
	err = f.raw.Control(func(fd uintptr) { f.law, set = e.shelf.Use(int(fd), law, "cubic", congestion.Place{}) })
	return errors.Join(err, set)
}

// roomy makes a socket hold a round trip of its path: the connection's window
// bounds what is asked of it. An accepted socket got its clamp on the window
// from the buffer that it had when its first segment came; a larger buffer
// does not lift it.
func roomy(fd int, c *Config) error {
	return errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, int(c.Window)),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, int(c.Window)),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, int(c.Window)))
}

// smallSize holds a chunk of the default size.
const smallSize = 6 << 10

// buffer returns n bytes to keep a chunk in.
func (e *end) buffer(n int) []byte {
	pool, size := &e.small, smallSize
	if n > smallSize {
		pool, size = &e.big, framing.MostPayload
	}
	if b, ok := pool.Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, size)
}

// free takes a buffer back.
func (e *end) free(b []byte) {
	switch b = b[:0]; cap(b) {
	case smallSize:
		e.small.Put(&b)
	case framing.MostPayload:
		e.big.Put(&b)
	}
}

// abort closes with a reset.
func abort(c *net.TCPConn) {
	if c != nil {
		c.SetLinger(0)
		c.Close()
	}
}

var started = time.Now()

// stamp is the time in frames, µs.
func stamp() uint32 { return uint32(time.Since(started).Microseconds()) }
