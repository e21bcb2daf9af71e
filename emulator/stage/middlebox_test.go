package stage

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// TestMiddlebox: each setting against each kind of segment; what carries no
// MPTCP passes whatever is set.
func TestMiddlebox(t *testing.T) {
	kinds := []link.Mark{0, link.MPTCP, link.MPTCPOpening, link.MPTCPCapable} // none, data, MP_JOIN, MP_CAPABLE
	const pass, strip, drop = 0, 1, 2
	for _, c := range []struct {
		config MiddleboxConfig
		want   [4]int
	}{
		{MiddleboxConfig{}, [4]int{pass, pass, pass, pass}},
		{MiddleboxConfig{StripSYN: true}, [4]int{pass, pass, strip, strip}},
		{MiddleboxConfig{StripData: true}, [4]int{pass, strip, pass, pass}},
		{MiddleboxConfig{DropCapable: true}, [4]int{pass, pass, pass, drop}},
		{MiddleboxConfig{StripData: true, DropCapable: true}, [4]int{pass, strip, pass, drop}},
	} {
		m := NewMiddlebox(c.config)
		for i, kind := range kinds {
			var log linktest.Log
			m.Put(link.Packet{Body: link.Body{Mark: kind | link.ECT}}, &log)
			got := pass
			if log.Lost(link.Middlebox) == 1 {
				got = drop
			} else if len(log.Fates) == 1 && log.Fates[0].Packet.Mark == kind|link.ECT|link.Stripped {
				got = strip
			}
			if got != c.want[i] || len(log.Fates) != 1 {
				t.Errorf("%+v, segment %d: %d (%+v), want %d", c.config, i, got, log.Fates, c.want[i])
			}
		}
		next := NewMiddlebox(c.config)
		next.Inherit(0, m)
		figures := map[string]float64{}
		next.Probes(0, func(p link.Probe) { figures[p.Name] = p.Value })
		if int(figures["stripped_packets"]+figures["capable_dropped_packets"]) != count(c.want, strip)+count(c.want, drop) {
			t.Errorf("%+v counts %v", c.config, figures)
		}
	}
}

func count(all [4]int, what int) (n int) {
	for _, v := range all {
		if v == what {
			n++
		}
	}
	return n
}
