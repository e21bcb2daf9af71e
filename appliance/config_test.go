package appliance

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/pep/bundle"
)

func TestReferenceConfig(t *testing.T) {
	text, err := os.ReadFile("../docs/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	got, problems := ParseConfig(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := Config{
		Name: "bench-3", State: DefaultState,
		API: APIConfig{Listen: DefaultListen, AllowedHosts: []string{"bench-3.lab.example"}, Open: "none", TLS: "off",
			Tokens: []TokenConfig{{"ci", "drive", "flk_change-me-please"}}},
		Pairs: []PairConfig{{Name: "main", A: "eth1", B: "eth2", Fallback: Bypass, FailAfter: DefaultFailAfter,
			Memory: DefaultMemory, Boot: Want{Mode: Emulate, Link: Link{Profile: DefaultProfile}},
			Hosts: HostsConfig{HostConfig{"192.0.2.1", "dut"}, HostConfig{"192.0.2.2", "server"}}}},
	}
	m := got.Multipath
	if got.Multipath = nil; m == nil || m.Boot.Mode != bundle.Lab || len(m.Site.Paths) != 1 || m.Site.Near.Pins == "" || m.Site.Far.LAN != "eth3" {
		t.Errorf("docs/config.toml has the paths %+v", m)
	}
	for _, key := range append(tags(reflect.TypeFor[bundle.Site]()), tags(reflect.TypeFor[bundle.Carriage]())...) {
		if !strings.Contains(string(text), key) {
			t.Errorf("docs/config.toml does not name %q", key)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("docs/config.toml is\n%+v\nwant\n%+v", got, want)
	}
	for _, key := range keys(reflect.TypeFor[Config]()) {
		if !strings.Contains(string(text), key) {
			t.Errorf("docs/config.toml does not name %q", key)
		}
	}
}

// keys lists the keys of a document and of the tables in it, but not those
// of rules and proxies, which have documents of their own.
func keys(s reflect.Type) (all []string) {
	for s.Kind() == reflect.Slice {
		s = s.Elem()
	}
	if s.Kind() != reflect.Struct || s == reflect.TypeFor[Rule]() || strings.HasPrefix(s.PkgPath(), "farlink/pep") {
		return nil
	}
	for i := range s.NumField() {
		if key := s.Field(i).Tag.Get("toml"); key != "" {
			all = append(all, key)
		}
		all = append(all, keys(s.Field(i).Type)...)
	}
	return all
}

// tags lists the keys of a document and of the tables and lists in it, one
// level deep.
func tags(s reflect.Type) (all []string) {
	for i := range s.NumField() {
		f := s.Field(i)
		all = append(all, f.Tag.Get("toml"))
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.PkgPath() == s.PkgPath() && inner.Kind() == reflect.Struct && f.Tag.Get("toml") != "rules" {
			all = append(all, tags(inner)...)
		}
	}
	return all
}

// A site that cannot be is refused with all that is wrong.
func TestMultipathConfig(t *testing.T) {
	_, problems := ParseConfig([]byte("pairs = [{a = \"x\", b = \"y\"}]\n[multipath.site.near]\nnetns = \"n\"\n[[multipath.site.path]]\nname = \"p\"\n[multipath.boot]\nmode = \"both\"\nrules = [{path = \"q\", port = 5}]\n"))
	got := problems.Error()
	for _, want := range []string{"multipath.site.far", "multipath.site.near", "multipath.site.path[0]", "multipath.boot.mode", "multipath.boot.rules[0].port", "multipath.boot.rules[0].path"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not among %s", want, got)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	c, problems := ParseConfig([]byte("pairs = [{a = \"x\", b = \"y\", boot = {inline = \"name = 'own'\"}}]\n[[api.tokens]]\nname = \"n\"\nsecret = \"0123456789abcdef\"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	p := c.Pairs[0]
	if c.Name != host || c.State != DefaultState || c.API.Listen != DefaultListen || c.API.Tokens[0].Scope != "drive" ||
		p.Name != "main" || p.Fallback != Bypass || p.FailAfter != 250*link.Millisecond || p.Memory != 256e6 || p.Boot.Profile != "" {
		t.Errorf("%+v", c)
	}
}

func TestConfigProblems(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"all at once", `
name = "../x"
[api]
listen = "nowhere"
[[pairs]]
name = "UP"
a = "x"
b = "x"
fallback = "emulate"
fail_after = "1ms"
memory = "1kB"
mtu = 10000
hosts = {a = {address = "phone", netns = "dut"}}
[[pairs]]
name = "two"
b = "x"
[[pairs]]
name = "two"
a = "v"
b = "w"
`, `2:1: name: got "../x", want 1 to 64 letters, digits, dots, dashes or underscores
4:1: api.listen: got "nowhere", want an address with a port, such as "127.0.0.1:8080"
6:1: pairs[0].name: got "UP", want 1 to 32 of a to z, 0 to 9 and -
8:1: pairs[0].b: got "x", which is pairs[0].a, want a port of its own
9:1: pairs[0].fallback: got "emulate", want bypass or cut
10:1: pairs[0].fail_after: got 1ms, want 100ms to 10s
11:1: pairs[0].memory: got 1kB, want at least 1MB
12:1: pairs[0].mtu: got 10000, want 68 to 9202, or 0 to keep what the ports have
13:15: pairs[0].hosts.a.address: got "phone", want an IP address: both ends, or neither
13:1: pairs[0].hosts.b.address: got "", want an IP address: both ends, or neither
13:1: pairs[0].hosts.b.netns: got nothing, want the namespace that has the address: in the box's own one the traffic would not go over the ports
14:1: pairs[1].a: got nothing, want the name of an interface
16:1: pairs[1].b: got "x", which is pairs[0].b, want a port of its own
18:1: pairs[2].name: got "two" once more, want a name of its own`},
		{"types", "name = 3\n[[pairs]]\nmtu = \"big\"\nmemory = \"lots\"\n", `1:1: name: got 3, want text in quotes
2:1: pairs[0].a: got nothing, want the name of an interface
2:1: pairs[0].b: got nothing, want the name of an interface
3:1: pairs[0].mtu: got "big", want a whole number
4:1: pairs[0].memory: got size "lots": unknown unit "lots", want "2MB" (B, kB, MB, GB, KiB, MiB, GiB)`},
		{"token", "pairs = [{a = \"x\", b = \"y\"}]\napi.tokens = [{name = \"\", scope = \"all\", secret = \"short\"}]\n", `2:16: api.tokens[0].name: got "", want 1 to 64 letters, digits, dots, dashes or underscores
2:27: api.tokens[0].scope: got "all", want read, drive or admin
2:42: api.tokens[0].secret: got 5 characters, want at least 16`},
	}
	for _, c := range cases {
		_, problems := ParseConfig([]byte(c.text))
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.String())
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestEndlessConfig(t *testing.T) {
	if _, err := ReadConfig("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: more than") {
		t.Errorf("/dev/zero is a configuration: %v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("[[pairs]]\na = \"x\"\nb = \"y\"\n[pairs.boot]\nprofile = \"clear\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, problems := ParseConfig(text)
		if len(problems) == 0 && len(c.Pairs) == 0 {
			t.Error("a box without ports was taken")
		}
	})
}

// A value that cannot be read is one problem, and hides no others but those
// that may only follow from it.
func TestConfigProblemsBesideUnread(t *testing.T) {
	pair := "[[pairs]]\na = \"eth1\"\nb = \"eth2\"\n"
	for doc, want := range map[string][]string{
		"[api]\nlisten = \"foo\"\nopen = \"all\"\n[[pairs]]\na = \"eth1\"\nb = \"eth1\"\nmemory = \"x\"\nfail_after = \"1ms\"\n": {
			"2 api.listen", "3 api.open", "6 pairs[0].b", "7 pairs[0].memory", "8 pairs[0].fail_after"},
		"[[pairs]]\naa = \"eth1\"\nb = \"eth2\"\nmtu = 1\n":    {"2 pairs[0].aa", "4 pairs[0].mtu"},
		"[[pair]]\na = \"eth1\"\n":                             {"1 pair"},
		"pairs = 3\n":                                          {"1 pairs"},
		"[api]\ntls = 3\nkey = \"k\"\nopen = \"all\"\n" + pair: {"2 api.tls", "4 api.open"},
		pair + "netns = 3\n[[pairs]]\nname = \"two\"\na = \"eth1\"\nb = \"eth3\"\nmtu = 1\n": {"1 pairs[0].name", "4 pairs[0].netns", "9 pairs[1].mtu"},
		"name = \"x y\"\n[multipath.boot]\nmode = 3\n" + pair:                                {"1 name", "3 multipath.boot.mode"},
		pair + "\n\n\n\n[[bar]]\n":                  {"8 bar"},
		pair + "[down.queue]\nrate = \"8Mbit/s\"\n": {"4 down"},
	} {
		_, problems := ParseConfig([]byte(doc))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d %s", p.Line, p.Path))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n%v\nwant %q", doc, problems, want)
		}
	}
}
