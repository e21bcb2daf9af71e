package steer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

var linkPins = [2]string{"link_a", "link_b"}

// attach puts the program on a port: into the pinned attachment if that
// still sits on this port in a mode that suits, else into a new one.
func (w *Wire) attach(i int, p, other Port, how Attach) error {
	if w.dir == "" {
		var err error
		w.links[i], w.modes[i], w.whys[i], err = attachNew(p, other, w.program(i), how)
		return err
	}
	pin := filepath.Join(w.dir, linkPins[i])
	if l, mode := takeOver(pin, p.Index, w.program(i), how); l != nil {
		w.links[i], w.modes[i], w.taken = l, mode, true
		if mode == Generic {
			_, w.whys[i] = Preferred(p, other)
		}
		return nil
	}
	if err := os.Remove(pin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unpin the old attachment of port %s: %w", p.Name, err)
	}
	l, mode, why, err := attachNew(p, other, w.program(i), how)
	if err != nil {
		return err
	}
	w.links[i], w.modes[i], w.whys[i] = l, mode, why
	if err := l.Pin(pin); err != nil {
		return fmt.Errorf("pin the attachment of port %s: %w", p.Name, err)
	}
	return nil
}

// takeOver opens the pinned attachment and puts the program into it without
// a gap; nil if there is none for this port in this mode.
func takeOver(pin string, index int, p *ebpf.Program, how Attach) (link.Link, Attach) {
	l, err := link.LoadPinnedLink(pin, nil)
	if err != nil {
		return nil, ""
	}
	info, err := l.Info()
	if err == nil && info.XDP() != nil && int(info.XDP().Ifindex) == index {
		mode := attachedMode(index)
		if (how == Auto || how == "" || how == mode) && l.Update(p) == nil {
			return l, mode
		}
	}
	l.Close()
	return nil, ""
}

// attachedMode asks the kernel how the program on the port is attached.
func attachedMode(index int) Attach {
	dev, err := netlink.LinkByIndex(index)
	if err == nil && dev.Attrs().Xdp != nil && dev.Attrs().Xdp.AttachMode == nl.XDP_ATTACHED_SKB {
		return Generic
	}
	return Native
}

// attachNew attaches the program, and says why in generic mode where native
// was not ruled out by how.
func attachNew(p, other Port, prog *ebpf.Program, how Attach) (l link.Link, mode Attach, why string, err error) {
	if how == Native || how == Generic {
		l, err = attachAs(p, prog, how)
		return l, how, "", err
	}
	mode, why = Preferred(p, other)
	if l, err = attachAs(p, prog, mode); err == nil || errors.Is(err, unix.EBUSY) {
		return l, mode, why, err
	}
	why = err.Error()
	l, err = attachAs(p, prog, Generic)
	return l, Generic, why, err
}

func attachAs(p Port, prog *ebpf.Program, how Attach) (link.Link, error) {
	flags := link.XDPDriverMode
	if how == Generic {
		flags = link.XDPGenericMode
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: p.Index, Flags: flags})
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("port %s carries another XDP program: %w", p.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("attach steer to port %s (%s): %w", p.Name, how, err)
	}
	return l, nil
}

// Expected is how the program will sit on port A if asked to so, as far as can
// be told before it is tried.
func Expected(how Attach, ports [2]Port) Attach {
	if how == Auto || how == "" {
		how, _ = Preferred(ports[0], ports[1])
	}
	return how
}

// AwaitNative waits until the program would sit natively on both ports, but
// no longer than most. A veth that was plugged in anew takes native frames
// only when its peer is up and polls, which comes a little after the port.
func AwaitNative(ports [2]Port, most time.Duration) {
	for end := time.Now().Add(most); Expected(Auto, ports) != Native && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// Preferred is the mode to try first. A native program can bypass only to a
// port that takes redirects natively, which a veth does while its peer polls;
// where it does not, a native bypass would be a hole, and generic mode reaches
// every port (docs/decisions/02-wire.md). Where it is generic, why says so.
func Preferred(p, other Port) (how Attach, why string) {
	for _, port := range []Port{p, other} {
		dev, err := netlink.LinkByIndex(port.Index)
		if err != nil || dev.Type() != "veth" {
			continue
		}
		if takes, err := takesRedirects(port.Index); err != nil || !takes {
			return Generic, fmt.Sprintf("%s is a veth whose peer does not poll (no XDP and no GRO there), so that no frame could be redirected to it natively", port.Name)
		}
	}
	return Native, ""
}
