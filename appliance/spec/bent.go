package spec

import (
	"encoding/json"
	"fmt"
	"strings"

	"farlink/appliance"
	"farlink/emulator"
	"farlink/profiles"
	doc "farlink/profiles/document"
)

// entry is the line of the timeline that the event is.
func entry(d appliance.Disruption) map[string]any {
	if d.Kind == appliance.HandOver {
		return map[string]any{"at": "0", "handover": d.Duration.String()}
	}
	e := map[string]any{"at": "0", "for": d.Duration.String(), "fade_db": d.DB}
	if d.Ramp > 0 {
		e["ramp"] = d.Ramp.String()
	}
	return e
}

// Bent returns an engine's document with the event in it.
func Bent(document []byte, d appliance.Disruption) ([]byte, error) {
	var r doc.Reader
	spec := r.JSON(document)
	links, _ := spec["links"].([]any)
	if len(links) == 0 {
		return nil, appliance.Problems{{Path: "kind", Got: string(d.Kind), Want: "a link that is emulated"}}
	}
	main, _ := links[0].(map[string]any)
	profile, _ := main["profile"].(map[string]any)
	if profile == nil {
		return nil, appliance.Problems{{Path: "kind", Got: string(d.Kind), Want: "a link that is emulated"}}
	}
	lines, _ := profile["timeline"].([]any)
	profile["timeline"] = append(lines, entry(d))
	bent, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var bad appliance.Problems
	_, problems := emulator.ParseSpec(bent)
	for _, p := range problems {
		if p.Level == profiles.Error {
			bad = append(bad, appliance.Problem{Path: "kind", Got: fmt.Sprintf("%s, as %s", d.Kind, p.Path[strings.LastIndex(p.Path, ".")+1:]), Want: p.Want})
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return bent, nil
}
