package ports

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Apply does the steps in order. When one cannot be done it takes back those
// before it and returns the error; a driver that does not know a queue count
// or a feature is no error.
func (n *Namespace) Apply(steps []Step) error {
	for i, s := range steps {
		err := n.do(s)
		if err == nil || optional(s) && errors.Is(err, unix.EOPNOTSUPP) {
			continue
		}
		return errors.Join(fmt.Errorf("set %s: %w", s, err), n.Restore(steps[:i]))
	}
	return nil
}

// Restore takes the steps back, last first. A port that is gone needs
// nothing; other errors do not keep it from the rest.
func (n *Namespace) Restore(steps []Step) error {
	var all error
	for _, s := range Undo(steps) {
		err := n.do(s)
		var none netlink.LinkNotFoundError
		if err == nil || errors.As(err, &none) || errors.Is(err, unix.ENODEV) || optional(s) && errors.Is(err, unix.EOPNOTSUPP) {
			continue
		}
		all = errors.Join(all, fmt.Errorf("restore %s: %w", s, err))
	}
	return all
}

func optional(s Step) bool {
	return strings.HasPrefix(s.Setting, "feature ") || strings.HasSuffix(s.Setting, "queues")
}

// do does one step.
func (n *Namespace) do(s Step) error {
	l, err := n.link.LinkByName(s.Port)
	if err != nil {
		return err
	}
	on := s.To == "on"
	if name, ok := strings.CutPrefix(s.Setting, "feature "); ok {
		return n.setFeature(l.Attrs().Index, name, on)
	}
	switch s.Setting {
	case "ipv6":
		return n.setIPv6(s.Port, on)
	case "arp":
		return choose(on, n.link.LinkSetARPOn, n.link.LinkSetARPOff)(l)
	case "promiscuous":
		return choose(on, n.link.SetPromiscOn, n.link.SetPromiscOff)(l)
	case "up":
		return choose(on, n.link.LinkSetUp, n.link.LinkSetDown)(l)
	}
	count, err := strconv.Atoi(s.To)
	if err != nil {
		return fmt.Errorf("%q is not a number", s.To)
	}
	switch s.Setting {
	case "mtu":
		return n.link.LinkSetMTU(l, count)
	case "queues":
		return n.setChannels(l.Attrs().Index, unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, uint32(count))
	case "rx queues":
		return n.setChannels(l.Attrs().Index, unix.ETHTOOL_A_CHANNELS_RX_COUNT, uint32(count))
	case "tx queues":
		return n.setChannels(l.Attrs().Index, unix.ETHTOOL_A_CHANNELS_TX_COUNT, uint32(count))
	}
	return fmt.Errorf("unknown setting %q", s.Setting)
}

func choose(on bool, yes, no func(netlink.Link) error) func(netlink.Link) error {
	if on {
		return yes
	}
	return no
}

func (n *Namespace) setIPv6(port string, on bool) error {
	value := "1"
	if on {
		value = "0"
	}
	return n.within(func() error {
		err := os.WriteFile(ipv6Path(port), []byte(value), 0o644)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
}
