package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// CallersVariable is the environment variable that makes a process of this
// binary the callers of a loaded API; main starts Callers when it is set.
const CallersVariable = "FARLINK_BENCH_CALLERS"

// orders say what callers do.
type orders struct {
	API     string
	Streams int
	Rate    int // requests a second
	Length  time.Duration
}

// called is what callers found.
type called struct{ Answered, Messages int64 }

// callers are a process that calls a daemon.
type callers struct {
	orders
	process *exec.Cmd
	out     bytes.Buffer
	called  called
}

// call starts callers, below everything else that this machine does: they
// stand for others.
func (d *daemon) call(ctx context.Context, length time.Duration) (*callers, error) {
	c := &callers{orders: orders{d.api, apiStreams, apiRate, length}}
	text, err := json.Marshal(c.orders)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable() // /proc/self would be nice's own
	if err != nil {
		return nil, err
	}
	c.process = exec.CommandContext(ctx, "nice", "-n", "19", self)
	c.process.Env = append(os.Environ(), CallersVariable+"="+string(text))
	c.process.Stdout, c.process.Stderr = &c.out, os.Stderr
	return c, c.process.Start()
}

func (c *callers) wait() error {
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("callers: %w", err)
	}
	return json.Unmarshal(c.out.Bytes(), &c.called)
}

// Callers opens streams and makes requests as the environment says, then
// prints what came; the status to exit with.
func Callers() int {
	c := &clients{http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	err := json.Unmarshal([]byte(os.Getenv(CallersVariable)), &c.orders)
	if err == nil {
		err = c.run()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(called{c.answered.Load(), c.messages.Load()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// clients are many of them, in the process of the callers.
type clients struct {
	orders
	http               http.Client
	answered, messages atomic.Int64
	failed             atomic.Pointer[error]
}

// asks is what the callers ask, one after the other: what panels and test
// benches ask all day.
var asks = []struct{ method, path, body string }{
	{http.MethodGet, "/api/v1/status", ""}, {http.MethodGet, "/api/v1/link", ""}, {http.MethodGet, "/api/v1/status", ""},
	{http.MethodGet, "/api/v1/lease", ""}, {http.MethodGet, "/api/v1/status", ""}, {http.MethodGet, "/api/v1/events?after=1", ""},
	{http.MethodGet, "/api/v1/status", ""}, {http.MethodGet, "/api/v1/series?window=10s", ""}, {http.MethodGet, "/metrics", ""},
	{http.MethodPut, "/api/v1/lease", `{"purpose":"bench","ttl":"1m"}`},
}

func (c *clients) run() error {
	ctx, end := context.WithTimeout(context.Background(), c.Length)
	defer end()
	var group sync.WaitGroup
	for range c.Streams {
		answer, err := request(ctx, &c.http, c.API, http.MethodGet, "/api/v1/stream", "")
		if err != nil {
			return err
		}
		group.Go(func() { c.listen(answer.Body) })
	}
	jobs := make(chan int, c.Rate)
	for range 16 {
		group.Go(func() {
			for i := range jobs {
				c.one(ctx, i)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(c.Rate))
	defer tick.Stop()
	begun := time.Now()
	for sent := 0; ctx.Err() == nil; <-tick.C {
		// What a tick that came late has left out is made good.
		for due := int(time.Since(begun).Seconds() * float64(c.Rate)); sent < due; sent++ {
			jobs <- sent
		}
	}
	close(jobs)
	group.Wait()
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// one makes a request and reads its answer to the end.
func (c *clients) one(ctx context.Context, i int) {
	a := asks[i%len(asks)]
	answer, err := request(ctx, &c.http, c.API, a.method, a.path, a.body)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	switch {
	case err == nil:
		c.answered.Add(1)
	case ctx.Err() == nil:
		c.failed.CompareAndSwap(nil, &err)
	}
}

// listen counts the samples of a stream until it ends.
func (c *clients) listen(body io.ReadCloser) {
	defer body.Close()
	for lines := bufio.NewReaderSize(body, 1<<16); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		if bytes.HasPrefix(line, []byte("event: sample")) {
			c.messages.Add(1)
		}
	}
}

// request asks a daemon of the bench.
func request(ctx context.Context, by *http.Client, api, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, api+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+daemonToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := by.Do(r)
	if err == nil && answer.StatusCode >= 400 {
		err = fmt.Errorf("%s %s: %s", method, path, answer.Status)
		answer.Body.Close()
	}
	return answer, err
}
