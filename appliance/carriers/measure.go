package carriers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"farlink/pep/congestion"
)

// Transfer is a bulk transfer under way, up.
type Transfer struct {
	bytes  atomic.Int64
	client *net.TCPConn
	server atomic.Pointer[net.TCPConn]
	ended  chan error
}

// Bulk begins a bulk transfer through the relays.
func (l *Lab) Bulk() (*Transfer, error) {
	t := &Transfer{ended: make(chan error, 1)}
	go t.drain(l.server)
	err := l.Device.Do(func() error {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", l.Server.IP, bulkPort), 10*time.Second)
		if err == nil {
			t.client = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	go t.fill()
	return t, nil
}

// Direct begins a bulk transfer over carrier i alone, by one plain connection
// with a congestion control.
func (l *Lab) Direct(i int, control string) (*Transfer, error) {
	hear, err := listen(l.B, at(i, 2))
	if err != nil {
		return nil, err
	}
	t := &Transfer{ended: make(chan error, 1)}
	go func() { t.drain(hear); hear.Close() }()
	l.Shelf.Load(control)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: at(i, 1).AsSlice()}, Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) { _, set = l.Shelf.Use(int(fd), control, "cubic", congestion.Place{}) })
		return errors.Join(err, set)
	}}
	d.SetMultipathTCP(false)
	err = l.A.Do(func() error {
		c, err := d.Dial("tcp", hear.Addr().String())
		if err == nil {
			t.client = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		hear.Close()
		return nil, err
	}
	go t.fill()
	return t, nil
}

func (t *Transfer) fill() {
	for block := make([]byte, 64<<10); ; {
		if _, err := t.client.Write(block); err != nil {
			return
		}
	}
}

func (t *Transfer) drain(l *net.TCPListener) {
	c, err := l.AcceptTCP()
	if err != nil {
		t.ended <- err
		return
	}
	defer c.Close()
	t.server.Store(c)
	for buf := make([]byte, 256<<10); ; {
		n, err := c.Read(buf)
		t.bytes.Add(int64(n))
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			t.ended <- err
			return
		}
	}
}

// Bytes is how many have come, in order.
func (t *Transfer) Bytes() int64 { return t.bytes.Load() }

// Goodput waits and returns, in Mbit/s, what came in d after a warm-up.
func (t *Transfer) Goodput(ctx context.Context, warm, d time.Duration) (float64, error) {
	if err := t.wait(ctx, warm); err != nil {
		return 0, err
	}
	before, begun := t.Bytes(), time.Now()
	if err := t.wait(ctx, d); err != nil {
		return 0, err
	}
	return float64(t.Bytes()-before) * 8e-6 / time.Since(begun).Seconds(), nil
}

func (t *Transfer) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-t.ended:
		t.ended <- err
		return fmt.Errorf("the transfer ended early: %w", errors.Join(err, io.ErrUnexpectedEOF))
	case <-time.After(d):
		return nil
	}
}

// Stall watches for d and returns the longest time in which nothing came.
func (t *Transfer) Stall(d time.Duration) (longest time.Duration) {
	last, since := t.Bytes(), time.Now()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if n := t.Bytes(); n != last {
			last, since = n, time.Now()
		}
		longest = max(longest, time.Since(since))
	}
	return longest
}

// Close ends the transfer at once.
func (t *Transfer) Close() {
	t.client.SetLinger(0)
	t.client.Close()
	if c := t.server.Load(); c != nil {
		c.SetLinger(0)
		c.Close()
	}
}
