package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Entry is one write in the audit log: who did what, from where, and how the
// thing changed.
type Entry struct {
	ID     uint64    `json:"id"`
	Time   time.Time `json:"time"`
	Who    string    `json:"who" doc:"Token or user; empty on an open bench."`
	From   string    `json:"from" doc:"Address the request came from."`
	What   string    `json:"what" doc:"The operation." example:"put-link"`
	On     string    `json:"on,omitempty" doc:"What it was done to." example:"pair main"`
	Status int       `json:"status" doc:"HTTP status of the answer."`
	Forced bool      `json:"forced,omitempty" doc:"Another's lease was overridden."`
	Before any       `json:"before,omitempty"`
	After  any       `json:"after,omitempty"`
}

// auditMost is the size in bytes at which the log is renamed to .1 and begun
// anew, so that the state directory cannot fill.
const auditMost = 4 << 20

// tailMost is how many entries Tail can give back.
const tailMost = 1000

// Audit is the log of all writes: a file of JSON lines in the state
// directory, and the newest entries in memory.
type Audit struct {
	mu   sync.Mutex
	file string // "" keeps the tail only
	size int64
	torn bool // the last line has no end
	last uint64
	tail []Entry
}

// OpenAudit reads the log of the state directory dir; "" keeps no file.
func OpenAudit(dir string) (*Audit, error) {
	a := &Audit{}
	if dir == "" {
		return a, nil
	}
	a.file = filepath.Join(dir, "audit.jsonl")
	b, err := os.ReadFile(a.file)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	a.size = int64(len(b))
	a.torn = len(b) > 0 && b[len(b)-1] != '\n'
	for line := range bytes.Lines(b) {
		var e Entry
		// A line cut short by a crash is passed over; the rest stands.
		if json.Unmarshal(line, &e) == nil {
			a.last = max(a.last, e.ID)
			a.keep(e)
		}
	}
	return a, nil
}

func (a *Audit) keep(e Entry) {
	if len(a.tail) == tailMost {
		a.tail = append(a.tail[:0], a.tail[1:]...)
	}
	a.tail = append(a.tail, e)
}

// Add numbers the entry, keeps it and writes it down.
func (a *Audit) Add(e Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	e.ID = a.last
	a.keep(e)
	if a.file == "" {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	if err := a.write(append(b, '\n')); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

func (a *Audit) write(line []byte) error {
	if a.size+int64(len(line)) > auditMost {
		if err := os.Rename(a.file, a.file+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.size = 0
	}
	if a.torn {
		line = append([]byte{'\n'}, line...)
	}
	f, err := os.OpenFile(a.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := f.Write(line)
	a.size += int64(n)
	a.torn = n > 0 && n < len(line)
	return errors.Join(err, f.Close())
}

// Tail returns up to limit entries with an ID above after, oldest first.
func (a *Audit) Tail(after uint64, limit int) []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []Entry{}
	for _, e := range a.tail {
		if e.ID > after {
			out = append(out, e)
		}
	}
	if len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out
}
