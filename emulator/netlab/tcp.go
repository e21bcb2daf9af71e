package netlab

import (
	"fmt"
	"io"
	"net"
	"time"
)

// Transfer is what a bulk transfer moved.
type Transfer struct {
	Bytes int64
	For   time.Duration // from the first byte received to the last
}

// Mbits returns the goodput in Mbit/s.
func (t Transfer) Mbits() float64 {
	if t.For <= 0 {
		return 0
	}
	return float64(t.Bytes) * 8e-6 / t.For.Seconds()
}

// TCP sends bytes from one endpoint to another over one connection for a
// time, and returns what arrived in it.
func TCP(from, to End, d time.Duration) (Transfer, error) {
	var l net.Listener
	err := to.Do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(to.IP.String(), "0"))
		return err
	})
	if err != nil {
		return Transfer{}, fmt.Errorf("listen in %s: %w", to.Netns, err)
	}
	defer l.Close()
	var c net.Conn
	err = from.Do(func() (err error) {
		c, err = net.DialTimeout("tcp", l.Addr().String(), d+5*time.Second)
		return err
	})
	if err != nil {
		return Transfer{}, fmt.Errorf("connect from %s: %w", from.Netns, err)
	}
	defer c.Close()
	result := make(chan Transfer, 1)
	go func() { result <- drain(l, d) }()
	block := make([]byte, 256<<10)
	c.SetWriteDeadline(time.Now().Add(d + time.Second))
	for {
		select {
		case t := <-result:
			if t.Bytes == 0 {
				return t, fmt.Errorf("nothing arrived in %v from %s in %s", d, from.Netns, to.Netns)
			}
			return t, nil
		default:
		}
		if _, err := c.Write(block); err != nil {
			return <-result, nil
		}
	}
}

// drain takes one connection and reads it for d from its first byte.
func drain(l net.Listener, d time.Duration) Transfer {
	c, err := l.Accept()
	if err != nil {
		return Transfer{}
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(d + 10*time.Second))
	one := make([]byte, 1)
	if _, err := io.ReadFull(c, one); err != nil {
		return Transfer{}
	}
	begun := time.Now()
	c.SetReadDeadline(begun.Add(d))
	n, last := int64(1), begun
	for buf := make([]byte, 256<<10); ; {
		k, err := c.Read(buf)
		n += int64(k)
		if k > 0 {
			last = time.Now()
		}
		if err != nil {
			return Transfer{Bytes: n, For: last.Sub(begun)}
		}
	}
}
