// Package experiment compares settings of a link over and over on the same
// channels, and writes down what it found.
//
//	profiles × seeds × repetitions × settings = cells
//	                                   A │ B    one after another on the same channel
//
// A cell is one measurement: the link is put in force anew with the profile,
// the seed and the setting's overrides, the traffic runs, and the box's run of
// that time gives verdict and figures. Each cell is on disk before the next
// begins, so that an experiment goes on where it was, whatever ended it. The
// report is one HTML file; CSV, JSON and JUnit XML stand beside it.
package experiment
