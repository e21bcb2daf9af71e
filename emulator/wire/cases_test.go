package wire

import (
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// The cases are complaints about other emulators (docs/cases.md), here those
// that need real sockets.

// bulk sends n bytes from A to B over one connection, waits until all have
// arrived, and returns the sender's own counters.
func bulk(t *testing.T, l *netlab.Lab, n int) *unix.TCPInfo {
	t.Helper()
	var listener net.Listener
	if err := l.B.Do(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(l.B.IP.String(), "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	arrived := make(chan int64, 1)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			arrived <- -1
			return
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		got, _ := io.Copy(io.Discard, io.LimitReader(c, int64(n)))
		arrived <- got
	}()
	var conn net.Conn
	if err := l.A.Do(func() (err error) {
		conn, err = net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if got := <-arrived; got != int64(n) {
		t.Fatalf("%d of %d bytes arrived", got, n)
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A loss of 1 % on the sending host was no loss for its TCP elsewhere: the
// queue told it, and it sent again at once. Here the box is another host:
// the sender's own counters have as many retransmissions as the link lost
// frames, one in a hundred, and nothing was dropped on the sending host.
func TestCase12LossIsSeenByTheSender(t *testing.T) {
	t.Parallel()
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 2 * link.Millisecond, LoseNth: 100}).doc()})
	dropped := func() string {
		out, err := r.A.Output("ip", "-s", "-j", "link", "show", "dev", r.A.Dev)
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		_, tx, _ := strings.Cut(string(out), `"tx":`)
		count := regexp.MustCompile(`"dropped":\d+`).FindString(tx)
		if count == "" {
			t.Fatalf("no counter of drops in %s", out)
		}
		return count
	}
	before := dropped()
	info := bulk(t, r.Lab, 5<<20)
	time.Sleep(150 * time.Millisecond)
	b := r.Stats().Ways[link.Up].Book
	lost, again := int(b.Losses()), int(info.Total_retrans)
	if lost < int(b.In)/100-1 || lost > int(b.In)/100+1 || lost < 20 {
		t.Errorf("%d of %d frames lost, want one in a hundred", lost, b.In)
	}
	// A probe of the tail, or an acknowledgement that came late, makes one more.
	if again < lost*9/10-2 || again > lost*13/10+5 {
		t.Errorf("the link lost %d frames, the sender sent %d again", lost, again)
	}
	if after := dropped(); after != before {
		t.Errorf("dropped on the sending host: %s, before %s", after, before)
	}
	if info.Rtt < 4000 {
		t.Errorf("the sender sees a round trip of %d us, want 4 ms or more", info.Rtt)
	}
}

// Super-frames that a host cuts late made loss come in bursts elsewhere. Here
// no stage ever sees more than a frame of the wire, though the hosts at the
// ends build and join super-frames. (Cutting and checksums by the card stay
// off: a veth has no card that would do it.)
func TestCase13NoSuperFrame(t *testing.T) {
	eachAttach(t, func(t *testing.T, how steer.Attach) {
		r := newRig(t, netlab.Options{}, Config{Attach: how, Doc: (&plain{Delay: link.Millisecond}).doc()})
		for _, end := range []netlab.End{r.A, r.B} {
			if out, err := end.Output("ethtool", "-K", end.Dev, "gso", "on", "gro", "on"); err != nil {
				if _, missing := exec.LookPath("ethtool"); missing != nil {
					t.Skip("needs ethtool")
				}
				t.Fatalf("%v %s", err, out)
			}
		}
		r.Tap(link.Up, true)
		from := r.Tapped(link.Up)
		bulk(t, r.Lab, 1<<20)
		r.Tap(link.Up, false)
		frames, largest := 0, 0
		_, missed := r.Records(link.Up, from, func(k Record) bool {
			frames, largest = frames+1, max(largest, int(k.Packet.Size))
			return true
		})
		if frames < 700 || missed > 0 || largest > 1514 {
			t.Errorf("%d frames, the largest of %d bytes, %d not seen; want 724 of at most 1514", frames, largest, missed)
		}
	})
}
