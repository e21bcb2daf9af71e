package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	writeMost   = 5 * time.Second  // for one message to one client
	silenceMost = 15 * time.Second // then a comment keeps proxies from cutting
	retryMillis = 1000
)

// MediaType is that of server-sent events.
const MediaType = "text/event-stream"

// Serve sends hello, then what the client missed, then what comes, until the
// client or the server goes, or the client is too slow.
func (c *Client) Serve(ctx context.Context, w http.ResponseWriter, hello any) {
	defer c.Leave()
	data, err := json.Marshal(hello)
	if err != nil { // cannot be: the types are ours
		return
	}
	to := sender{w, http.NewResponseController(w)}
	if to.send(fmt.Appendf(nil, "retry: %d\n\n", retryMillis)) != nil {
		return
	}
	for _, m := range append([]message{newMessage(c.from, "hello", data)}, c.past...) {
		if to.send(m.text) != nil {
			return
		}
	}
	c.past = nil
	c.follow(ctx, to)
}

func (c *Client) follow(ctx context.Context, to sender) {
	silence := time.NewTimer(silenceMost)
	defer silence.Stop()
	for {
		text := []byte(":\n\n")
		select {
		case <-ctx.Done():
			return
		case m, ok := <-c.live:
			if !ok {
				return
			}
			text = m.text
		case <-silence.C:
		}
		silence.Reset(silenceMost)
		if to.send(text) != nil {
			return
		}
	}
}

// sender writes messages to one client, each within writeMost.
type sender struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (s sender) send(text []byte) error {
	// Writers of tests know no deadline.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeMost))
	if _, err := s.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}
