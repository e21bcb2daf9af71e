package document

import (
	"errors"
	"strings"
	"testing"
)

// What the library says of Go ("cannot unmarshal number … into Go struct
// field") is told in the words of documents; what a quantity says itself
// stays.
func TestUnmarshalSaysWhatIsWanted(t *testing.T) {
	type Inner struct {
		Seed uint64 `json:"seed"`
	}
	var into struct {
		Inner
		Count int8     `json:"count"`
		Share float64  `json:"share"`
		Name  string   `json:"name"`
		On    bool     `json:"on"`
		List  []string `json:"list"`
		Table struct {
			Port uint16 `json:"port"`
		} `json:"table"`
		Own own `json:"own"`
	}
	for doc, want := range map[string]string{
		`{"seed": 18446744073709551616}`: "1:29: seed: got 18446744073709551616, want a whole number from 0 to 18446744073709551615, in plain digits",
		`{"seed": 1e3}`:                  "1:12: seed: got 1e3, want a whole number from 0 to 18446744073709551615, in plain digits",
		"{\n\"count\": 200}":             "2:12: count: got 200, want a whole number from -128 to 127, in plain digits",
		`{"share": 1e999}`:               "1:15: share: got 1e999, want a number that 64 bits can hold",
		`{"name": 3}`:                    "1:10: name: got number, want text in quotes",
		`{"on": "yes"}`:                  "1:12: on: got string, want true or false",
		`{"list": {}}`:                   "1:10: list: got object, want a list",
		`{"table": {"port": 65536}}`:     "1:24: table.port: got 65536, want a whole number from 0 to 65535, in plain digits",
		"{\n\n\"table\": []}":            "3:10: table: got array, want an object",
		`{"own": "x"}`:                   `own: got "x", want no good`,
		`{"seed": 1, "seed": 2}`:         "1:18: seed: got this key twice, want each key of an object once",
		`{"table": {"port":1,"port":1}}`: "1:26: table.port: got this key twice, want each key of an object once",
		"{\n\"seed\": 1\n":               "3:1: got unexpected end of JSON input, want a JSON document",
		"{\"seed\": 1}\nx":               "2:1: got invalid character 'x' after top-level value, want a JSON document",
	} {
		err := Unmarshal([]byte(doc), &into)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", doc, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "json:") {
			t.Errorf("%s: Go's words: %v", doc, err)
		}
	}
	if err := Unmarshal([]byte(`{"seed": 18446744073709551615, "count": -128}`), &into); err != nil || into.Seed != 1<<64-1 {
		t.Errorf("%v, seed %d", err, into.Seed)
	}
}

// own is a quantity that nothing is good enough for.
type own struct{}

func (own) UnmarshalText([]byte) error { return errors.New("no good") }
