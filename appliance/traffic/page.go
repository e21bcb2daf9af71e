package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// requestSize is about that of a request with its headers.
const requestSize = 400

// page loads pages one after another: the device asks for each object over a
// connection of its own, several at a time, as an old browser does. The page
// that is under way when the duration is over is loaded to its end.
func page(ctx context.Context, h Hosts, l Load) (Result, error) {
	length := time.Duration(l.Duration)
	ctx, cancel := context.WithTimeout(ctx, length+grace)
	defer cancel()
	listener, err := h.B.listen(ctx, l.Congestion)
	if err != nil {
		return Result{}, fmt.Errorf("listen at b: %w", err)
	}
	var served sync.WaitGroup
	defer served.Wait()
	defer listener.Close()
	served.Go(func() { serve(ctx, listener, int(l.Size), &served) })
	begun := time.Now()
	var loads, objects []point
	for {
		asked := time.Since(begun)
		took, err := loadPage(ctx, h.A, listener.Addr().String(), l)
		if ctx.Err() != nil {
			break // it is not whole
		}
		if err != nil {
			return Result{}, err
		}
		loads = append(loads, point{asked, (time.Since(begun) - asked).Seconds() * 1e3})
		for _, ms := range took {
			objects = append(objects, point{asked, ms})
		}
		if !pause(ctx, time.Duration(l.Every)) || time.Since(begun) >= length {
			break
		}
	}
	skip := time.Duration(l.Skip)
	whole, parts := after(loads, skip), after(objects, skip)
	r := Result{Figures: known(map[string]float64{"pages": float64(len(whole)), "load_mean_ms": mean(whole), "load_p95_ms": quantile(whole, 0.95),
		"load_max_ms": quantile(whole, 1), "object_mean_ms": mean(parts), "object_p95_ms": quantile(parts, 0.95)}),
		Series: []Column{spread("load_ms", loads, length, length)}}
	if len(whole) == 0 {
		return r, fmt.Errorf("no page that began between %v and %v was whole %v later", l.Skip, l.Duration, grace)
	}
	return r, nil
}

// serve answers each request with an object.
func serve(ctx context.Context, listener net.Listener, size int, work *sync.WaitGroup) {
	object := make([]byte, size)
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		work.Go(func() {
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { abort(c) })
			defer stop()
			if _, err := io.ReadFull(c, make([]byte, requestSize)); err == nil {
				_, _ = c.Write(object) // who asked may have gone
			}
		})
	}
}

// loadPage asks for all objects and returns how long each took, in ms.
func loadPage(ctx context.Context, from Host, address string, l Load) (took []float64, err error) {
	var mu sync.Mutex
	var work sync.WaitGroup
	left := make(chan struct{}, l.Objects)
	for range l.Objects {
		left <- struct{}{}
	}
	close(left)
	for range min(l.Parallel, l.Objects) {
		work.Go(func() {
			for range left {
				ms, bad := loadObject(ctx, from, address, int64(l.Size))
				mu.Lock()
				took, err = append(took, ms), errors.Join(err, bad)
				mu.Unlock()
				if bad != nil {
					return
				}
			}
		})
	}
	work.Wait()
	return took, err
}

func loadObject(ctx context.Context, from Host, address string, size int64) (ms float64, err error) {
	asked := time.Now()
	c, err := from.dial(ctx, address, "")
	if err != nil {
		return 0, fmt.Errorf("connect from a: %w", err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { abort(c) })
	defer stop()
	if _, err := c.Write(make([]byte, requestSize)); err != nil {
		return 0, err
	}
	if n, err := io.Copy(io.Discard, c); err != nil || n != size {
		return 0, fmt.Errorf("object: %d of %d bytes came: %w", n, size, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return time.Since(asked).Seconds() * 1e3, nil
}
