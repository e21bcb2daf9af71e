package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"farlink/appliance"
	"farlink/pep/bundle"
)

var (
	mMode       = metric("multipath_mode", "1 for the mode that the bundle of paths is in.", "mode")
	mBundle     = metric("multipath_effective", "1 if the bundle of paths is as asked.")
	mPathUp     = metric("multipath_path_up", "1 if the path's interfaces are up.", "path")
	mPathBest   = metric("multipath_path_best", "1 if what is not carried over all paths goes by it.", "path")
	mPathBytes  = metric("multipath_path_bytes_total", "Bytes that the path carried, with all headers.", "path", "way")
	mCarried    = metric("multipath_connections", "Connections that are carried over several paths now.")
	mCarriedAll = metric("multipath_connections_total", "Connections by what became of them: opened, refused, fallback (plain TCP in mode wire), reset (in mode lab).", "fate")
	mStrangers  = metric("multipath_strangers_total", "Subflows of mode lab that were turned away.")
	mReinjected = metric("multipath_reinjected_chunks_total", "Chunks of mode lab that were sent by a second path.")

	multipathMetrics = []*prometheus.Desc{mMode, mBundle, mPathUp, mPathBest, mPathBytes, mCarried, mCarriedAll, mStrangers, mReinjected}
)

// collectMultipath emits the figures of the bundle of paths.
func collectMultipath(e emitter, s appliance.MultipathState) {
	for _, m := range bundle.Modes {
		e.gauge(mMode, one(s.Want.Mode == m || s.Want.Mode == "" && m == bundle.Off), string(m))
	}
	e.gauge(mBundle, one(s.Effective))
	for _, p := range s.Paths {
		e.gauge(mPathUp, one(p.Up), p.Name)
		e.gauge(mPathBest, one(p.Best), p.Name)
		e.count(mPathBytes, float64(p.UpBytes), p.Name, "up")
		e.count(mPathBytes, float64(p.DownBytes), p.Name, "down")
	}
	if s.PID == 0 {
		return
	}
	e.gauge(mCarried, float64(s.Total))
	for _, f := range []struct {
		name  string
		count uint64
	}{{"opened", s.Totals.Opened}, {"refused", s.Totals.Refused}, {"fallback", s.Totals.Fallbacks}, {"reset", s.Totals.Resets}} {
		e.count(mCarriedAll, float64(f.count), f.name)
	}
	e.count(mStrangers, float64(s.Totals.Strangers))
	e.count(mReinjected, float64(s.Totals.Reinjected))
}
