package xsk

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Options of a socket.
type Options struct {
	Ifindex int    // the port, in the network namespace of the caller
	Queue   int    // its receive queue
	Ring    uint32 // entries of each of the four rings, a power of two
	Copy    bool   // do not try zero-copy (must be set in generic mode)
}

// Socket is an AF_XDP socket, bound. Its rings have one owner each.
type Socket struct {
	Rx, Tx         Descriptors
	Fill, Complete Addresses
	fd             int
	maps           [][]byte
}

// Open makes a socket on u and binds it. The first socket of a UMEM settles
// its mode (copy or zero-copy, fragments); the next ones share it.
func Open(u *Umem, o Options) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open AF_XDP socket: %w", err)
	}
	s := &Socket{fd: fd}
	if err := s.setup(u, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Socket) setup(u *Umem, o Options) error {
	first := u.fd < 0
	if first {
		reg := unix.XDPUmemReg{Addr: uint64(uintptr(u.base)), Len: uint64(len(u.memory)), Size: u.chunk}
		if err := s.set(unix.XDP_UMEM_REG, unsafe.Pointer(&reg), unsafe.Sizeof(reg)); err != nil {
			return fmt.Errorf("register %d MiB of frame memory (RLIMIT_MEMLOCK, CAP_IPC_LOCK): %w", len(u.memory)>>20, err)
		}
	}
	if err := s.mapRings(o.Ring); err != nil {
		return err
	}
	if err := s.bind(u, o, first); err != nil {
		return err
	}
	if first {
		u.fd = s.fd
	}
	return nil
}

// mapRings asks for the four rings and maps them.
func (s *Socket) mapRings(size uint32) error {
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := s.set(option, unsafe.Pointer(&size), 4); err != nil {
			return fmt.Errorf("AF_XDP ring of %d entries: %w", size, err)
		}
	}
	var off unix.XDPMmapOffsets
	n := uint32(unsafe.Sizeof(off))
	if err := s.get(unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&off), &n); err != nil {
		return fmt.Errorf("AF_XDP ring offsets: %w", err)
	}
	for _, r := range []struct {
		ring     *ring
		off      unix.XDPRingOffset
		page     int64
		entry    uint64
		producer bool
	}{
		{&s.Rx.ring, off.Rx, unix.XDP_PGOFF_RX_RING, 16, false},
		{&s.Tx.ring, off.Tx, unix.XDP_PGOFF_TX_RING, 16, true},
		{&s.Fill.ring, off.Fr, unix.XDP_UMEM_PGOFF_FILL_RING, 8, true},
		{&s.Complete.ring, off.Cr, unix.XDP_UMEM_PGOFF_COMPLETION_RING, 8, false},
	} {
		m, err := unix.Mmap(s.fd, r.page, int(r.off.Desc+uint64(size)*r.entry),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return fmt.Errorf("map AF_XDP ring: %w", err)
		}
		s.maps = append(s.maps, m)
		base := unsafe.Pointer(&m[0])
		producer, consumer := (*uint32)(unsafe.Add(base, r.off.Producer)), (*uint32)(unsafe.Add(base, r.off.Consumer))
		r.ring.own, r.ring.other = consumer, producer
		if r.producer {
			r.ring.own, r.ring.other = producer, consumer
		}
		r.ring.flags = (*uint32)(unsafe.Add(base, r.off.Flags))
		r.ring.entries = unsafe.Add(base, r.off.Desc)
		r.ring.size, r.ring.mask = size, size-1
	}
	return nil
}

// bind ties the socket to its queue. A sharing socket must give no flag but
// XDP_SHARED_UMEM; it inherits the first one's.
func (s *Socket) bind(u *Umem, o Options, first bool) error {
	sa := unix.RawSockaddrXDP{Family: unix.AF_XDP, Ifindex: uint32(o.Ifindex), Queue_id: uint32(o.Queue)}
	if first {
		sa.Flags = unix.XDP_USE_NEED_WAKEUP | unix.XDP_USE_SG
		if o.Copy {
			sa.Flags |= unix.XDP_COPY
		}
	} else {
		sa.Flags = unix.XDP_SHARED_UMEM
		sa.Shared_umem_fd = uint32(u.fd)
	}
	var e unix.Errno
	// The socket of a process that was killed goes a little after it.
	for range 200 {
		_, _, e = unix.Syscall(unix.SYS_BIND, uintptr(s.fd), uintptr(unsafe.Pointer(&sa)), unsafe.Sizeof(sa))
		if e != unix.EBUSY {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	switch e {
	case 0:
		return nil
	case unix.EBUSY:
		return fmt.Errorf("port with index %d, queue %d: another AF_XDP socket is bound: %w", o.Ifindex, o.Queue, e)
	}
	return fmt.Errorf("bind AF_XDP socket to port with index %d, queue %d, flags %#x: %w", o.Ifindex, o.Queue, sa.Flags, e)
}

// Close unbinds the socket; the kernel takes it out of every map.
func (s *Socket) Close() error {
	for _, m := range s.maps {
		unix.Munmap(m)
	}
	s.maps = nil
	return unix.Close(s.fd)
}

// Fd returns the descriptor, for a map of sockets and for epoll.
func (s *Socket) Fd() int { return s.fd }

// Kick makes the kernel transmit what was published: in copy mode up to 32
// frames within the call. EAGAIN asks to come again. It never enters the Go
// scheduler: the call does not block.
func (s *Socket) Kick() unix.Errno {
	if !s.Tx.asleep() {
		return 0
	}
	_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return e
}

// Nudge makes a driver that sleeps for want of free chunks look at Fill.
func (s *Socket) Nudge() {
	if s.Fill.asleep() {
		unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	}
}

// Statistics reads the kernel's own counts into st.
func (s *Socket) Statistics(st *unix.XDPStatistics) {
	n := uint32(unsafe.Sizeof(*st))
	unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, unix.XDP_STATISTICS,
		uintptr(unsafe.Pointer(st)), uintptr(unsafe.Pointer(&n)), 0)
}

// ZeroCopy reports whether the driver moves frames without copying them.
func (s *Socket) ZeroCopy() bool {
	var flags uint32
	n := uint32(4)
	err := s.get(unix.XDP_OPTIONS, unsafe.Pointer(&flags), &n)
	return err == nil && flags&unix.XDP_OPTIONS_ZEROCOPY != 0
}

func (s *Socket) set(option int, p unsafe.Pointer, size uintptr) error {
	_, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, uintptr(option), uintptr(p), size, 0)
	if e != 0 {
		return e
	}
	return nil
}

func (s *Socket) get(option int, p unsafe.Pointer, size *uint32) error {
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, uintptr(option),
		uintptr(p), uintptr(unsafe.Pointer(size)), 0)
	if e != 0 {
		return e
	}
	return nil
}
