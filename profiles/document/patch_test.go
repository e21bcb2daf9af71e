package document

import "testing"

// A merge patch (RFC 7396) changes what it names and removes what it makes
// null; numbers of 64 bits stay as they are. What is no patch is a problem.
func TestPatch(t *testing.T) {
	of := map[string]any{"seed": uint64(9007199254740993), "down": map[string]any{"delay": "5ms", "loss": 0.5}}
	for patch, want := range map[string]string{
		`{}`:                        `{"down":{"delay":"5ms","loss":0.5},"seed":9007199254740993}`,
		`{"down":{"loss":null}}`:    `{"down":{"delay":"5ms"},"seed":9007199254740993}`,
		`{"down":"none","seed":-1}`: `{"down":"none","seed":-1}`,
		`[]`:                        "",
		`3`:                         "",
		`{`:                         "",
		`{} {}`:                     "",
	} {
		got, bad := Patch(of, []byte(patch))
		if string(got) != want || (len(bad) > 0) != (want == "") {
			t.Errorf("%s: %s, %v; want %s", patch, got, bad, want)
		}
	}
}
