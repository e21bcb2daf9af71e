package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"farlink/appliance"
	"farlink/appliance/lab"
	"farlink/emulator/need"
)

// write writes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServeRefuses(t *testing.T) {
	need.Root(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ports := "[[pairs]]\na = \"x0\"\nb = \"x1\"\n"
	cases := []struct{ name, config, want string }{
		{"toml", "name = ", `config.toml:1:7: name: got unexpected EOF; expected value, want a TOML document`},
		{"unknown key", "stat = \"x\"\n" + ports, `config.toml:1:1: stat: got unknown key "stat", want "state"`},
		{"unknown key below", ports + "fallbak = \"cut\"\n", `config.toml:4:1: pairs[0].fallbak: got unknown key "fallbak", want "fallback"`},
		{"several", "[api]\nlisten = 8080\n[[pairs]]\na = \"x0\"\nfallback = \"hope\"\nfail_after = \"1ms\"\n", `config.toml:2:1: api.listen: got 8080, want text`},
		{"no pairs", "", `pairs: got none, want at least one [[pairs]]`},
		{"same port", "[[pairs]]\na = \"x0\"\nb = \"x0\"\n", `pairs[0].b: got "x0", which is pairs[0].a, want a port of its own`},
		{"boot profile", ports + "[pairs.boot]\nprofile = \"geo/qirse\"\n", `pair main: boot: profile: got `},
		{"no such port", ports, "port x0: no such interface; want one that `ip link` shows"},
		{"loopback", "[[pairs]]\na = \"lo\"\nb = \"x1\"\n", "port lo: is the loopback interface"},
		{"no such namespace", ports + "netns = \"nowhere\"\n", `no network namespace "nowhere"`},
		{"short secret", ports + "[[api.tokens]]\nname = \"ci\"\nsecret = \"x\"\n", "api.tokens[0].secret: got 1 characters, want at least 16"},
		{"address in use", fmt.Sprintf("[api]\nlisten = %q\n%s", taken.Addr(), ports), "address already in use; want a free address as api.listen"},
	}
	for _, c := range cases {
		state := t.TempDir()
		text := c.config
		if c.name != "toml" && c.name != "unknown key" && !strings.Contains(text, "[api]") {
			text = "api.listen = \"127.0.0.1:0\"\n" + text
			c.want = strings.Replace(c.want, "toml:4:", "toml:6:", 1)
		}
		if c.name != "toml" && c.name != "unknown key" && c.name != "several" {
			text = fmt.Sprintf("state = %q\n", state) + text
		}
		path := write(t, "config.toml", text)
		_, stderr, status := farlink(t, "serve", "--config", path)
		if status != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d\n%swant\n%s", c.name, status, stderr, c.want)
		}
		if left, _ := filepath.Glob(state + "/*.json"); len(left) > 0 && c.name != "address in use" {
			t.Errorf("%s leaves %v", c.name, left)
		}
	}
}

