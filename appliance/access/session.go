package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A session ends when it was not used for SessionIdle, and in any case
// SessionMost after the login.
const (
	SessionIdle = 12 * time.Hour
	SessionMost = 7 * 24 * time.Hour
)

type session struct {
	caller Caller
	begun  time.Time
	used   time.Time
}

// ErrWrong is the error of a wrong password, token or claim code.
var ErrWrong = errors.New("wrong password, token or claim code")

// ErrClaimed is the error of claiming a box that has a password.
var ErrClaimed = errors.New("the box is claimed already; log in")

// ErrWeak is the error of a password that is too short or too long.
var ErrWeak = fmt.Errorf("want a password of %d to %d bytes", passwordMin, passwordMost)

// Slow is the error of a login that comes too soon after wrong ones.
type Slow struct{ Wait time.Duration }

func (s Slow) Error() string {
	return fmt.Sprintf("too many wrong logins; try again in %s", s.Wait.Round(time.Second))
}

// Claimed reports whether the box has a password.
func (k *Keyring) Claimed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.password != ""
}

// ClaimCode returns the code that the console shows until the box is claimed,
// "" afterwards.
func (k *Keyring) ClaimCode() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.code
}

// Claim sets the password of an unclaimed box.
func (k *Keyring) Claim(code, password, from string) error {
	if n := len(password); n < passwordMin || n > passwordMost {
		return ErrWeak
	}
	// One at a time, and the wait is looked at within: guesses made side by
	// side are not free.
	k.costly <- struct{}{}
	defer func() { <-k.costly }()
	k.mu.Lock()
	wait := k.slow.wait(k.now(), "claim", from)
	have := k.code
	k.mu.Unlock()
	switch {
	case have == "":
		return ErrClaimed
	case wait > 0:
		return Slow{wait}
	case subtle.ConstantTimeCompare([]byte(strings.ToUpper(strings.TrimSpace(code))), []byte(have)) != 1:
		return k.wrong("claim", from)
	}
	hash := hashPassword(password)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.password, k.code = hash, ""
	if err := k.save(); err != nil { // a full disk: the code goes on to be good
		k.password, k.code = "", have
		return err
	}
	return nil
}

// wrong books a wrong secret and returns ErrWrong.
func (k *Keyring) wrong(user, from string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.slow.failed(k.now(), user, from)
	return ErrWrong
}

// Login begins a session of the user by password and returns its secret.
func (k *Keyring) Login(password, from string) (secret string, c Caller, err error) {
	k.costly <- struct{}{}
	defer func() { <-k.costly }()
	k.mu.Lock()
	wait := k.slow.wait(k.now(), AdminUser, from)
	hash := k.password
	k.mu.Unlock()
	if wait > 0 {
		return "", c, Slow{wait}
	}
	if len(password) > passwordMost || hash == "" {
		return "", c, k.wrong(AdminUser, from)
	}
	if !checkPassword(hash, password) {
		return "", c, k.wrong(AdminUser, from)
	}
	c = Caller{Name: AdminUser, Scope: Admin}
	return k.begin(c, from), c, nil
}

// LoginToken begins a session with what a token may do.
func (k *Keyring) LoginToken(token, from string) (secret string, c Caller, err error) {
	k.mu.Lock()
	wait := k.slow.wait(k.now(), "token", from)
	k.mu.Unlock()
	if wait > 0 {
		return "", c, Slow{wait}
	}
	c, ok := k.Token(token)
	if !ok {
		return "", c, k.wrong("token", from)
	}
	return k.begin(c, from), c, nil
}

// sessionsMost bounds the memory that logins can take.
const sessionsMost = 1000

func (k *Keyring) begin(c Caller, from string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	k.slow.passed(from)
	for id, s := range k.sessions {
		if s.over(now) {
			delete(k.sessions, id)
		}
	}
	if len(k.sessions) >= sessionsMost {
		k.dropOldest()
	}
	secret := random(20)
	k.sessions[digest(secret)] = session{caller: c, begun: now, used: now}
	return secret
}

func (k *Keyring) dropOldest() {
	oldest := ""
	for id, s := range k.sessions {
		if oldest == "" || s.used.Before(k.sessions[oldest].used) {
			oldest = id
		}
	}
	delete(k.sessions, oldest)
}

func (k *Keyring) dropSessions(name string) {
	for id, s := range k.sessions {
		if s.caller.Name == name {
			delete(k.sessions, id)
		}
	}
}

func (s session) over(now time.Time) bool {
	return now.Sub(s.used) > SessionIdle || now.Sub(s.begun) > SessionMost
}

// Session returns the caller of a session and marks it used.
func (k *Keyring) Session(secret string) (Caller, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := digest(secret)
	s, ok := k.sessions[id]
	if !ok || s.over(k.now()) {
		delete(k.sessions, id)
		return Caller{}, false
	}
	s.used = k.now()
	k.sessions[id] = s
	return s.caller, true
}

// Logout ends a session.
func (k *Keyring) Logout(secret string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sessions, digest(secret))
}
