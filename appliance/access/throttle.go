package access

import "time"

// throttle slows down guessing: after free wrong tries each further one makes
// its address and its user wait twice as long, up to the most. The user's own
// account is slowed less than the address, so that a stranger's guesses do
// not lock the owner out for long.
type throttle map[string]tries

type tries struct {
	wrong int
	last  time.Time
}

const (
	freeTries   = 3
	firstWait   = time.Second
	addressMost = 5 * time.Minute
	userMost    = 15 * time.Second
	forgetAfter = time.Hour
	triesMost   = 10_000 // addresses remembered at once
)

// wait returns how long user at address from must still wait.
func (t throttle) wait(now time.Time, user, from string) time.Duration {
	return max(t.key("from "+from, now, addressMost), t.key("user "+user, now, userMost))
}

func (t throttle) key(key string, now time.Time, most time.Duration) time.Duration {
	n := t[key]
	if n.wrong < freeTries {
		return 0
	}
	pause := firstWait << min(n.wrong-freeTries, 20)
	return max(0, n.last.Add(min(pause, most)).Sub(now))
}

// failed books a wrong try.
func (t throttle) failed(now time.Time, user, from string) {
	if len(t) >= triesMost {
		for k, n := range t {
			if now.Sub(n.last) > forgetAfter {
				delete(t, k)
			}
		}
	}
	for _, key := range []string{"from " + from, "user " + user} {
		n := t[key]
		if now.Sub(n.last) > forgetAfter {
			n.wrong = 0
		}
		if _, known := t[key]; known || len(t) < triesMost {
			t[key] = tries{n.wrong + 1, now}
		}
	}
}

// passed forgets the wrong tries of an address that knows the secret.
func (t throttle) passed(from string) { delete(t, "from "+from) }
