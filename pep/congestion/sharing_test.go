package congestion

import (
	"bytes"
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/emulator/need"
)

// TestSharing: a flow with a backlog has a claim on its link's capacity, and
// none as soon as it has ended.
func TestSharing(t *testing.T) {
	feed, s := shelved(t)
	feed.Tell(5, link.Up, monotonic(t), math.MaxInt64, link.Capacity{Rate: 8 * link.MegabitPerSecond, NextRate: 8 * link.MegabitPerSecond, RTT: 100 * link.Millisecond})
	const epoch = 1 << 28                                 // EPOCH_SHIFT
	time.Sleep(time.Duration(epoch - monotonic(t)%epoch)) // all in one
	column := &feed.columns[Column(5, link.Up)]
	first, second := backlogged(t, s), backlogged(t, s)
	counted(t, column, 2)
	abandon(t, first)
	counted(t, column, 1)
	abandon(t, second)
	counted(t, column, 0)
}

// shelved is a shelf with xlayer on it, and its feed.
func shelved(t *testing.T) (*Feed, *Shelf) {
	t.Helper()
	need.Root(t)
	feed, err := NewFeed()
	check(t, err)
	t.Cleanup(func() { feed.Close() })
	s := Open(feed)
	t.Cleanup(func() { s.Close() })
	s.Load("xlayer")
	return feed, s
}

func monotonic(t *testing.T) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

// counted waits until column counts n flows: for less than the quarter of a
// second after which it would count none anyway.
func counted(t *testing.T, column *capacity, n int32) {
	t.Helper()
	var now, before int32
	for range 60 {
		if now, before = column.now, column.before; max(now, before) == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d flows counted now and %d before, want %d", now, before, n)
}

// backlogged is a connection over the loopback that follows link 5 upwards and
// has a megabyte to send to one that does not read.
func backlogged(t *testing.T, s *Shelf) (ends [2]int) {
	t.Helper()
	socket := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		check(t, err)
		check(t, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1000))
		return fd
	}
	listener := socket()
	defer unix.Close(listener)
	check(t, unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<10))
	check(t, unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check(t, unix.Listen(listener, 1))
	at, err := unix.Getsockname(listener)
	check(t, err)
	ends[0] = socket()
	_, err = s.Use(ends[0], "xlayer", "cubic", Place{Column: Column(5, link.Up)})
	check(t, err)
	check(t, unix.SetsockoptInt(ends[0], unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4<<20))
	check(t, unix.Connect(ends[0], at))
	ends[1], _, err = unix.Accept(listener)
	check(t, err)
	_, err = unix.SendmsgN(ends[0], bytes.Repeat([]byte{1}, 1<<20), nil, nil, unix.MSG_DONTWAIT)
	check(t, err)
	return ends
}

// abandon resets a connection.
func abandon(t *testing.T, ends [2]int) {
	t.Helper()
	check(t, unix.SetsockoptLinger(ends[0], unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	check(t, unix.Close(ends[0]))
	check(t, unix.Close(ends[1]))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFollow: a window follows its link's grant at the next packet, not a
// round of acknowledgements later. Of 8 Mbit/s in frames of 1066 bytes, 20 ms
// and a quarter more are 23.5 packets; of 16 Mbit/s twice as many.
func TestFollow(t *testing.T) {
	feed, s := shelved(t)
	grant := func(r link.Rate) {
		feed.Tell(5, link.Up, monotonic(t), math.MaxInt64, link.Capacity{Rate: r, NextRate: r})
	}
	grant(8 * link.MegabitPerSecond)
	ends := backlogged(t, s)
	defer abandon(t, ends)
	read := make([]byte, 1<<16)
	window := func() (packets uint32) {
		unix.Recvfrom(ends[1], read, unix.MSG_DONTWAIT)
		info, err := unix.GetsockoptTCPInfo(ends[0], unix.IPPROTO_TCP, unix.TCP_INFO)
		check(t, err)
		return info.Snd_cwnd
	}
	for _, c := range []struct {
		rate        link.Rate
		least, most uint32
	}{{8 * link.MegabitPerSecond, 23, 27}, {16 * link.MegabitPerSecond, 46, 54}, {4 * link.MegabitPerSecond, 11, 14}} {
		grant(c.rate)
		begun := time.Now()
		for w := window(); w < c.least || w > c.most; w = window() {
			if time.Since(begun) > 100*time.Millisecond {
				t.Fatalf("100 ms after a grant of %v the window is %d packets, want %d to %d", c.rate, w, c.least, c.most)
			}
			time.Sleep(time.Millisecond)
		}
	}
}
