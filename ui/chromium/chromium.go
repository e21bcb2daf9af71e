// Package chromium drives a headless Chromium in tests, through Playwright:
// drive.mjs runs under node and is told what to do line by line.
package chromium

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"farlink/emulator/need"
)

// Browser is a headless Chromium with one page.
type Browser struct {
	t       *testing.T
	in      io.WriteCloser
	answers chan answer
}

type answer struct {
	Value any    `json:"value"`
	Error string `json:"error"`
}

// ask is a line that drive.mjs reads.
type ask map[string]any

const (
	startsIn  = 60 * time.Second // Chromium and node, on a machine that is busy
	answersIn = 30 * time.Second
	waits     = 20 * time.Second // for what the page is to show
)

// Start starts Chromium with a window of that size in CSS pixels; without one, node or
// Playwright the test is skipped, in CI it fails.
func Start(t *testing.T, width, height int, flags ...string) *Browser {
	t.Helper()
	path := need.Program(t, "chromium")
	dir := install(t)
	if flags == nil {
		flags = []string{}
	}
	with, err := json.Marshal(ask{"path": path, "width": width, "height": height, "flags": flags})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", filepath.Join(dir, "drive.mjs"), string(with))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, in: in, answers: make(chan answer, 1)}
	heard := make(chan struct{})
	go func() { b.hear(out); close(heard) }()
	t.Cleanup(func() { end(c, in, heard) })
	b.answer("start", startsIn)
	return b
}

// end closes the browser by closing the script's input.
func end(c *exec.Cmd, in io.Closer, heard chan struct{}) {
	in.Close()
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		c.Process.Kill()
		<-heard
	}
	c.Wait()
}

// hear takes answers until the script ends.
func (b *Browser) hear(out io.Reader) {
	defer close(b.answers)
	for in := bufio.NewReaderSize(out, 1<<20); ; {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text, &a) != nil {
			a.Error = fmt.Sprintf("not an answer: %.200s", text)
		}
		b.answers <- a
	}
}

func (b *Browser) answer(to string, within time.Duration) answer {
	b.t.Helper()
	select {
	case a, ok := <-b.answers:
		if !ok {
			b.t.Fatalf("%s: the browser has gone", to)
		}
		return a
	case <-time.After(within):
		b.t.Fatalf("%s: no answer in %s", to, within)
	}
	return answer{}
}

// call asks something and returns what came of it.
func (b *Browser) call(what ask) answer {
	b.t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, '\n')); err != nil {
		b.t.Fatalf("%.200s: %v", text, err)
	}
	return b.answer(fmt.Sprintf("%.200s", text), answersIn)
}

// must asks something that is to succeed.
func (b *Browser) must(what ask) any {
	b.t.Helper()
	a := b.call(what)
	if a.Error != "" {
		b.t.Fatalf("%.300v: %s", what, a.Error)
	}
	return a.Value
}

// Do runs JavaScript in the page and returns its value as text.
func (b *Browser) Do(script string) string {
	b.t.Helper()
	return fmt.Sprint(b.must(ask{"do": "script", "text": script}))
}

// Open goes to an address.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.must(ask{"do": "open", "url": url})
}

// Until waits until the script says true. While the page is loaded anew a
// script may fail; that is waited out too.
func (b *Browser) Until(what, script string) {
	b.t.Helper()
	for deadline := time.Now().Add(waits); ; time.Sleep(30 * time.Millisecond) {
		a := b.call(ask{"do": "script", "text": script})
		if a.Value == true {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %s: %s; %s; page: %.1500s; console: %v", waits, what, a.Error, b.Do("document.body?.innerText"), b.Complaints())
		}
	}
}

// Text waits until the page shows a text.
func (b *Browser) Text(want string) {
	b.t.Helper()
	b.Until("the page shows "+want, fmt.Sprintf("!!document.body?.innerText.includes(%q)", want))
}

// Click presses the first button that has the text with the mouse, as soon as it can be reached.
func (b *Browser) Click(text string) {
	b.t.Helper()
	find := fmt.Sprintf(`(() => { document.querySelector('[data-press]')?.removeAttribute('data-press');
		const x = [...document.querySelectorAll('button, a, summary')].find(e => e.innerText.includes(%q) && !e.disabled); x?.setAttribute('data-press', ''); return !!x })()`, text)
	for deadline := time.Now().Add(waits); ; {
		b.Until("a button "+text, find)
		a := b.call(ask{"do": "press", "selector": "[data-press]"})
		if a.Error == "" {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("click %s: %s", text, a.Error)
		}
	}
}

// Key presses a key.
func (b *Browser) Key(key string) {
	b.t.Helper()
	b.must(ask{"do": "key", "key": key})
}

// Insert types where the focus is.
func (b *Browser) Insert(text string) {
	b.t.Helper()
	b.must(ask{"do": "insert", "text": text})
}

// Type types into the element that a selector finds.
func (b *Browser) Type(selector, text string) {
	b.t.Helper()
	b.Until("a field "+selector, fmt.Sprintf(`(() => { const x = document.querySelector(%q); x?.focus(); return !!x })()`, selector))
	b.Insert(text)
}

// Saved presses a key and keeps what the page downloads then as file.
func (b *Browser) Saved(key, file string) {
	b.t.Helper()
	b.must(ask{"do": "saved", "key": key, "file": file})
}

// Complaints are errors of the page's scripts and console so far.
func (b *Browser) Complaints() (all []string) {
	b.t.Helper()
	said, _ := b.must(ask{"do": "complaints"}).([]any)
	for _, one := range said {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// Shot keeps a picture when FARLINK_SHOTS names a directory.
func (b *Browser) Shot(name string) {
	b.t.Helper()
	if dir := os.Getenv("FARLINK_SHOTS"); dir != "" {
		b.must(ask{"do": "shot", "file": filepath.Join(dir, name+".png")})
	}
}
