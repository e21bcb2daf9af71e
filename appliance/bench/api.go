package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/appliance/store"
	"farlink/emulator/netlab"
)

// What the API has to bear beside traffic, without the wire noticing.
const (
	apiStreams = 50  // clients of the stream
	apiRate    = 200 // requests a second
	apiTraffic = 100e6
	apiTurns   = 4               // with and without load in turn, to a sample
	apiQuiet   = 2 * time.Second // of a turn without load
	apiLoaded  = 5 * time.Second // of one with it: 60 s in three samples
	apiWarm    = 300 * time.Millisecond
)

// apiLoad compares the ledger's lateness beside 100 Mbit/s of emulated
// traffic with and without a loaded API. Sender and callers stand for other
// machines, but share this one's processors with the box: the callers are
// below all else (nice), and that they get through is a figure of its own. A
// virtual machine's own stalls come by the second and are longer than what is
// measured, hence many short turns and their medians.
func apiLoad(ctx context.Context, b *Bench) error {
	d, err := newDaemon(ctx, "[pairs.boot]\ninline = '''\nname = \"bench/delay\"\n[down.path]\ndelay = \"10ms\"\n[up.path]\ndelay = \"10ms\"\n'''\n")
	if err != nil {
		return err
	}
	err = d.compare(ctx, b)
	return errors.Join(err, d.close())
}

func (d *daemon) compare(ctx context.Context, b *Bench) error {
	var quiet, loaded, rates, cpus, messages []float64
	for range b.Rounds * apiTurns {
		q, err := d.lateness(ctx, apiQuiet)
		if err != nil {
			return err
		}
		t, err := d.loaded(ctx)
		if err != nil {
			return err
		}
		quiet, loaded, cpus = append(quiet, q), append(loaded, t.late), append(cpus, t.cpu)
		rates = append(rates, float64(t.called.Answered)/t.Length.Seconds())
		messages = append(messages, float64(t.called.Messages)/t.Length.Seconds()/apiStreams)
	}
	f := Figure{Name: fmt.Sprintf("lateness p99 beside %d streams and %d requests/s", apiStreams, apiRate), Unit: "us",
		Value: Median(loaded), Samples: loaded, Peer: "idle API", PeerAt: Median(quiet), PeerAll: quiet, Target: "< 1.1 × idle API", Verdict: Pass}
	if f.Ratio = f.Value / f.PeerAt; !(f.Ratio < 1.1) {
		f.Verdict = Fail
	}
	b.add(f)
	b.atLeast("requests answered in that time", "1/s", rates, 0.99*apiRate)
	b.atLeast("messages to each stream", "1/s", messages, 9)
	b.note("daemon's CPU in that time", "% of a core", cpus)
	return nil
}

// turn is one with load.
type turn struct {
	*callers
	late float64 // p99, us
	cpu  float64 // of the daemon, % of a core
}

func (d *daemon) loaded(ctx context.Context) (t turn, err error) {
	if t.callers, err = d.call(ctx, apiLoaded+2*apiWarm); err != nil {
		return t, err
	}
	time.Sleep(apiWarm)
	before, err1 := cpu(d.process.Process.Pid)
	late, err2 := d.lateness(ctx, apiLoaded)
	after, err3 := cpu(d.process.Process.Pid)
	t.late, t.cpu = late, 100*(after-before).Seconds()/apiLoaded.Seconds()
	return t, errors.Join(err1, err2, err3, t.wait())
}

// daemon is a `farlink serve` of this binary on a lab of its own.
type daemon struct {
	*netlab.Lab
	process *exec.Cmd
	said    bytes.Buffer
	dir     string
	api     string
}

const daemonToken = "flk_of-the-bench-itself"

// newDaemon starts a daemon with what its configuration says after the pair.
func newDaemon(ctx context.Context, pair string) (d *daemon, err error) {
	lab, err := netlab.New(fmt.Sprintf("fd%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		return nil, err
	}
	d = &daemon{Lab: lab}
	if d.dir, err = os.MkdirTemp("", "farlink-bench-"); err != nil {
		return nil, errors.Join(err, lab.Close())
	}
	config := filepath.Join(d.dir, "config.toml")
	text := fmt.Sprintf("name = %q\nstate = %q\n[api]\nlisten = \"127.0.0.1:0\"\n[[api.tokens]]\nname = \"bench\"\nscope = \"admin\"\nsecret = %q\n"+
		"[[pairs]]\na = %q\nb = %q\nnetns = %q\n%s", lab.Box, filepath.Join(d.dir, "state"), daemonToken, lab.PortA, lab.PortB, lab.Box, pair)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, d.clear())
	}
	d.process = exec.CommandContext(ctx, "/proc/self/exe", "serve", "--config", config)
	d.process.Stderr = &d.said
	if err := d.process.Start(); err != nil {
		return nil, errors.Join(err, d.clear())
	}
	if err := d.stands(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// stands waits until the daemon answers and its pair emulates.
func (d *daemon) stands() error {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var at store.Daemon
		text, err := os.ReadFile(filepath.Join(d.dir, "state", store.DaemonFile))
		if err != nil || json.Unmarshal(text, &at) != nil {
			continue
		}
		d.api = at.API
		if s, err := d.state(); err == nil && s.Word == appliance.Emulating {
			return nil
		}
	}
	return errors.New("the daemon does not emulate after 10 s")
}

func (d *daemon) close() error {
	d.process.Process.Signal(unix.SIGTERM)
	err := d.process.Wait()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, d.said.Bytes())
	}
	return errors.Join(err, d.clear())
}

func (d *daemon) clear() error { return errors.Join(d.Lab.Close(), os.RemoveAll(d.dir)) }

func (d *daemon) state() (p appliance.PairState, err error) {
	answer, err := request(context.Background(), http.DefaultClient, d.api, http.MethodGet, "/api/v1/status", "")
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	var s appliance.State
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil || len(s.Pairs) != 1 {
		return p, fmt.Errorf("status: %d pairs, %w", len(s.Pairs), err)
	}
	return s.Pairs[0], nil
}

// lateness is the ledger's p99 in us over a run of its own with traffic.
func (d *daemon) lateness(ctx context.Context, length time.Duration) (float64, error) {
	answer, err := request(ctx, http.DefaultClient, d.api, http.MethodPatch, "/api/v1/link?new_run=true", "{}")
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	const size = 1250
	f, err := netlab.Flood(d.A, d.B, netlab.FloodOptions{Size: size, Rate: apiTraffic / 8 / size, For: length, Wait: 200 * time.Millisecond})
	if err != nil {
		return 0, err
	}
	s, err := d.state()
	if err != nil {
		return 0, err
	}
	if s.Figures == nil || s.Figures.Up.PacketsOut < f.Sent*99/100 || float64(f.Sent) < 0.98*apiTraffic/8/size*length.Seconds() {
		return 0, fmt.Errorf("of %d frames sent in %v, the book has %+v", f.Sent, length, s.Figures)
	}
	return s.Figures.LatenessP99, nil
}
