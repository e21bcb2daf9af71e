// Package ui holds the files of the panel: plain ES modules, a style sheet
// and the vendored libraries, embedded as they are. There is no build: what
// stands in this folder is what the browser runs.
package ui

import "embed"

// Files holds index.html, the panel's modules and style, and vendor/.
//
//go:embed index.html icon.svg *.js *.css vendor/*.js vendor/*.css
var Files embed.FS
