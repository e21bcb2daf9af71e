package steer

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Missing names the capabilities that this process would need for a wire and
// does not have.
func Missing() []string {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return nil // asked of the kernel anyhow, later and less clearly
	}
	has := func(c int) bool { return data[c/32].Effective>>(c%32)&1 == 1 }
	var missing []string
	for _, c := range []struct {
		name string
		bit  int
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_NET_RAW", unix.CAP_NET_RAW}, {"CAP_BPF", unix.CAP_BPF}} {
		if !has(c.bit) && !(c.bit == unix.CAP_BPF && has(unix.CAP_SYS_ADMIN)) {
			missing = append(missing, c.name)
		}
	}
	return missing
}

// Privileged returns an error that names what this process lacks, if
// anything.
func Privileged() error {
	if m := Missing(); len(m) > 0 {
		return fmt.Errorf("no privilege for XDP: missing %s (want root, or these capabilities)", strings.Join(m, ", "))
	}
	return nil
}
