package ports

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Unfinished says whether frames may come in at the port without their
// checksums, and what to do about it; "" where none will. The sender of a veth
// leaves the sums of TCP and UDP to the card that there is not
// (CHECKSUM_PARTIAL, linux/skbuff.h). Between two hosts the kernel carries
// along that they are still to be made; XDP sees bytes alone, and what it
// passes on counts as finished, so that the receiver drops it. Bytes do not
// say whether a wrong sum is one to be made or one that was damaged: only the
// sender can finish it.
func (n *Namespace) Unfinished(port string) string {
	l, err := n.link.LinkByName(port)
	if err != nil || l.Type() != "veth" {
		return ""
	}
	far, where, err := n.peer(l)
	if err != nil {
		return fmt.Sprintf("%s is a veth whose peer cannot be looked at (%v): if it leaves checksums to a card, as veths do by default, receivers drop TCP and UDP; "+
			"run where the peer is: ethtool -K PEER tx off", port, err)
	}
	if far.feature == "" {
		return ""
	}
	return fmt.Sprintf("%s is a veth whose peer %s%s leaves checksums to a card (%s is on), which there is not: receivers drop TCP and UDP; "+
		"run %sethtool -K %s tx off", port, far.name, where.in(), far.feature, where.command(), far.name)
}

// peerFacts is what is about the other end of a veth.
type peerFacts struct {
	name    string
	feature string // the one by which it leaves checksums to a card, "" if none
}

// place is a namespace as people reach it.
type place struct{ name, path string }

func (p place) in() string {
	if p.path == "" {
		return ""
	}
	return " in namespace " + p.name
}

func (p place) command() string {
	if p.path == "" {
		return ""
	}
	return "nsenter --net=" + p.path + " "
}

// peer looks at the other end of a veth, in whichever namespace it is.
func (n *Namespace) peer(l netlink.Link) (peerFacts, place, error) {
	if id := l.Attrs().NetNsID; id >= 0 {
		return n.peerElsewhere(l.Attrs().ParentIndex, id)
	}
	where := place{}
	if n.Name != "" {
		where = place{n.Name, filepath.Join("/run/netns", n.Name)}
	}
	f, err := n.peerHere(l.Attrs().ParentIndex)
	return f, where, err
}

// peerHere reads the interface with the index, of this namespace.
func (n *Namespace) peerHere(index int) (f peerFacts, err error) {
	l, err := n.link.LinkByIndex(index)
	if err != nil {
		return f, err
	}
	f.name = l.Attrs().Name
	all, err := n.features(index)
	for _, feature := range all {
		if feature.On && strings.HasPrefix(feature.Name, "tx-checksum-") {
			f.feature = feature.Name
			break
		}
	}
	return f, err
}

// peerElsewhere finds the namespace that this one knows by the id, among those
// that have a name and those of processes, and reads the interface there.
func (n *Namespace) peerElsewhere(index, id int) (f peerFacts, where place, err error) {
	for _, pattern := range []string{"/run/netns/*", "/proc/[0-9]*/ns/net"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return f, where, err
		}
		for _, path := range paths {
			fd, err := netns.GetFromPath(path)
			if err != nil {
				continue // gone meanwhile, or not ours to open
			}
			if got, err := n.link.GetNetNsIdByFd(int(fd)); err != nil || got != id {
				fd.Close()
				continue
			}
			where = place{strings.TrimPrefix(path, "/run/netns/"), path}
			other, err := open(where.name, fd)
			if err != nil {
				return f, where, err
			}
			defer other.Close()
			f, err = other.peerHere(index)
			return f, where, err
		}
	}
	return f, where, fmt.Errorf("no process and no name leads to its namespace")
}
