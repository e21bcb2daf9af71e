package opportunity

import (
	"slices"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

func TestContract(t *testing.T) {
	draw := link.NewDraw(7, "d")
	linktest.Contract(t, []linktest.Subject{
		{Name: "delivery", Build: func() link.Stage {
			limit := queue.Limit{Bytes: 20000}
			return NewDelivery(DeliveryConfig{Times: []int64{0, 0, 3, 7, 7, 11}, QueueConfig: QueueConfig{Limit: limit}}, draw)
		}, Ordered: true},
		{Name: "train", Build: func() link.Stage { return NewTrain(recorded(), draw) }, Ordered: true},
	})
}

// TestTrainContract: under so many packets that trains end.
func TestTrainContract(t *testing.T) {
	build := func() link.Stage { return NewTrain(recorded(), link.NewDraw(1, "train")) }
	log := linktest.Independent(t, build, linktest.Arrivals(3, 2000, 8*link.Millisecond), link.Time(200*link.Second))
	linktest.Ordered(t, log)
	linktest.NoAllocs(t, build(), 20*link.Millisecond)
}

// TestDeliveryCheck: the times do not go back, the last makes a round, and
// there is no rate beside them.
func TestDeliveryCheck(t *testing.T) {
	for _, c := range []struct {
		config DeliveryConfig
		want   []string
	}{
		{DeliveryConfig{Times: []int64{0, 5}}, nil},
		{DeliveryConfig{Times: []int64{5, 3}, QueueConfig: QueueConfig{Rate: link.MegabitPerSecond}}, []string{"times_ms.1", "rate"}},
		{DeliveryConfig{Times: []int64{0}}, []string{"times_ms"}},
		{DeliveryConfig{}, []string{"times_ms"}},
	} {
		var got []string
		c.config.Check(func(path, _, _ string) { got = append(got, path) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: problems at %v, want %v", c.config, got, c.want)
		}
	}
}
