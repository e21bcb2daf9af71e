// Package access says who may do what to the box: bearer tokens for
// programs, one password for people, sessions for browsers, a lease that lets
// one user at a time drive the box, and an audit log of every write.
//
//	Authorization: Bearer flk_…  ─┐
//	Cookie: session              ─┼─▶ Caller{Name, Scope} ─▶ scope? ─▶ lease? ─▶ done ─▶ audit
//	nothing (open bench)         ─┘
//
// There is no default password: a box that nobody has claimed prints a code
// on its console, and who types it sets the password. Passwords are kept as
// argon2id (RFC 9106), tokens and sessions as SHA-256 of 160 random bits.
//
// The package knows neither HTTP nor the box; time comes in as a function.
package access
