package traffic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	grace      = 30 * time.Second       // that a command or a page may take beyond its duration
	serveLead  = 500 * time.Millisecond // that a server gets to begin
	outputKept = 64 << 10               // of what a command prints: the end
	outputTold = 4 << 10                // of it in the result
)

// command runs a command, with another beside it as its server.
func command(ctx context.Context, h Hosts, l Load) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(l.Duration)+grace, fmt.Errorf("did not end within %v and %v more", l.Duration, grace))
	defer cancel()
	this, other := h.side(l.On)
	if len(l.Serve) > 0 {
		serving, stop := context.WithCancel(ctx)
		server, err := start(serving, other, fill(l.Serve, h, l))
		if err != nil {
			stop()
			return Result{}, fmt.Errorf("serve: %w", err)
		}
		defer func() { stop(); _ = server.Wait() }() // it was told to end
		pause(ctx, serveLead)
	}
	begun := time.Now()
	c, err := start(ctx, this, fill(l.Command, h, l))
	if err != nil {
		return Result{}, err
	}
	err = c.Wait()
	f := map[string]float64{"exit_status": float64(c.ProcessState.ExitCode()), "took_s": time.Since(begun).Seconds()}
	printed := c.Stdout.(*ending).String()
	r := Result{Figures: f, Output: printed[max(0, len(printed)-outputTold):]}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", l.Command[0], err, lastLine(printed))
	}
	return r, pick(f, l.Pick, printed)
}

// fill puts the addresses in.
func fill(words []string, h Hosts, l Load) (out []string) {
	put := strings.NewReplacer("{a}", h.A.Address, "{b}", h.B.Address, "{duration}", strconv.Itoa(max(1, int(l.Duration.Seconds()))))
	for _, w := range words {
		out = append(out, put.Replace(w))
	}
	return out
}

// start starts a command at a host, in a group of its own, so that its
// children end with it.
func start(ctx context.Context, h Host, words []string) (*exec.Cmd, error) {
	words = append(append([]string{}, h.Via...), words...)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	out := &ending{}
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 2 * time.Second
	if err := h.do(c.Start); err != nil {
		return nil, err
	}
	return c, nil
}

// pick takes numbers from what a command printed.
func pick(into map[string]float64, what map[string]string, printed string) error {
	var errs []error
	for _, name := range sortedNames(what) {
		e, err := regexp.Compile(what[name])
		if err != nil {
			return err
		}
		found := e.FindAllStringSubmatch(printed, -1)
		if len(found) == 0 || len(found[0]) < 2 {
			errs = append(errs, fmt.Errorf("pick %s: nothing printed matches %q", name, what[name]))
			continue
		}
		text := found[len(found)-1][1]
		if into[name], err = strconv.ParseFloat(text, 64); err != nil {
			delete(into, name)
			errs = append(errs, fmt.Errorf("pick %s: got %q, want a number", name, text))
		}
	}
	return errors.Join(errs...)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// ending keeps the end of what is written.
type ending struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (e *ending) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.b.Write(p)
	if over := e.b.Len() - outputKept; over > 0 {
		e.b.Next(over)
	}
	return len(p), nil
}

func (e *ending) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.ToValidUTF8(e.b.String(), "?")
}
