package netlab

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Marks of sockets (SO_MARK) whose frames Tag tags.
const (
	TaggedOnce  = 0x64 // 802.1Q, VLAN 100, priority 3
	TaggedTwice = 0x65 // 802.1ad, VLAN 10, around 802.1Q, VLAN 20
)

// Tags closes what Tag has attached.
type Tags []io.Closer

// Close takes the programs off.
func (t Tags) Close() (err error) {
	for _, c := range t {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Tag has the endpoints tag the frames of sockets that are marked so, and
// take all tags off what comes: as VLAN interfaces would, which this needs
// none of.
func Tag(ends ...End) (tags Tags, err error) {
	for _, at := range []struct {
		attach ebpf.AttachType
		code   asm.Instructions
	}{{ebpf.AttachTCXEgress, tagging}, {ebpf.AttachTCXIngress, untagging}} {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: at.code})
		if err != nil {
			return tags, fmt.Errorf("load the tagging of frames: %w", err)
		}
		tags = append(tags, prog)
		for _, e := range ends {
			err := e.Do(func() error {
				i, err := net.InterfaceByName(e.Dev)
				if err != nil {
					return err
				}
				l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: prog, Attach: at.attach})
				if err == nil {
					tags = append(tags, l)
				}
				return err
			})
			if err != nil {
				return tags, fmt.Errorf("tag frames of %s in %s: %w", e.Dev, e.Netns, err)
			}
		}
	}
	return tags, nil
}

// Offsets in struct __sk_buff, and a tag's EtherTypes in network order.
const (
	skbMark, skbTagged = 8, 20
	innerTag, outerTag = 0x0081, 0xa888
)

var tagging = asm.Instructions{
	asm.Mov.Reg(asm.R6, asm.R1),
	asm.LoadMem(asm.R7, asm.R1, skbMark, asm.Word),
	asm.JEq.Imm(asm.R7, TaggedOnce, "once"),
	asm.JNE.Imm(asm.R7, TaggedTwice, "out"),
	asm.Mov.Imm(asm.R2, innerTag),
	asm.Mov.Imm(asm.R3, 20),
	asm.FnSkbVlanPush.Call(),
	asm.Mov.Reg(asm.R1, asm.R6),
	asm.Mov.Imm(asm.R2, outerTag),
	asm.Mov.Imm(asm.R3, 10),
	asm.FnSkbVlanPush.Call(),
	asm.Ja.Label("out"),
	asm.Mov.Imm(asm.R2, innerTag).WithSymbol("once"),
	asm.Mov.Imm(asm.R3, 0x6064), // VLAN 100, priority 3
	asm.FnSkbVlanPush.Call(),
	asm.Mov.Imm(asm.R0, -1).WithSymbol("out"),
	asm.Return(),
}

var untagging = asm.Instructions{
	asm.Mov.Reg(asm.R6, asm.R1),
	asm.LoadMem(asm.R7, asm.R6, skbTagged, asm.Word),
	asm.JEq.Imm(asm.R7, 0, "out"),
	asm.FnSkbVlanPop.Call(),
	asm.LoadMem(asm.R7, asm.R6, skbTagged, asm.Word),
	asm.JEq.Imm(asm.R7, 0, "out"),
	asm.Mov.Reg(asm.R1, asm.R6),
	asm.FnSkbVlanPop.Call(),
	asm.Mov.Imm(asm.R0, -1).WithSymbol("out"),
	asm.Return(),
}
