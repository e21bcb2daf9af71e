// Package farlink is the root of the house; its tests keep the plan of
// docs/architecture.md true.
package farlink
