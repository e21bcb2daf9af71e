package machine

import (
	"fmt"
	"math"

	"farlink/appliance"
	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/wire"
)

// terms is what the links of a document promise.
type terms struct {
	names []string
	links [][2][]emulator.Term
}

// termsOf reads them off a document; one that cannot be read promises nothing.
func termsOf(document []byte) (t terms) {
	spec, problems := emulator.ParseSpec(document)
	for _, p := range problems {
		if p.Level == 0 {
			return t
		}
	}
	for i, l := range spec.Links {
		name := l.Name
		if i == 0 {
			name = appliance.MainLink
		}
		var both [2][]emulator.Term
		for _, w := range link.Ways {
			both[w] = emulator.Terms(l.Profile, w)
		}
		t.names, t.links = append(t.names, name), append(t.links, both)
	}
	return t
}

// checks holds what was seen against what is promised.
func (t terms) checks(s wire.Stats, readings []appliance.Reading) (all []appliance.Check) {
	for i, both := range t.links {
		for _, w := range link.Ways {
			for _, term := range both[w] {
				c := appliance.Check{Link: t.names[i], Way: w.String(), What: term.What}
				switch seen := s.Ways[w].Checks; {
				case term.Promise == "":
					c.Word, c.Text = appliance.Unchecked, "not checked: "+term.Why
				case i >= len(seen):
					c.Word, c.Text = appliance.Unchecked, fmt.Sprintf("not checked: %d links of a pair are", len(seen))
				default:
					c.Word, c.Text = judge(term, &seen[i], figure(readings, c.Link, c.Way))
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// figure returns a look-up of a way's readings.
func figure(all []appliance.Reading, of, way string) func(string) float64 {
	return func(name string) float64 {
		for _, r := range all {
			if r.Link == of && r.Way == way && r.Name == name {
				return r.Value
			}
		}
		return 0
	}
}

// judge says whether a promise is kept, and by which figures.
func judge(t emulator.Term, seen *wire.Check, figure func(string) float64) (appliance.Kept, string) {
	switch t.What {
	case emulator.TermDelay:
		return said(t, seen.Early > 0, seen.Timed, fmt.Sprintf("%d of %d frames were sooner, the soonest after %v", seen.Early, seen.Timed, seen.Least),
			fmt.Sprintf("the least of %d frames was %v", seen.Timed, seen.Least))
	case emulator.TermRate:
		return said(t, seen.Slow+seen.Fast > 0, seen.Paced, fmt.Sprintf("%v in %d of %d spans, asked %v", seen.Missed, seen.Slow+seen.Fast, seen.Paced, seen.Asked),
			fmt.Sprintf("held in %d spans", seen.Paced))
	case emulator.TermFrames:
		return said(t, seen.Uneven > 0, seen.Balanced, fmt.Sprintf("not so in %d of %d looks", seen.Uneven, seen.Balanced),
			fmt.Sprintf("so in %d looks", seen.Balanced))
	case emulator.TermLoss:
		lost := seen.Lost[link.Random]
		least := max(seen.Out-seen.Copies+lost-seen.Before, 0)
		return share(t, lost, least, least+seen.Held+seen.Before)
	case emulator.TermDuplicate:
		n := seen.Out - seen.Copies
		return share(t, seen.Copies, max(n-seen.Before, 0), n)
	}
	return jitter(t, seen.Out, figure)
}

// said puts a judgement into words; without cases to judge it waits.
func said(t emulator.Term, broken bool, cases int, how, kept string) (appliance.Kept, string) {
	switch {
	case broken:
		return appliance.Broken, t.Promise + ": " + how
	case cases == 0:
		return appliance.Waiting, t.Promise + ": too little traffic yet"
	}
	return appliance.IsKept, t.Promise + ": " + kept
}

// sure is how many standard deviations a share or a mean must be off for a
// promise to count as broken: it is looked at again and again.
const sure = 6

// share judges how many of between least and most frames met a fate that a
// share of all is to meet: a binomial number, whose bounds are known once ten
// are to be expected.
func share(t emulator.Term, n, least, most int) (appliance.Kept, string) {
	below, above := float64(least)*t.Share, float64(most)*t.Share
	off := float64(n) < below-sure*math.Sqrt(below*(1-t.Share))-1 || float64(n) > above+sure*math.Sqrt(above*(1-t.Share))+1
	cases := 0
	if below >= 10 || off {
		cases = least
	}
	text := fmt.Sprintf("%d of %d", n, most)
	return said(t, off, cases, text, text)
}

// jitter judges mean and deviation of the delays realised, of n frames. What
// lasts from frame to frame makes fewer of them count.
func jitter(t emulator.Term, n int, figure func(string) float64) (appliance.Kept, string) {
	mean, asked := figure("delay_mean_ms"), figure("delay_asked_ms")
	sd, spread := figure("jitter_ms"), figure("jitter_asked_ms")
	text := fmt.Sprintf("mean %.3f ms, asked %.3f ms; deviation %.3f ms, asked %.3f ms", mean, asked, sd, spread)
	count := float64(n)
	switch {
	case t.Memory < 0:
		return appliance.Unchecked, "not checked: deviations last longer than a look; " + text
	case t.Memory > 0:
		count /= t.Memory
	}
	cases := 0
	if count >= 100 {
		cases = n
	}
	// 2 % of the deviation beside the chance: delays are whole ns, and a
	// distribution may be cut at no delay.
	allowed := spread * (sure/math.Sqrt(max(count, 1)) + 0.02)
	off := cases > 0 && math.Abs(mean-asked) > allowed
	how := text
	if mean > asked {
		how += ": frames follow each other so closely that keeping their order delays them; give the jitter a half_life, or allow reorder"
	}
	return said(t, off, cases, how, text)
}
