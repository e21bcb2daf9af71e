package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"farlink/appliance"
	"farlink/appliance/ports"
	"farlink/emulator/need"
)

func sh(t *testing.T, script string) {
	t.Helper()
	if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// What is said of veths follows their peers: XDP by whether they poll,
// checksums by who finishes them.
func TestPortsOfVeths(t *testing.T) {
	need.Root(t)
	ns := fmt.Sprintf("fld%d", os.Getpid())
	sh(t, "ip netns add "+ns)
	t.Cleanup(func() { sh(t, "ip netns del "+ns) })
	for _, p := range []string{"pa", "pb"} {
		sh(t, fmt.Sprintf("ip -n %[1]s link add %[2]s type veth peer name h%[2]s; ip netns exec %[1]s ethtool -K h%[2]s gro off tx on; ip -n %[1]s link set %[2]s up; ip -n %[1]s link set h%[2]s up", ns, p))
	}
	config := appliance.Config{Pairs: []appliance.PairConfig{{Name: "main", A: "pa", B: "pb", Netns: ns}}}
	found := func() string {
		var s strings.Builder
		for _, f := range Ports(config, func(appliance.PairConfig) ([]ports.Step, error) { return nil, nil }) {
			fmt.Fprintln(&s, f.Level, f.Name, f.Got, f.Do)
		}
		return s.String()
	}
	said := found()
	for _, want := range []string{"warning port pb generic XDP: pa is a veth whose peer does not poll", "warning checksums at pa pa is a veth whose peer hpa in namespace " + ns, "ethtool -K hpb tx off"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	sh(t, fmt.Sprintf("for h in hpa hpb; do ip netns exec %s ethtool -K $h gro on tx off; done", ns))
	if said := found(); strings.Contains(said, "warning") || strings.Count(said, "native XDP") != 2 {
		t.Errorf("peers that poll and finish their checksums:\n%s", said)
	}
}
