// Package appliance is the words of a box that emulates links: its
// configuration (Config), what is wanted of a pair of test ports (Want), of its
// proxies (PEP) and of a bundle of paths, what is (State), what happened
// (Event), what happens to a link for a while (Disruption), and what is wrong
// (Problems and the other errors). Package box makes them true; faces, reports
// and laboratories speak them.
//
// Units: times are RFC 3339, measurements are numbers whose name ends in the
// unit, quantities in documents are text ("250ms", "8Mbit/s").
package appliance
