package sim

import (
	"bytes"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/recording"
	"farlink/emulator/trace/lines"
)

// TestRecordedReplay: the channel of a replay, recorded and put in its place,
// gives the same capture but for the name of the stage that lost packets and
// the bit that was flipped; a recording of that replay is the same recording.
func TestRecordedReplay(t *testing.T) {
	var packets [][2]int
	for i := range 500 {
		packets = append(packets, [2]int{i, 60 + i})
	}
	in := capture(t, pcap.LinkEthernet, packets...)
	play := func(e Emulator) (string, []byte) {
		var out, recorded bytes.Buffer
		r := recording.NewRecorder(&recorded)
		_, err := Replay{Emulator: e, Way: link.Up, Meet: func(_ link.Way, at link.Time, f link.Fate) { r.Meet(at, f) }}.Run(bytes.NewReader(in), &out)
		if err == nil {
			err = r.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(comments(t, out.Bytes()), "\n")
		for _, stage := range []string{"queue", "air", "recording"} {
			text = strings.ReplaceAll(text, "up/"+stage, "up/x")
		}
		return text, recorded.Bytes()
	}
	a := air{lose: 0.05, double: 0.05, corrupt: 0.05, draw: link.NewDraw(3, "air")}
	text, recorded := play(newPair(way{}, way{rate: 2 * link.MegabitPerSecond, limit: 20, air: a, delay: 40 * link.Millisecond}))
	channel, err := recording.Read(lines.File{Name: "x", Reader: bytes.NewReader(recorded)})
	if err != nil {
		t.Fatal(err)
	}
	text2, recorded2 := play(&Channel{Ways: [2]link.Stage{link.Up: recording.NewReplay(channel)}, Names: [2][]string{link.Up: {"recording"}}})
	if text != text2 || !bytes.Equal(recorded, recorded2) {
		t.Errorf("the replay of the recording differs")
	}
	if !strings.Contains(text, "lost random") || !strings.Contains(text, "lost queue_full") || !strings.Contains(text, "corrupted duplicate") {
		t.Error("not everything happened")
	}
}

// TestChannel: the other way is a wire; a corrupted frame has one bit flipped.
func TestChannel(t *testing.T) {
	c := &Channel{Ways: [2]link.Stage{link.Up: &wait{delay: 5}}}
	p := &Ping{Name: "p", From: link.Up, Size: 98, Every: link.Second}
	r := run(t, Config{Emulator: c, Senders: []Sender{p}, Until: link.Time(link.Second) - 1, Series: true})
	if rtt := r.Flows[0].RTT; rtt == nil || rtt.Max != 5e-6 {
		t.Errorf("RTT %+v, want 5 ns", rtt)
	}
	frame := make([]byte, 60)
	c.Finish(link.Packet{Seq: 7, Body: link.Body{Mark: link.Corrupted}}, link.Up, frame)
	flipped := 0
	for i, b := range frame {
		if b != 0 && (i < 14 || b&(b-1) != 0) {
			t.Errorf("byte %d is %#x", i, b)
		}
		if b != 0 {
			flipped++
		}
	}
	if flipped != 1 {
		t.Errorf("%d bytes changed, want 1", flipped)
	}
}

// TestMeet: a run tells every fate.
func TestMeet(t *testing.T) {
	var told [2]int64
	p := &Ping{Name: "p", From: link.Up, Size: 98, Every: link.Second}
	r := run(t, Config{Emulator: newPair(way{}, way{}), Senders: []Sender{p}, Until: link.Time(9*link.Second) - 1,
		Meet: func(w link.Way, _ link.Time, _ link.Fate) { told[w]++ }})
	if told != [2]int64{r.Down.Delivered, r.Up.Delivered} || told[0] != 9 {
		t.Errorf("told of %v", told)
	}
}
