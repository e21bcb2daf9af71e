package accept

import (
	"context"
	"log/slog"
	"net"
	"testing"
)

// TestEach: connections come with their listener's number, and no more after
// the end, when the listeners are closed.
func TestEach(t *testing.T) {
	ls := make([]*net.TCPListener, 2)
	for i := range ls {
		var err error
		if ls[i], err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	came, ended := make(chan int, 4), make(chan struct{})
	go func() {
		defer close(ended)
		Each(ctx, slog.New(slog.DiscardHandler), "test", func(c *net.TCPConn, i int) { c.Close(); came <- i }, ls...)
	}()
	for _, want := range []int{1, 0, 1} {
		c, err := net.Dial("tcp", ls[want].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if got := <-came; got != want {
			t.Errorf("a connection to listener %d came as one of %d", want, got)
		}
		c.Close()
	}
	end()
	<-ended
	for i, l := range ls {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Errorf("listener %d still listens", i)
		}
	}
}
