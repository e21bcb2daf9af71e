package emulator

import (
	"bytes"
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// A middlebox of a profile meddles in its way only, by the bytes of the frame;
// what it strips is stripped when the frame departs.
func TestMiddlebox(t *testing.T) {
	e := one(t, parse(t, "[up.middlebox]\nstrip_data = true\ndrop_capable = true\n"), 1)
	tcp := func(flags byte, options ...byte) []byte {
		p := append([]byte{0x13, 0x88, 1, 0xBB, 0, 0, 0, 0, 0, 0, 0, 0, byte(20+len(options)) / 4 << 4, flags, 0, 0, 0, 0, 0, 0}, options...)
		return frametest.Of(frametest.Type4, frametest.IPv4(0, 6, 0, "10.0.0.1", "10.0.0.2", p...))
	}
	capable, data, plain := tcp(2, 30, 4, 0x01, 0x81), tcp(16, 30, 4, 0x20, 0), tcp(2, 2, 4, 5, 180)
	for _, w := range link.Ways {
		for _, c := range []struct {
			name          string
			frame         []byte
			lost, changed bool
		}{{"MP_CAPABLE", capable, w == link.Up, false}, {"data", data, false, w == link.Up}, {"plain", plain, false, false}} {
			var log linktest.Log
			e.Arrive(w, 0, 0, c.frame, &log)
			e.Run(w, link.Time(link.Second), &log)
			if len(log.Fates) != 1 || log.Fates[0].Lost() != c.lost || c.lost && log.Fates[0].Cause.Reason != link.Middlebox {
				t.Errorf("%v, %s: %+v", w, c.name, log.Fates)
				continue
			}
			got := bytes.Clone(c.frame)
			e.Finish(log.Fates[0].Packet, w, got)
			if bytes.Equal(got, c.frame) == c.changed {
				t.Errorf("%v, %s: changed %v, want %v", w, c.name, !bytes.Equal(got, c.frame), c.changed)
			}
		}
	}
}
