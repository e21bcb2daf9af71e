// Package accept takes TCP connections from listeners for those who serve
// them.
package accept

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"
)

// pause is how long an accept that failed is not tried again. Descriptors have
// run out, most likely: who comes waits in the backlog.
const pause = 10 * time.Millisecond

// Each hands every connection that comes at the listeners to take, with the
// number of its listener, until ctx ends; then it closes the listeners and
// returns. Take is called by one goroutine per listener and must not wait for
// its connection. An accept that fails is logged under what and tried again.
func Each(ctx context.Context, log *slog.Logger, what string, take func(*net.TCPConn, int), listeners ...*net.TCPListener) {
	var loops sync.WaitGroup
	defer loops.Wait()
	for i, l := range listeners {
		loops.Go(func() {
			defer context.AfterFunc(ctx, func() { l.Close() })()
			for {
				c, err := l.AcceptTCP()
				switch {
				case ctx.Err() != nil:
					if err == nil {
						c.Close()
					}
					return
				case err != nil:
					log.Warn(what+": accept", "error", err)
					time.Sleep(pause)
				default:
					take(c, i)
				}
			}
		})
	}
}
