package split

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"farlink/appliance/custody"
	"farlink/emulator/netspace"
)

// stands reports whether the namespaces and veths of the path are there, all
// of them and no others, as one before has made them.
func (p *Path) stands() bool {
	wanted := map[string]bool{}
	for _, s := range p.sides {
		wanted[s.name] = true
		whole := netspace.Do(p.config.Netns, func() error {
			for _, device := range []string{s.outer, s.inner} {
				l, err := netlink.LinkByName(device)
				if err != nil {
					return err
				}
				if l.Attrs().Alias != laid || l.Attrs().MTU != p.config.mtu() {
					return fmt.Errorf("%s is not as it is to be", device)
				}
			}
			return nil
		})
		if whole != nil || netspace.Do(s.netns, func() error { return nil }) != nil {
			return false
		}
	}
	for _, name := range []string{"near", "far"} {
		_, err := os.Stat(filepath.Join("/run/netns", newSide(p.config, name, "").netns))
		if !wanted[name] && err == nil {
			return false
		}
	}
	return true
}

// deleteNetns deletes a named namespace. A daemon in a mount namespace of its
// own (systemd's sandbox) that was killed took the mount with it, and left a
// plain file by that name.
func deleteNetns(name string) error {
	if err := custody.End(name); err != nil {
		return err
	}
	err := netns.DeleteNamed(name)
	if errors.Is(err, unix.EINVAL) {
		return os.Remove(filepath.Join("/run/netns", name))
	}
	return err
}
