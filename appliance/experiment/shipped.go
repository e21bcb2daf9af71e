package experiment

import (
	"embed"
	"strings"
)

//go:embed shipped/*.toml
var shipped embed.FS

// Names lists the shipped experiments, sorted.
func Names() (names []string) {
	files, err := shipped.ReadDir("shipped")
	if err != nil {
		return nil // there is no such build
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return names
}

// Shipped returns the document of a shipped experiment.
func Shipped(name string) (text string, ok bool) {
	b, err := shipped.ReadFile("shipped/" + name + ".toml")
	return string(b), err == nil
}
