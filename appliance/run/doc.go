// Package run is what happened over time: samples of the pairs ten times a
// second, their history, and runs: stretches with a name, kept in the state
// directory with marks, events, verdict and figures, and written as reports.
//
//	State ─Between─▶ Sample ─┬─▶ History (three hours, in memory)
//	                         └─▶ Run (as long as it goes on, on disk) ─▶ HTML, JSON, CSV, JUnit
//
// Rates are in bits per second of Ethernet frames, delays in milliseconds;
// the name of every figure ends in its unit.
package run
