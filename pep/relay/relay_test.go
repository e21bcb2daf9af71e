package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair is a TCP connection over the loopback.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*net.TCPConn{a, b} {
		c.SetDeadline(time.Now().Add(10 * time.Second))
		t.Cleanup(func() { c.Close() })
	}
	return a, b
}

// joined is a client and a server with a relay between, and what Run returns.
func joined(t *testing.T, pool *Pool) (client, server *net.TCPConn, r *Relay, wasReset <-chan bool) {
	t.Helper()
	client, near := pair(t)
	far, server := pair(t)
	for _, c := range []*net.TCPConn{near, far} {
		c.SetDeadline(time.Time{})
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_OOBINLINE, 1) })
		if err != nil {
			t.Fatal(err)
		}
	}
	r = &Relay{Client: near, Server: far}
	done := make(chan bool, 1)
	go func() { done <- r.Run(pool) }()
	return client, server, r, done
}

func over(t *testing.T, wasReset <-chan bool, want bool) {
	t.Helper()
	select {
	case got := <-wasReset:
		if got != want {
			t.Errorf("ended by a reset: %v, want %v", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Error("the relay does not end")
	}
}

// TestBulk: three megabytes each way at a time, through pipes, and through
// buffers where there may be no pipe.
func TestBulk(t *testing.T) {
	block := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	for _, most := range []int{4, 0} {
		pool := NewPool(most)
		client, server, r, wasReset := joined(t, pool)
		got := make(chan error, 2)
		for _, c := range []*net.TCPConn{client, server} {
			go func() {
				c.Write(block)
				c.CloseWrite()
			}()
			go func() {
				all, err := io.ReadAll(c)
				if err == nil && !bytes.Equal(all, block) {
					err = errors.New("other bytes came than were sent")
				}
				got <- err
			}()
		}
		for range 2 {
			if err := <-got; err != nil {
				t.Errorf("with %d pipes: %v", most, err)
			}
		}
		over(t, wasReset, false)
		if n := uint64(len(block)); r.Up.Bytes() != n || r.Down.Bytes() != n {
			t.Errorf("%d bytes up and %d down, want %d", r.Up.Bytes(), r.Down.Bytes(), n)
		}
		if most == 0 && pool.held.Load() != 0 {
			t.Errorf("%d pipes are held of none", pool.held.Load())
		}
	}
}

// TestHalfClose: a FIN crosses by itself; the other direction goes on.
func TestHalfClose(t *testing.T) {
	client, server, r, wasReset := joined(t, NewPool(2))
	client.CloseWrite()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("%v, want the end", err)
	}
	if !r.Up.Done() || r.Down.Done() {
		t.Errorf("up has ended: %v, down: %v; want up only", r.Up.Done(), r.Down.Done())
	}
	io.WriteString(server, "more")
	server.Close()
	if got, err := io.ReadAll(client); err != nil || string(got) != "more" {
		t.Errorf("%q, %v; want what came behind the other's FIN", got, err)
	}
	over(t, wasReset, false)
}

// TestReset: a reset comes behind the bytes that were acknowledged before it.
func TestReset(t *testing.T) {
	client, server, _, wasReset := joined(t, NewPool(2))
	io.WriteString(client, "last words")
	got := make([]byte, 10)
	if _, err := io.ReadFull(server, got); err != nil || string(got) != "last words" {
		t.Fatalf("%q, %v", got, err)
	}
	Abort(client)
	if _, err := server.Read(got); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
	over(t, wasReset, true)
}

// TestUrgent: an urgent byte, which splice does not pass, stays in its place
// and urgent.
func TestUrgent(t *testing.T) {
	client, server, _, wasReset := joined(t, NewPool(2))
	raw, err := client.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(client, "be")
	raw.Control(func(fd uintptr) { _, err = unix.SendmsgN(int(fd), []byte("!"), nil, nil, unix.MSG_OOB) })
	if err != nil {
		t.Fatal(err)
	}
	other, err := server.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	other.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_OOBINLINE, 1) })
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1)
	for i, want := range "be!" {
		marked := false
		err := other.Control(func(fd uintptr) {
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
			marked = atMark(int(fd))
		})
		if err == nil {
			_, err = io.ReadFull(server, got)
		}
		if err != nil || got[0] != byte(want) || marked != (i == 2) {
			t.Errorf("byte %d: %q, urgent %v, %v; want %q, urgent the third", i, got, marked, err, want)
		}
	}
	client.Close()
	server.Close()
	over(t, wasReset, false)
}

// TestPool: no more pipes than allowed, and none held once it is empty.
func TestPool(t *testing.T) {
	pool := NewPool(2)
	before := descriptors(t)
	a, okA := pool.take()
	b, okB := pool.take()
	if _, ok := pool.take(); !okA || !okB || ok {
		t.Fatalf("taken %v, %v and a third %v; want two", okA, okB, ok)
	}
	pool.give(a)
	if again, ok := pool.take(); !ok || again.read != a.read {
		t.Error("a pipe that was given back is not taken again")
	}
	pool.give(a)
	pool.give(b)
	pool.Close()
	if n := descriptors(t); n != before || pool.held.Load() != 0 {
		t.Errorf("%d descriptors, %d before; %d pipes held", n, before, pool.held.Load())
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
