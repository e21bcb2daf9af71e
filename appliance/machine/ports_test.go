package machine

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"farlink/appliance"
	"farlink/appliance/store"
	"farlink/emulator/need"
)

// What a plan says of ports is what taking them would: those of a daemon that
// runs are in use, and free again after it; looking takes nothing.
func TestPlanOfPortsInUse(t *testing.T) {
	need.Root(t)
	ns := fmt.Sprintf("flm%d", os.Getpid())
	script := fmt.Sprintf("ip netns add %[1]s; ip -n %[1]s link add pa type veth peer name ha; ip -n %[1]s link add pb type veth peer name hb", ns)
	if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", ns).Run() })
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k, pair := Ports{Store: s}, appliance.PairConfig{Name: "main", A: "pa", B: "pb", Netns: ns}
	if steps, err := k.Plan(pair); err != nil || len(steps) == 0 {
		t.Fatalf("free ports: %d steps, %v", len(steps), err)
	}
	held, err := k.Prepare(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Plan(pair); err == nil || !strings.Contains(err.Error(), "port pa: in use by another farlink; want") {
		t.Errorf("ports in use: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Plan(pair); err != nil {
		t.Errorf("ports given back: %v", err)
	}
}
