package cable

import (
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// experiment is the EtherType for local experiments (IEEE 802, 0x88B5).
const experiment = 0x88b5

// Probe sends count frames of size bytes (at least 60) from the near end, one
// each every, and returns how many came out of the far end, and how long each
// took from the kernel's stamp on leaving to its stamp on coming, in ns: no
// wake-up of a process is in it. Frames that the kernel gave no stamp have
// none: it begins to stamp some ms after the first socket asked for it.
func (c *Cables) Probe(count, size int, every time.Duration) (came int, delays []int64, err error) {
	frame := make([]byte, max(size, 60))
	copy(frame, []byte{2, 0x11, 0x22, 0x33, 0x44, 0x55, 2, 0, 0, 0, 0, 0xfe})
	binary.BigEndian.PutUint16(frame[12:], experiment)
	left, arrived := make(map[uint32]int64, count), make(map[uint32]int64, count)
	for i := range count {
		binary.BigEndian.PutUint32(frame[14:], uint32(i))
		if _, err := unix.Write(c.sender, frame); err != nil {
			return 0, nil, fmt.Errorf("send frame %d: %w", i, err)
		}
		pause(every)
	}
	for deadline := time.Now().Add(50 * time.Millisecond); ; {
		c.read(0, left)
		c.read(1, arrived)
		if len(arrived) >= count || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for i, at := range arrived {
		if from := left[i]; from != 0 && at != 0 {
			delays = append(delays, at-from)
		}
	}
	return len(arrived), delays, nil
}

// pause sleeps by the kernel's timer: the runtime's own waits a whole
// millisecond when nothing else goes on.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // a signal cuts one short: no harm
}

// read takes all that a tap has seen: number of the frame to its stamp,
// CLOCK_REALTIME ns, 0 for none.
func (c *Cables) read(tap int, at map[uint32]int64) {
	var frame [2048]byte
	var oob [256]byte
	for {
		n, oobn, _, from, err := unix.Recvmsg(c.taps[tap], frame[:], oob[:], 0)
		if err != nil {
			return
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		ours := n >= 18 && frame[11] == 0xfe && binary.BigEndian.Uint16(frame[12:]) == experiment
		if !ok || !ours || (ll.Pkttype == unix.PACKET_OUTGOING) != (tap == 0) {
			continue
		}
		at[binary.BigEndian.Uint32(frame[14:])] = stampOf(oob[:oobn])
	}
}

func stampOf(oob []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING_NEW {
			// struct scm_timestamping64: three times, software's first.
			return (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		}
	}
	return 0
}
