package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// stream is one connection, from the side that sends to the one that gets.
type stream struct {
	sender, receiver net.Conn
	connect          time.Duration // how long the handshake took
	received         atomic.Int64
	completed        atomic.Int64 // ns from the beginning until the last byte came; 0 not yet
}

// tcp makes a bulk transfer of one or several connections.
func tcp(ctx context.Context, h Hosts, l Load) (Result, error) {
	length := time.Duration(l.Duration)
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	begun := time.Now()
	streams, err := open(ctx, h, l)
	if err != nil {
		return Result{}, err
	}
	var work sync.WaitGroup
	for _, s := range streams {
		work.Go(func() { s.send(int64(l.Bytes)) })
		work.Go(func() { s.receive(int64(l.Bytes), begun) })
	}
	finished := make(chan struct{})
	go func() { work.Wait(); close(finished) }()
	w := watch{streams: streams, begun: begun}
	w.follow(ctx, finished)
	for _, s := range streams {
		abort(s.sender)
		abort(s.receiver)
	}
	<-finished
	return w.result(l)
}

// open makes the connections: the device calls, the network side answers.
func open(ctx context.Context, h Hosts, l Load) (streams []*stream, err error) {
	ofClient, ofServer := "", l.Congestion
	if l.Way == "up" {
		ofClient, ofServer = ofServer, ofClient
	}
	listener, err := h.B.listen(ctx, ofServer)
	if err != nil {
		return nil, fmt.Errorf("listen at b: %w", err)
	}
	defer listener.Close()
	go func() { <-ctx.Done(); listener.Close() }()
	defer func() {
		if err != nil {
			for _, s := range streams {
				abort(s.sender)
				abort(s.receiver)
			}
		}
	}()
	for range l.Streams {
		asked := time.Now()
		client, err := h.A.dial(ctx, listener.Addr().String(), ofClient)
		if err != nil {
			return streams, fmt.Errorf("connect from a: %w", err)
		}
		s := &stream{sender: client, connect: time.Since(asked)}
		server, err := listener.Accept()
		if err != nil {
			abort(client)
			return streams, fmt.Errorf("nobody came to b: %w", err)
		}
		s.receiver = server
		if l.Way != "up" {
			s.sender, s.receiver = s.receiver, s.sender
		}
		streams = append(streams, s)
	}
	return streams, nil
}

// send writes so many bytes, or without end when they are 0.
func (s *stream) send(bytes int64) {
	block := make([]byte, 64<<10)
	for left := bytes; bytes == 0 || left > 0; {
		if bytes != 0 {
			block = block[:min(int64(len(block)), left)]
		}
		n, err := s.sender.Write(block)
		left -= int64(n)
		if err != nil {
			return
		}
	}
	if c, ok := s.sender.(*net.TCPConn); ok {
		_ = c.CloseWrite() // the receiver saw the end, or never will
	}
}

func (s *stream) receive(bytes int64, begun time.Time) {
	for buf := make([]byte, 256<<10); ; {
		n, err := s.receiver.Read(buf)
		got := s.received.Add(int64(n))
		if bytes > 0 && got >= bytes {
			s.completed.Store(int64(time.Since(begun)))
			return
		}
		if err != nil {
			return
		}
	}
}

// watch follows the connections over time.
type watch struct {
	streams             []*stream
	begun               time.Time
	received            []point // bytes in all
	rtt, cwnd           []point
	again               []point // segments sent again since the last look
	retransmits, rttLow float64
	control             string
}

// follow looks at the connections every Step until they finish or ctx ends.
func (w *watch) follow(ctx context.Context, finished <-chan struct{}) {
	tick := time.NewTicker(Step)
	defer tick.Stop()
	w.received = append(w.received, point{time.Since(w.begun), 0})
	for {
		select {
		case <-ctx.Done():
			w.look()
			return
		case <-finished:
			w.look()
			return
		case <-tick.C:
			w.look()
		}
	}
}

func (w *watch) look() {
	at, bytes := time.Since(w.begun), 0.0
	var rtt, cwnd, again, n float64
	for _, s := range w.streams {
		bytes += float64(s.received.Load())
		i, ok := info(s.sender)
		if !ok {
			continue
		}
		n++
		rtt += float64(i.Rtt) / 1e3
		cwnd += float64(i.Snd_cwnd)
		again += float64(i.Total_retrans)
		if low := float64(i.Min_rtt) / 1e3; w.rttLow == 0 || low < w.rttLow {
			w.rttLow = low
		}
	}
	w.received = append(w.received, point{at, bytes})
	if n > 0 {
		w.rtt = append(w.rtt, point{at - Step/2, rtt / n})
		w.cwnd = append(w.cwnd, point{at - Step/2, cwnd})
		w.again = append(w.again, point{at - Step/2, again - w.retransmits})
		w.retransmits = again
	}
}

// info asks the kernel how the sender sees its connection.
func info(c net.Conn) (i *unix.TCPInfo, ok bool) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil, false
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return nil, false
	}
	var asked error
	if err := raw.Control(func(fd uintptr) {
		i, asked = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || asked != nil {
		return nil, false
	}
	return i, true
}

// result sums up. Goodput is what came between Skip and the end.
func (w *watch) result(l Load) (Result, error) {
	length := time.Since(w.begun)
	skip := min(time.Duration(l.Skip), length)
	f := map[string]float64{"retransmits_packets": w.retransmits, "rtt_min_ms": w.rttLow}
	first, last := w.received[0], w.received[len(w.received)-1]
	for _, p := range w.received {
		if p.at <= skip {
			first = p
		}
	}
	if gap := (last.at - first.at).Seconds(); gap > 0 {
		f["goodput_bps"] = (last.value - first.value) * 8 / gap
	}
	var connect, completed float64
	done := 0
	for _, s := range w.streams {
		connect += s.connect.Seconds() * 1e3 / float64(len(w.streams))
		if c := s.completed.Load(); c > 0 {
			done++
			completed = max(completed, float64(c)/1e9)
		}
	}
	rtt := after(w.rtt, skip)
	f["connect_ms"], f["received_bytes"] = connect, last.value
	f["rtt_mean_ms"], f["rtt_p95_ms"] = mean(rtt), quantile(rtt, 0.95)
	f["cwnd_max_packets"] = quantile(after(w.cwnd, 0), 1)
	if done == len(w.streams) {
		f["completion_s"] = completed
	}
	r := Result{Figures: known(f), Series: []Column{rate("goodput_bps", w.received, length), spread("rtt_ms", w.rtt, length, 3*Step),
		spread("cwnd_packets", w.cwnd, length, 3*Step), spread("retransmits_packets", w.again, length, 0)}}
	switch {
	case last.value == 0:
		return r, errors.New("nothing arrived")
	case l.Bytes > 0 && done < len(w.streams):
		return r, fmt.Errorf("%d of %d transfers of %v were complete after %v", done, len(w.streams), l.Bytes, l.Duration)
	}
	return r, nil
}
