package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"farlink/appliance"
)

var (
	mSplit    = metric("pep_flows", "Connections that are split now.", "pair", "side")
	mSplitMax = metric("pep_flows_limit", "Connections that may be split at a time; more cross unsplit.", "pair", "side")
	mSplits   = metric("pep_connections_total", "Connections by what became of them: split, refused, unreachable, orphaned (the client never completed its handshake), reset, over_limit (crossed unsplit).", "pair", "side", "fate")
	mInstead  = metric("pep_fallbacks_total", "Sockets that got the fallback in place of the congestion control asked for.", "pair", "side")
	mGranted  = metric("pep_granted_bits_per_second", "What the link grants now in the way into which the proxy sends, as the proxy hears it.", "pair", "side", "link", "way")
	mAge      = metric("pep_grant_age_seconds", "How long ago the proxy heard that.", "pair", "side", "link", "way")
	mOracle   = metric("pep_oracle_error_ratio", "Mean error of xlayer's windows against granted rate times RTT, over some ten seconds.", "pair", "side")
	mSaved    = metric("pep_saved_window_bytes", "What the control resume has saved of a link for new connections; they jump to half of it.", "pair", "side", "link", "way")
	mResumed  = metric("pep_resumed_total", "Connections that jumped to half of the saved window: all, validated, retreated.", "pair", "side", "link", "way", "outcome")
	mAnswers  = metric("pep_answering", "Whether the proxy answers; without, its other figures are missing.", "pair", "side")

	pepMetrics = []*prometheus.Desc{mAnswers, mSplit, mSplitMax, mSplits, mInstead, mGranted, mAge, mOracle, mSaved, mResumed}
)

// collectPEP emits the figures of a pair's proxies.
func collectPEP(e emitter, pair string, s appliance.PEPState) {
	for _, p := range s.Proxies {
		e.gauge(mAnswers, one(p.Silent == ""), pair, p.Side)
		if p.Silent != "" {
			continue
		}
		e.gauge(mSplit, float64(p.Flows), pair, p.Side)
		e.gauge(mSplitMax, float64(p.MostFlows), pair, p.Side)
		for _, f := range []struct {
			name  string
			count uint64
		}{{"split", p.Accepted}, {"refused", p.Refused}, {"unreachable", p.Unreachable}, {"orphaned", p.Orphaned},
			{"reset", p.Resets}, {"over_limit", p.Intercept.OverLimit}} {
			e.count(mSplits, float64(f.count), pair, p.Side, f.name)
		}
		e.count(mInstead, float64(p.Fallbacks), pair, p.Side)
		for _, l := range p.Feed.Links {
			number := strconv.Itoa(l.Link)
			e.gauge(mGranted, l.GrantedBps, pair, p.Side, number, l.Way)
			e.gauge(mAge, l.AgeMs/1e3, pair, p.Side, number, l.Way)
		}
		for _, l := range p.Saved {
			number := strconv.Itoa(l.Link)
			e.gauge(mSaved, float64(l.Bytes), pair, p.Side, number, l.Way)
			e.count(mResumed, float64(l.Jumps), pair, p.Side, number, l.Way, "all")
			e.count(mResumed, float64(l.Validated), pair, p.Side, number, l.Way, "validated")
			e.count(mResumed, float64(l.Retreats), pair, p.Side, number, l.Way, "retreated")
		}
		e.gauge(mOracle, p.Feed.Error, pair, p.Side)
	}
}
