// Package api is the box's face to programs and people: REST under /api/v1,
// a stream of server-sent events, Prometheus metrics, health, and the panel.
//
//	request ─▶ guard: limits, host, origin, headers
//	        ─▶ router (gin): static files, 404 and 405
//	        ─▶ operation (huma): shape ─▶ who ─▶ scope ─▶ lease ─▶ Box ─▶ audit
//
// gin routes and huma describes; both are known here only. Every operation is
// Go code first; docs/openapi.yaml is printed from it. Every error is problem
// details (RFC 9457). Measurements are numbers whose name ends in the unit,
// quantities in documents are text.
package api
