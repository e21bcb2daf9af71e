package api

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

const typesFile = "../../ui/types/api.d.ts"

// TestTypes keeps the panel's types of the API what the description says.
func TestTypes(t *testing.T) {
	s, err := build(Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := typesOf(s.docs)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(typesFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the code says; run UPDATE=1 go test ./appliance/api -run TestTypes", typesFile)
	}
}

// TestPanelTypes has tsc check the panel against those types.
func TestPanelTypes(t *testing.T) {
	dir := npmDir(t, "typescript@7.0.2", "preact@11.2.0", "htm@3.1.1", "uplot@1.6.32")
	ui, err := filepath.Abs("../../ui")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "tsconfig.json")
	text := fmt.Sprintf(`{"extends": %q, "compilerOptions": {"paths": {"*": [%q]}}, "include": [%q, %q]}`,
		ui+"/jsconfig.json", dir+"/node_modules/*", ui+"/*.js", ui+"/types/*.d.ts")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(dir, "node_modules/.bin/tsc"), "-p", config).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}

// typesOf writes the schemas as TypeScript.
func typesOf(docs *huma.OpenAPI) string {
	var b strings.Builder
	b.WriteString("// The documents of the API, from docs/openapi.yaml. TestTypes writes this file.\n")
	all := docs.Components.Schemas.Map()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\nexport interface %s %s\n", name, typeScript(all[name], ""))
	}
	return b.String()
}

func typeScript(s *huma.Schema, indent string) string {
	switch {
	case s == nil:
		return "any"
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case len(s.Enum) > 0 && s.Type == huma.TypeString:
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprintf("%q", e))
		}
		return strings.Join(words, " | ")
	}
	switch s.Type {
	case huma.TypeString:
		return "string"
	case huma.TypeInteger, huma.TypeNumber:
		return "number"
	case huma.TypeBoolean:
		return "boolean"
	case huma.TypeArray:
		return "(" + typeScript(s.Items, indent) + ")[]"
	case huma.TypeObject:
		return objectType(s, indent)
	}
	return "any"
}

func objectType(s *huma.Schema, indent string) string {
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		return "Record<string, " + typeScript(values, indent) + ">"
	}
	if len(s.Properties) == 0 {
		return "Record<string, any>"
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range names {
		p := s.Properties[name]
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		if p.Description != "" {
			fmt.Fprintf(&b, "%s  /** %s */\n", indent, p.Description)
		}
		fmt.Fprintf(&b, "%s  %s%s: %s\n", indent, name, optional, typeScript(p, indent+"  "))
	}
	return b.String() + indent + "}"
}
