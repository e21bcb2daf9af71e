package api

import (
	"os"
	"testing"
)

// TestOpenAPI keeps docs/openapi.yaml what `farlink openapi` prints.
func TestOpenAPI(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("../../docs/openapi.yaml", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/openapi.yaml is not what the code says; run `make generate`")
	}
}
