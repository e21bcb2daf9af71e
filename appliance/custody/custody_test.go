package custody

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"farlink/emulator/need"
	"farlink/emulator/netspace"
)

// TestMain is the daemon after the one that died, when it is told a namespace.
func TestMain(m *testing.M) {
	if os.Getenv("LISTEN_FDS") == "" {
		os.Exit(m.Run())
	}
	os.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid())) // by the manager after its fork
	if err := Return(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Print(os.Getenv("LISTEN_FDNAMES"))
}

// TestNamespaceOutlivesItsName: the manager gets the namespace and its name; a
// daemon that is given it finds it by that name again, though the mount has
// gone and left a plain file.
func TestNamespaceOutlivesItsName(t *testing.T) {
	need.Root(t)
	name := fmt.Sprintf("cu%x", rand.Uint32N(1<<24))
	at := filepath.Join(names, name)
	if err := netspace.Make(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { netns.DeleteNamed(name) })
	made, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	manager := listen(t)
	if err := Give(name); err != nil {
		t.Fatal(err)
	}
	message, held := heard(t, manager)
	if message != "FDSTORE=1\nFDNAME="+name || held == nil {
		t.Fatalf("the manager heard %q, with %v", message, held)
	}
	defer held.Close()

	if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	for range 2 { // lost; not lost
		next := exec.Command(os.Args[0])
		next.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES="+name)
		next.ExtraFiles = []*os.File{held}
		if said, err := next.CombinedOutput(); err != nil || len(said) > 0 {
			t.Fatalf("%v: %s; want it silent, with nothing left in the environment", err, said)
		}
		if now, err := os.Stat(at); err != nil || !os.SameFile(made, now) {
			t.Fatalf("%s is not the namespace that was left: %v", at, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if n := strings.Count(string(mounts), at+" "); err != nil || n != 1 {
		t.Errorf("%d mounts at %s, %v; want one", n, at, err)
	}

	if err := End(name); err != nil {
		t.Fatal(err)
	}
	if message, held := heard(t, manager); message != "FDSTOREREMOVE=1\nFDNAME="+name || held != nil {
		t.Errorf("the manager heard %q, with %v", message, held)
	}
}

func TestWithoutManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := End("nothing"); err != nil {
		t.Error(err)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	if err := End("nothing"); err == nil || !strings.Contains(err.Error(), "service manager") {
		t.Errorf("a manager that is not there: %v", err)
	}
	if err := Give("no-such-namespace"); err == nil || !strings.Contains(err.Error(), "no-such-namespace") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}

// listen stands in for the manager's end of its socket.
func listen(t *testing.T) int {
	t.Helper()
	at := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", at)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: at}); err != nil {
		t.Fatal(err)
	}
	return fd
}

// heard reads a message, and the descriptor that came with it.
func heard(t *testing.T, fd int) (string, *os.File) {
	t.Helper()
	message, control := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(fd, message, control, 0)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := unix.ParseSocketControlMessage(control[:m])
	if err != nil || len(parts) == 0 {
		return string(message[:n]), nil
	}
	fds, err := unix.ParseUnixRights(&parts[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("descriptors %v, %v", fds, err)
	}
	return string(message[:n]), os.NewFile(uintptr(fds[0]), "held")
}
