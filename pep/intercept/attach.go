package intercept

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/florianl/go-tc"
	"github.com/florianl/go-tc/core"
	"golang.org/x/sys/unix"
)

// attach puts the programs on the ports, in place of older ones without a
// gap. The listener program goes last: without it SYNs find no listener and
// cross.
func (s *Space) attach() error {
	for _, p := range []*net.Interface{s.lan, s.wan} {
		if err := s.attachPort(p); err != nil {
			return fmt.Errorf("attach to port %s: %w", p.Name, err)
		}
	}
	ns, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer ns.Close()
	return replace(filepath.Join(s.dir, "listen"), s.objects.InterceptListen, func() (link.Link, error) {
		return link.AttachNetNs(int(ns.Fd()), s.objects.InterceptListen)
	})
}

// attachPort attaches by tcx (Linux 6.6), and where there is none by clsact.
func (s *Space) attachPort(p *net.Interface) error {
	if !s.older {
		err := s.attachTCX(p)
		if !errors.Is(err, ebpf.ErrNotSupported) {
			return err
		}
		s.older = true
	}
	if err := s.attachClsact(p); err != nil {
		return err
	}
	for _, way := range []string{"in", "out"} {
		if err := os.Remove(s.pin(p, way)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Attached says by what the programs are attached, "tcx" or "clsact".
func (s *Space) Attached() string {
	if s.older {
		return "clsact"
	}
	return "tcx"
}

func (s *Space) pin(p *net.Interface, way string) string {
	return filepath.Join(s.dir, p.Name+"_"+way)
}

func (s *Space) attachTCX(p *net.Interface) error {
	for _, a := range []struct {
		way  string
		prog *ebpf.Program
		at   ebpf.AttachType
	}{{"in", s.objects.InterceptIn, ebpf.AttachTCXIngress}, {"out", s.objects.InterceptOut, ebpf.AttachTCXEgress}} {
		err := replace(s.pin(p, a.way), a.prog, func() (link.Link, error) {
			return link.AttachTCX(link.TCXOptions{Interface: p.Index, Program: a.prog, Attach: a.at})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replace updates the attachment pinned at pin, or makes and pins a new one.
func replace(pin string, prog *ebpf.Program, fresh func() (link.Link, error)) error {
	if l, err := link.LoadPinnedLink(pin, nil); err == nil {
		defer l.Close()
		if l.Update(prog) == nil {
			return nil
		}
	}
	if err := os.Remove(pin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := fresh()
	if err != nil {
		return err
	}
	defer l.Close()
	return l.Pin(pin)
}

// The one filter of each way: the kernel exchanges its program in place, and
// keeps it when the process ends. The interface takes it along.
const (
	filterHandle   = 1
	filterPriority = 1
)

func (s *Space) attachClsact(p *net.Interface) error {
	control, err := tc.Open(&tc.Config{})
	if err != nil {
		return fmt.Errorf("traffic control: %w", err)
	}
	defer control.Close()
	qdisc := tc.Object{
		Msg: tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(p.Index),
			Handle: core.BuildHandle(tc.HandleRoot, 0), Parent: tc.HandleIngress},
		Attribute: tc.Attribute{Kind: "clsact"},
	}
	if err := control.Qdisc().Add(&qdisc); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("clsact: %w", err)
	}
	for _, a := range []struct {
		prog   *ebpf.Program
		parent uint32
	}{{s.objects.InterceptIn, tc.HandleMinIngress}, {s.objects.InterceptOut, tc.HandleMinEgress}} {
		fd, name, flags := uint32(a.prog.FD()), "farlink", uint32(tc.BpfActDirect)
		filter := tc.Object{
			Msg: tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(p.Index), Handle: filterHandle,
				Parent: core.BuildHandle(tc.HandleRoot, a.parent), Info: filterPriority<<16 | uint32(networkAll)},
			Attribute: tc.Attribute{Kind: "bpf", BPF: &tc.Bpf{FD: &fd, Name: &name, Flags: &flags}},
		}
		if err := control.Filter().Replace(&filter); err != nil {
			return fmt.Errorf("filter: %w", err)
		}
	}
	return nil
}

// networkAll is ETH_P_ALL in network order.
var networkAll = order(unix.ETH_P_ALL)