func TestServeRefusesPortsInUse(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	config, err := os.ReadFile(lab.Root + "/" + l.Name + "/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	same := write(t, "config.toml", string(config))
	if _, stderr, status := farlink(t, "serve", "--config", same); status != 1 || !strings.Contains(stderr, "is in use by another farlink; want one of its own as state") {
		t.Errorf("same state directory: %d %s", status, stderr)
	}
	own := strings.Replace(string(config), "/"+l.Name+"/state", "/"+l.Name+"/other", 1)
	other := write(t, "config.toml", own)
	if _, stderr, status := farlink(t, "serve", "--config", other); status != 1 || !strings.Contains(stderr, "port a1: in use by another farlink; want a port of no other box") {
		t.Errorf("same ports: %d %s", status, stderr)
	}
	// The first one did not notice.
	least(t, ping(t, l, "10.77.0.2", 2))
	if s := state(t, l); s.Word != appliance.Emulating || s.Engine.Restarts != 0 {
		t.Errorf("%+v", s)
	}
}

func TestServeWithoutPrivilege(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	path := lab.Root + "/" + l.Name + "/config.toml"
	syscall.Kill(l.PID, syscall.SIGTERM)
	eventually(t, 5*time.Second, "the daemon ends", func() bool { return ended(l.PID) })
	out := sh(t, "capsh --drop=cap_net_admin,cap_sys_admin,cap_bpf,cap_net_raw -- -c 'FARLINK_TEST=1 timeout 10 "+self(t)+" serve --config "+path+"; echo status $?' 2>&1")
	if !strings.Contains(out, "status 1") || !strings.Contains(out, "operation not permitted") {
		t.Errorf("%s", out)
	}
	if left, _ := filepath.Glob(lab.Root + "/" + l.Name + "/state/ports-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHangupReloads(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	path := lab.Root + "/" + l.Name + "/config.toml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log := func() string { return sh(t, "cat "+lab.Root+"/"+l.Name+"/daemon.log") }
	engine := state(t, l).Engine.PID
	change := func(from, to string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(l.PID, syscall.SIGHUP)
	}
	change("netns = ", "nets = ")
	eventually(t, 3*time.Second, "a complaint", func() bool { return strings.Contains(log(), "not taken, all stays as it was") })
	if s := state(t, l); s.Engine.PID != engine {
		t.Error("a bad configuration moved the engine")
	}
	second := "[[api.tokens]]\nname = \"second\"\nsecret = \"flk_sixteen-or-more\"\n\n[[pairs]]"
	change("[[pairs]]", second)
	eventually(t, 3*time.Second, "a second token", func() bool {
		m := l
		m.Token = "flk_sixteen-or-more"
		status, _ := ask(t, m, "GET", "/status", "")
		return status == 200
	})
	if s := state(t, l); s.Engine.PID != engine {
		t.Error("a new token moved the engine")
	}
	change("[[pairs]]", "[[pairs]]\nfail_after = \"400ms\"")
	eventually(t, 5*time.Second, "another engine", func() bool {
		s := state(t, l)
		return s.Word == appliance.Emulating && s.Engine.PID != engine
	})
	least(t, ping(t, l, "10.77.0.2", 2))
}

func TestDoctor(t *testing.T) {
	need.Root(t)
	out := must(t, "doctor")
	for _, name := range []string{"kernel", "privileges", "AF_XDP sockets", "BPF file system", "locked memory", "real-time priority"} {
		if !strings.Contains(out, name) {
			t.Errorf("doctor does not look at %q:\n%s", name, out)
		}
	}
	path := write(t, "config.toml", "[[pairs]]\na = \"lo\"\nb = \"none0\"\n")
	out, _, status := farlink(t, "doctor", "--config", path)
	if status != 1 || !strings.Contains(out, "port lo: is the loopback interface") || !strings.Contains(out, "port none0: no such interface") {
		t.Errorf("bad ports: %d\n%s", status, out)
	}
	out = sh(t, "capsh --drop=cap_net_admin,cap_sys_admin,cap_ipc_lock,cap_sys_nice -- -c 'ulimit -l 64; ulimit -r 0; FARLINK_TEST=1 "+self(t)+" doctor; echo status $?' 2>&1")
	for _, want := range []string{"failure  privileges", "CAP_NET_ADMIN (set ports, attach XDP)", "failure  locked memory", "LimitMEMLOCK=infinity", "warning  real-time priority", "status 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("without privileges: want %q in\n%s", want, out)
		}
	}
}

func TestWatchStatus(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	c := another("status", "--lab", l.Name, "--watch")
	printed, err := os.Create(filepath.Join(t.TempDir(), "watched"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	c.Stdout = printed
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out := func() string { return sh(t, "cat "+printed.Name()) }
	eventually(t, 3*time.Second, "it is shown twice", func() bool { return strings.Count(out(), "EMULATING") >= 2 })
	c.Process.Signal(syscall.SIGINT)
	if err := c.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if !strings.Contains(out(), "Mbit/s") {
		t.Errorf("watched:\n%s", out())
	}
}

func TestApplyFiles(t *testing.T) {
	t.Parallel()
	l := labUp(t)
	good := write(t, "good.toml", "name = \"mine\"\n[down.path]\ndelay = \"20ms\"\n")
	if out := must(t, "apply", "--lab", l.Name, "--dry-run", good); !strings.Contains(out, "the box would take it") || state(t, l).ETag != "v0" {
		t.Errorf("dry run: %s", out)
	}
	if out, stderr, _ := farlink(t, "apply", "--lab", l.Name, good); !strings.Contains(out, "main: mine@") || !strings.Contains(stderr, "good.toml:1:1: warning: up.path") {
		t.Errorf("%s%s", out, stderr)
	}
	bad := write(t, "bad.toml", "[down.path]\ndelay = 20\n[up]\nfoo = 1\n")
	_, stderr, status := farlink(t, "apply", "--lab", l.Name, bad)
	if status != 1 || !strings.Contains(stderr, "bad.toml:2:1: down.path.delay: got 20, want") || !strings.Contains(stderr, "bad.toml:4:1: up.foo: got") {
		t.Errorf("%d %s", status, stderr)
	}
	if _, stderr, status := farlink(t, "apply", "--api", l.API, "clear"); status != 1 || !strings.Contains(stderr, "want --token, FARLINK_TOKEN or --lab") {
		t.Errorf("no token: %d %s", status, stderr)
	}
}

func TestStatuses(t *testing.T) {
	good := write(t, "good.toml", "about = \"x\"\n[down.queue]\nrate = \"8Mbit/s\"\n[up.queue]\nrate = \"8Mbit/s\"\n")
	bad := write(t, "bad.toml", "[down.loss]\nprobability = 2\n[up.path]\ndelay = \"0s\"\njitter.spread = \"5ms\"\n[up.loss]\nprobability = -1\n")
	unknown := write(t, "unknown.toml", "[down.loss]\nfoo = 1\n[up]\nbar = 2\n")
	cases := []struct {
		args   string
		status int
		want   string
	}{
		{"", 0, "Usage:"},
		{"nonsense", 2, `unknown command "nonsense" for "farlink"`},
		{"lab nonsense", 2, `unknown command "nonsense" for "farlink lab"`},
		{"lab", 0, "Make a laboratory"},
		{"lab up --nonsense", 2, "unknown flag: --nonsense"},
		{"lab up --seed x", 2, `--seed: got "x", want a whole number`},
		{"lab up --name UPPER", 2, `lab name "UPPER": want 1 to 11 of a to z`},
		{"lab up --mtu 5", 2, "mtu 5: want 1280"},
		{"lab up --carriers 2 --profile clear", 2, "carriers have a profile each"},
		{"lab exec", 2, "want a side"},
		{"lab exec a --", 2, "want a side"},
		{"lab exec --name nolab a -- true", 1, `no lab "nolab"`},
		{"lab down --name nolab", 1, `no lab "nolab"`},
		{"serve extra", 2, `unknown command "extra" for "farlink serve"`},
		{"serve --config /nowhere/x.toml", 1, "/nowhere/x.toml: no such file"},
		{"validate", 2, "requires at least 1 arg"},
		{"validate " + good, 0, "ok"},
		{"validate " + bad, 1, "bad.toml:2:1: down.loss.probability: got 2, want"},
		{"validate " + bad, 1, "bad.toml:7:1: up.loss.probability: got -1, want"},
		{"validate " + unknown, 1, `unknown.toml:2:1: down.loss.foo: got unknown key "foo"`},
		{"validate " + unknown, 1, `unknown.toml:4:1: up.bar: got unknown key "bar"`},
		{"validate ../../../docs/config.toml", 0, "ok"},
		{"status", 1, "want --lab NAME or --api ADDRESS"},
		{"validate /nowhere", 1, "/nowhere: got no such file"},
		{"validate /nowhere " + bad + " nope " + unknown, 1, "bad.toml:7:1: up.loss.probability: got -1, want"},
		{"validate /nowhere " + bad + " nope " + unknown, 1, "unknown.toml:4:1: up.bar"},
		{"validate /nowhere " + bad + " nope " + unknown, 1, `unknown profile "nope"`},
		{"profiles", 0, "geo/qirse-sat"},
		{"profiles --json", 0, `"name": "geo/qirse-sat"`},
		{"profiles show geo/qirse-sat", 0, "about = "},
		{"profiles show nope", 1, "nope"},
		{"apply", 2, "accepts 1 arg"},
		{"apply --api 127.0.0.1:9 clear", 1, "no box answers at http://127.0.0.1:9"},
		{"apply --lab nolab clear", 1, `no lab "nolab"`},
		{"status --api 127.0.0.1:9 --lab x", 2, "none of the others can be"},
		{"version", 0, "farlink devel"},
		{"version --json", 0, `"version": "devel"`},
		{"openapi", 0, "openapi: 3.1"},
		{"completion bash", 0, "bash completion"},
	}
	for _, c := range cases {
		out, stderr, status := farlink(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(out+stderr, c.want) {
			t.Errorf("farlink %s: status %d, want %d and %q\n%s%s", c.args, status, c.status, c.want, out, stderr)
		}
	}
}

// Every command explains itself, with an example.
func TestHelp(t *testing.T) {
	root, _ := command()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		if c.Short == "" || !c.HasSubCommands() && c.Example == "" && c.Name() != "help" {
			t.Errorf("%s: no description or no example", c.CommandPath())
		}
		// What a box answers is data, but where it goes into a file.
		if c.Flags().Lookup("token") != nil && c.Flags().Lookup("json") == nil && c.Flags().Lookup("out") == nil {
			t.Errorf("%s prints data, but no JSON", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: no description", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(root)
}
