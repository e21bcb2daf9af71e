// Package chromium drives a headless Chromium in tests, over the DevTools
// protocol through a pipe: no port, no driver, no package.
package chromium

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Browser is a headless Chromium with one page.
type Browser struct {
	t       *testing.T
	in      *os.File
	mu      sync.Mutex
	last    int
	answers map[int]chan json.RawMessage
	console []string // what the page complained of
	session string
}

// Start starts Chromium with a window of that size; without one the test is skipped, in CI it
// fails.
func Start(t *testing.T, width, height int, flags ...string) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no chromium in CI")
		}
		t.Skip("no chromium here")
	}
	toR, toW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromR, fromW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(),
		fmt.Sprintf("--window-size=%d,%d", width, height)}, flags...)
	c := exec.Command(path, append(args, "about:blank")...)
	c.ExtraFiles = []*os.File{toR, fromW}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	toR.Close()
	fromW.Close()
	b := &Browser{t: t, in: toW, answers: map[int]chan json.RawMessage{}}
	go b.hear(bufio.NewReaderSize(fromR, 1<<20))
	t.Cleanup(func() {
		toW.Close() // Chromium ends with its pipe
		done := make(chan struct{})
		go func() { c.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			c.Process.Kill()
			<-done
		}
		fromR.Close()
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.Must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.Must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.Must("Page.enable", nil, nil)
	b.Must("Runtime.enable", nil, nil)
	b.Must("Log.enable", nil, nil)
	b.Must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	return b
}

// hear takes answers and complaints.
func (b *Browser) hear(from *bufio.Reader) {
	for {
		text, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0 && b.answers[m.ID] != nil:
			if m.Error != nil {
				m.Result = m.Error
			}
			b.answers[m.ID] <- m.Result
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded" && strings.Contains(string(m.Params), `"level":"error"`),
			m.Method == "Runtime.consoleAPICalled" && strings.Contains(string(m.Params), `"type":"error"`):
			b.console = append(b.console, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// Must makes a call of the protocol.
func (b *Browser) Must(method string, params any, into any) {
	b.t.Helper()
	b.mu.Lock()
	b.last++
	id := b.last
	answer := make(chan json.RawMessage, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case got := <-answer:
		if into != nil {
			if err := json.Unmarshal(got, into); err != nil {
				b.t.Fatalf("%s: %v in %s", method, err, got)
			}
		}
	case <-time.After(30 * time.Second):
		b.t.Fatalf("%s: no answer in 30 s", method)
	}
}

// Do runs JavaScript in the page and returns its value as text.
func (b *Browser) Do(script string) string {
	b.t.Helper()
	var got struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.Must("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &got)
	if got.Exception != nil {
		b.t.Fatalf("%s: %s", script, got.Exception.Exception.Description)
	}
	if got.Result.Value == nil {
		return ""
	}
	return fmt.Sprint(got.Result.Value)
}

// Open goes to an address.
func (b *Browser) Open(url string) { b.Must("Page.navigate", map[string]any{"url": url}, nil) }

// Until waits until the script says true.
func (b *Browser) Until(what, script string) {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); b.Do(script) != "true"; time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 20 s: %s; page: %.1500s; console: %v", what, b.Do("document.body?.innerText"), b.Complaints())
		}
	}
}

// Text waits until the page shows a text.
func (b *Browser) Text(want string) {
	b.t.Helper()
	b.Until("the page shows "+want, fmt.Sprintf("!!document.body?.innerText.includes(%q)", want))
}

// Click presses the first button that has the text.
func (b *Browser) Click(text string) {
	b.t.Helper()
	b.Until("a button "+text, fmt.Sprintf(`(() => { const x = [...document.querySelectorAll('button, a, summary')].find(e => e.innerText.includes(%q) && !e.disabled); x?.click(); return !!x })()`, text))
}

// Key presses a key.
func (b *Browser) Key(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key}
		if len(key) == 1 && kind == "keyDown" {
			p["text"] = key
		}
		if key == "Enter" {
			p["text"], p["windowsVirtualKeyCode"] = "\r", 13
		}
		b.Must("Input.dispatchKeyEvent", p, nil)
	}
}

// Type types into the element that a selector finds.
func (b *Browser) Type(selector, text string) {
	b.t.Helper()
	b.Until("a field "+selector, fmt.Sprintf(`(() => { const x = document.querySelector(%q); x?.focus(); return !!x })()`, selector))
	b.Must("Input.insertText", map[string]any{"text": text}, nil)
}

func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}

// Shot keeps a picture when FARLINK_SHOTS names a directory.
func (b *Browser) Shot(name string) {
	dir := os.Getenv("FARLINK_SHOTS")
	if dir == "" {
		return
	}
	var got struct {
		Data string `json:"data"`
	}
	b.Must("Page.captureScreenshot", nil, &got)
	png, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(dir+"/"+name+".png", png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}
