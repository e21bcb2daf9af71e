// Package traffic makes traffic between the two sides of a box and measures
// what becomes of it: transfers over TCP with the sender's own figures,
// datagrams with their one-way delay, echoes, pages of many short
// connections, or any command with numbers picked from what it prints.
//
//	device side a ──▶ up ──▶ network side b
//	      ◀── down ◀──
//
// The device opens connections, whichever way the bytes go, as phones and
// terminals do. Rates are in bits per second of payload, delays in
// milliseconds; the name of every figure ends in its unit.
package traffic
