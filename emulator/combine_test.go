package emulator

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/BurntSushi/toml"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/profiles"
)

// leaves yields each key of a document alone, and each table.
func leaves(t map[string]any, wrap func(any) any, yield func(any)) {
	for _, k := range slices.Sorted(maps.Keys(t)) {
		inner := func(v any) any { return wrap(map[string]any{k: v}) }
		if sub, ok := t[k].(map[string]any); ok {
			leaves(sub, inner, yield)
			yield(inner(sub)) // and the whole table
			continue
		}
		yield(inner(t[k]))
	}
}

// Every key of the reference laid over shipped profiles, in twos and threes:
// what has no problem makes a link that keeps every packet.
func TestReferenceCombined(t *testing.T) {
	text, err := os.ReadFile("../docs/reference.toml")
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"name", "about", "source", "expect"} {
		delete(tree, k)
	}
	var patches []any
	leaves(tree, func(v any) any { return v }, func(p any) { patches = append(patches, p) })
	names := profiles.Names()
	draw, built := link.NewDraw(1, "combine"), 0
	for n := range uint64(1500) {
		s, err := profiles.Lookup(names[draw.Uint64(n*8)%uint64(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		p := s.Profile
		for k := range 1 + draw.Uint64(n*8+1)%3 {
			patch, err := json.Marshal(patches[draw.Uint64(n*8+2+k)%uint64(len(patches))])
			if err != nil {
				t.Fatal(err)
			}
			if q, _ := p.Merge(patch); q != nil {
				p = q
			}
		}
		if p != s.Profile {
			built++
			carry(t, s.Profile, p)
		}
	}
	if built < 300 {
		t.Errorf("%d of 1500 combinations have no problem", built)
	}
}

// carry puts packets through both ways of a link that becomes another, and
// checks that none is unaccounted for, and that document and hash hold.
func carry(t *testing.T, before, after *profiles.Profile) {
	if q, problems := profiles.Parse(after.Canonical()); q == nil || q.Hash() != after.Hash() {
		t.Errorf("%v\n%s", problems, after.Canonical())
	}
	for _, w := range link.Ways {
		var log linktest.Log
		s := &wayStage{one(t, before, 1), w}
		arrivals := linktest.Arrivals(1, 60, 5*link.Millisecond)
		for i, p := range arrivals {
			s.Run(p.When, &log)
			s.Put(p, &log)
			if i == 30 {
				next := one(t, after, 1)
				next.Succeed(s.e, w, p.When)
				s.e = next
			}
		}
		for i := range link.Time(20) {
			s.Run(i*link.Time(200*link.Millisecond), &log)
		}
		held, _ := s.Held()
		if len(arrivals)+log.Copies != len(log.Fates)+held {
			t.Errorf("%s: %d in + %d copies != %d fates + %d held; %s became\n%s", w, len(arrivals), log.Copies, len(log.Fates), held, before.Name, after.Canonical())
		}
	}
}
