// Package doctor looks whether this machine can run the box: kernel,
// privileges, limits, and the ports of a configuration. What is missing is
// named one by one, with what to do about it.
package doctor

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"farlink/appliance/ports"
)

// Level says how a finding stands.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // the box runs, but not as well as it could
	Failure Level = "failure" // the box cannot run
)

// Finding is the outcome of one look.
type Finding struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Got   string `json:"got"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// Machine looks at the machine.
func Machine() []Finding {
	return []Finding{
		kernel(), privileges(), xdp(), socket(), maps(), pins(), memlock(), priority(), cores(), ethernet(),
	}
}

func finding(name string, good bool, bad Level, got, do string) Finding {
	if good {
		return Finding{name, OK, got, ""}
	}
	return Finding{name, bad, got, do}
}

// kernel wants 6.6: multi-buffer AF_XDP (frames larger than a page's half)
// came with it.
func kernel() Finding {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Finding{"kernel", Failure, err.Error(), "run on Linux"}
	}
	release := unix.ByteSliceToString(u.Release[:])
	var major, minor int
	fmt.Sscanf(release, "%d.%d", &major, &minor)
	return finding("kernel", major > 6 || major == 6 && minor >= 6, Warning, release,
		"use Linux 6.6 or later: frames beyond 3,400 bytes need it")
}

// capabilities the box needs, by their bit (linux/capability.h).
var capabilities = []struct {
	bit  uint
	name string
	why  string
}{
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "set ports, attach XDP"},
	{unix.CAP_NET_RAW, "CAP_NET_RAW", "AF_XDP sockets"},
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "load programs, mount bpffs, enter namespaces"},
}

func privileges() Finding {
	have := effective()
	var lacking []string
	for _, c := range capabilities {
		if have&(1<<c.bit) == 0 {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", c.name, c.why))
		}
	}
	return finding("privileges", len(lacking) == 0, Failure, orAll(lacking), "run as root, or give the unit AmbientCapabilities")
}

func orAll(lacking []string) string {
	if len(lacking) == 0 {
		return "all that are needed"
	}
	return "lacks " + strings.Join(lacking, ", ")
}

// effective reads this process's effective capabilities.
func effective() (set uint64) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			fmt.Sscanf(strings.TrimSpace(hex), "%x", &set)
		}
	}
	return set
}

func xdp() Finding {
	err := features.HaveProgramType(ebpf.XDP)
	return finding("XDP programs", err == nil, Failure, state(err), "use a kernel with CONFIG_BPF_SYSCALL, as root")
}

func state(err error) string {
	if err == nil {
		return "available"
	}
	return err.Error()
}

func socket() Finding {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return finding("AF_XDP sockets", err == nil, Failure, state(err), "use a kernel with CONFIG_XDP_SOCKETS, as root")
}

func maps() Finding {
	for _, m := range []ebpf.MapType{ebpf.XSKMap, ebpf.DevMap} {
		if err := features.HaveMapType(m); err != nil {
			return Finding{"BPF maps", Failure, fmt.Sprintf("%v: %v", m, err), "use a kernel with CONFIG_XDP_SOCKETS, as root"}
		}
	}
	return Finding{"BPF maps", OK, "XSKMAP and DEVMAP available", ""}
}

// pins looks for the BPF file system, which the engine mounts if it may.
func pins() Finding {
	const at = "/sys/fs/bpf"
	var st unix.Statfs_t
	mounted := unix.Statfs(at, &st) == nil && st.Type == unix.BPF_FS_MAGIC
	if mounted {
		return Finding{"BPF file system", OK, "mounted on " + at, ""}
	}
	may := effective()&(1<<unix.CAP_SYS_ADMIN) != 0
	if _, err := os.Stat(at); err != nil {
		may = false
	}
	return finding("BPF file system", may, Failure, "not mounted; farlink mounts it when it starts", "mount -t bpf bpf "+at)
}

// memlock is what the frames' memory counts against, unless a capability
// says that it does not.
func memlock() Finding {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
		return Finding{"locked memory", Warning, err.Error(), "ulimit -l unlimited"}
	}
	const need = 128 << 20
	if l.Cur == unix.RLIM_INFINITY {
		return Finding{"locked memory", OK, "unlimited", ""}
	}
	got := fmt.Sprintf("limit %d MiB", l.Cur>>20)
	if effective()&(1<<unix.CAP_IPC_LOCK) != 0 {
		return Finding{"locked memory", OK, got + ", which does not bind farlink (CAP_IPC_LOCK)", ""}
	}
	return finding("locked memory", l.Cur >= need, Failure, got, "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited")
}

// priority is what keeps departures on time beside other work.
func priority() Finding {
	may := effective()&(1<<unix.CAP_SYS_NICE) != 0
	var l unix.Rlimit
	if !may && unix.Getrlimit(unix.RLIMIT_RTPRIO, &l) == nil {
		may = l.Cur >= 20
	}
	got := "SCHED_FIFO allowed"
	if !may {
		got = "SCHED_FIFO not allowed"
	}
	return finding("real-time priority", may, Warning, got, "LimitRTPRIO=20 in the unit, or CAP_SYS_NICE: departures are late beside other work")
}

func cores() Finding {
	n := runtime.NumCPU()
	return finding("processors", n >= 2, Warning, fmt.Sprint(n), "use at least 2: one for each way")
}

func ethernet() Finding {
	ns, err := ports.Open("")
	if err == nil {
		err = ns.Close()
	}
	return finding("ethtool over netlink", err == nil, Failure, state(err), "use a kernel with CONFIG_ETHTOOL_NETLINK")
}
