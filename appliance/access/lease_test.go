package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLease(t *testing.T) {
	c := newClock()
	d := NewDesk(c.now)
	if _, blocked := d.Blocks("anna"); blocked {
		t.Error("nobody's lease blocks")
	}
	if l, ok := d.Take("anna", "tests", time.Minute, false, false); !ok || l.Until != c.t.Add(time.Minute) {
		t.Fatalf("%+v %v", l, ok)
	}
	if l, blocked := d.Blocks("ben"); !blocked || l.Holder != "anna" || l.Purpose != "tests" {
		t.Errorf("%+v %v", l, blocked)
	}
	if _, blocked := d.Blocks("anna"); blocked {
		t.Error("the holder is blocked")
	}
	if _, ok := d.Take("ben", "", time.Minute, false, false); ok {
		t.Error("taken from its holder")
	}
	if _, ok := d.Release("ben", false); ok {
		t.Error("another released it")
	}
	c.after(59 * time.Second)
	if l, ok := d.Take("anna", "more", time.Minute, false, false); !ok || l.Since != c.t.Add(-59*time.Second) || l.Purpose != "more" {
		t.Errorf("renewal: %+v %v", l, ok)
	}
	c.after(time.Minute)
	if d.Look().Held() {
		t.Error("held at its end")
	}
}

func TestLeaseQueue(t *testing.T) {
	c := newClock()
	d := NewDesk(c.now)
	d.Take("anna", "", 10*time.Minute, false, false)
	d.Take("ben", "b", time.Minute, true, false)
	d.Take("cleo", "c", 2*time.Minute, true, false)
	d.Take("dora", "d", 3*time.Minute, true, false)
	if l := d.Look(); len(l.Waiters) != 3 || l.Waiters[0].Name != "ben" {
		t.Fatalf("%+v", l)
	}
	c.after(50 * time.Second)
	d.Take("cleo", "c", 2*time.Minute, true, false) // keeps her place by asking
	d.Take("dora", "d", 3*time.Minute, true, false)
	c.after(20 * time.Second) // ben has not asked for 70 s
	if l, ok := d.Release("anna", false); !ok || l.Holder != "cleo" || l.Until != c.t.Add(2*time.Minute) || len(l.Waiters) != 1 {
		t.Fatalf("%+v %v", l, ok)
	}
	if l, ok := d.Release("dora", false); !ok || len(l.Waiters) != 0 {
		t.Errorf("leaving the queue: %+v %v", l, ok)
	}
	d.Take("dora", "d", 3*time.Minute, true, false)
	if l, ok := d.Take("boss", "fire", time.Minute, false, true); !ok || l.Holder != "boss" || len(l.Waiters) != 1 {
		t.Errorf("by force: %+v %v", l, ok)
	}
	if l, _ := d.Release("boss", false); l.Holder != "dora" {
		t.Errorf("%+v", l)
	}
}

func TestAudit(t *testing.T) {
	dir := t.TempDir()
	a, err := OpenAudit(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"put-link", "post-reset", "put-lease"} {
		if err := a.Add(Entry{Who: "anna", What: what}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "audit.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"id":4,"who":"cut sh`) // a crash
	f.Close()
	if a, err = OpenAudit(dir); err != nil {
		t.Fatal(err)
	}
	if got := a.Tail(1, 10); len(got) != 2 || got[0].What != "post-reset" || got[1].ID != 3 {
		t.Errorf("after a crash: %+v", got)
	}
	a.Add(Entry{What: "whole again"})
	if a, err = OpenAudit(dir); err != nil {
		t.Fatal(err)
	}
	if got := a.Tail(3, 10); len(got) != 1 || got[0].What != "whole again" {
		t.Errorf("after the torn line: %+v", got)
	}
	if got := a.Tail(3, 0); len(got) != 0 {
		t.Errorf("none: %+v", got)
	}
	if got := a.Tail(0, 1); len(got) != 1 || got[0].ID != 4 {
		t.Errorf("the newest one: %+v", got)
	}
	big := strings.Repeat("x", auditMost/3)
	for range 5 {
		if err := a.Add(Entry{Who: "anna", After: big}); err != nil {
			t.Fatal(err)
		}
	}
	old, err1 := os.Stat(file + ".1")
	now, err2 := os.Stat(file)
	if err1 != nil || err2 != nil || old.Size() > auditMost || now.Size() > auditMost {
		t.Errorf("%v %v %v %v", old, err1, now, err2)
	}
	for range tailMost + 10 {
		a.Add(Entry{What: "x"})
	}
	if got := a.Tail(0, 2*tailMost); len(got) != tailMost || got[tailMost-1].ID != 9+tailMost+10 {
		t.Errorf("%d entries, last %d", len(got), got[len(got)-1].ID)
	}
}
