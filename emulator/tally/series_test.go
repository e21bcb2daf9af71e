package tally

import (
	"encoding/json"
	"math"
	"testing"

	"farlink/emulator/link"
)

// TestSeriesNames: two figures of one name do not mix; what is missing is null.
func TestSeriesNames(t *testing.T) {
	r := NewRecorder(link.Second)
	r.Sample("down.", link.Probe{Name: "x", Value: 1})
	r.Sample("down.", link.Probe{Name: "x", Value: 2})
	r.Sampled()
	r.Sample("down.", link.Probe{Name: "y", Value: 3})
	r.Sampled()
	s := r.Series(2)
	for name, want := range map[string]string{"down.x": "[1,null]", "down.x#2": "[2,null]", "down.y": "[null,3]"} {
		b, err := json.Marshal(s.Column(name).Values)
		if err != nil || string(b) != want {
			t.Errorf("%s: %s, %v, want %s", name, b, err, want)
		}
	}
	if s.Column("z") != nil {
		t.Error("a column that is not there was found")
	}
}

func TestValue(t *testing.T) {
	var back []Value
	if err := json.Unmarshal([]byte("[1.5,null,-2]"), &back); err != nil {
		t.Fatal(err)
	}
	if back[0] != 1.5 || !math.IsNaN(float64(back[1])) || back[2] != -2 {
		t.Errorf("%v", back)
	}
}
