package cable

import (
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"farlink/emulator/need"
)

// Frames sent at the near end come out of a kernel bridge between the ports,
// each with a delay that the kernel's stamps make; and no interface of the
// measurement is seen from here.
func TestProbeThroughABridge(t *testing.T) {
	need.Root(t)
	err := Do(func(c *Cables) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "br"
		bridge := &netlink.Bridge{LinkAttrs: attrs}
		if err := netlink.LinkAdd(bridge); err != nil {
			return err
		}
		for _, port := range Ports {
			dev, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMaster(dev, bridge); err != nil {
				return err
			}
		}
		if err := netlink.LinkSetUp(bridge); err != nil {
			return err
		}
		came, delays, err := c.Probe(50, 100, 200*time.Microsecond)
		if err != nil {
			return err
		}
		if came != 50 || len(delays) < 25 {
			t.Errorf("%d of 50 came, %d with a delay", came, len(delays))
		}
		for _, d := range delays {
			if d < 0 || d > int64(time.Second) {
				t.Errorf("a delay of %d ns", d)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := netlink.LinkByName(Ports[0]); err == nil {
		t.Errorf("%s is seen outside", Ports[0])
	}
}
