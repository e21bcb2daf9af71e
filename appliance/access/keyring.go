package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"farlink/profiles/document"
)

// AdminUser is the one user with a password.
const AdminUser = "admin"

// Token is what is known of a bearer token; the secret itself is shown once,
// when it is made, and kept as a hash.
type Token struct {
	Name    string    `json:"name" doc:"Name, as it stands in the audit log." example:"ci-runner-12"`
	Scope   Scope     `json:"scope" enum:"read,drive,admin" doc:"How much the token may do; each scope includes the ones before it."`
	Created time.Time `json:"created"`
	Config  bool      `json:"from_config" doc:"It stands in the configuration and cannot be revoked here."`
	hash    string
}

// kept is the keyring's file.
type kept struct {
	Password string        `json:"password,omitempty"` // argon2id, as a PHC string
	Tokens   []storedToken `json:"tokens"`
}

type storedToken struct {
	Name    string    `json:"name"`
	Scope   Scope     `json:"scope"`
	Created time.Time `json:"created"`
	SHA256  string    `json:"sha256"`
}

// Keyring keeps tokens, the password and the sessions. Its methods may be
// called from several goroutines.
type Keyring struct {
	mu       sync.Mutex
	file     string // "" keeps nothing
	now      func() time.Time
	password string
	code     string           // claim code; "" once claimed
	tokens   map[string]Token // by hash
	sessions map[string]session
	slow     throttle
	costly   chan struct{} // one argon2 at a time: 64 MiB each
}

// Open reads the keyring of the state directory dir; "" is a keyring that
// keeps nothing. A keyring without a password has a fresh claim code.
func Open(dir string, now func() time.Time) (*Keyring, error) {
	k := &Keyring{now: now, tokens: map[string]Token{}, sessions: map[string]session{},
		slow: throttle{}, costly: make(chan struct{}, 1)}
	if dir != "" {
		k.file = filepath.Join(dir, "access.json")
		if err := k.load(); err != nil {
			return nil, err
		}
	}
	if k.password == "" {
		k.code = strings.ToUpper(random(5))
	}
	return k, nil
}

func (k *Keyring) load() error {
	b, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read keyring: %w", err)
	}
	var d kept
	if err := document.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("read keyring %s: %w; mend it or remove it", k.file, err)
	}
	k.password = d.Password
	for _, t := range d.Tokens {
		k.tokens[t.SHA256] = Token{Name: t.Name, Scope: t.Scope, Created: t.Created, hash: t.SHA256}
	}
	return nil
}

// save writes the file whole or not at all. The caller holds the lock.
func (k *Keyring) save() error {
	if k.file == "" {
		return nil
	}
	d := kept{Password: k.password, Tokens: []storedToken{}}
	for _, t := range k.list() {
		if !t.Config {
			d.Tokens = append(d.Tokens, storedToken{t.Name, t.Scope, t.Created, t.hash})
		}
	}
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := Replace(k.file, append(b, '\n')); err != nil {
		return fmt.Errorf("write keyring: %w", err)
	}
	return nil
}

// Replace puts b in the place of the file, readable by its owner alone.
func Replace(file string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".access-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ErrName is the error of a token name that is not one.
var ErrName = errors.New("want 1 to 64 letters, digits, dots, dashes or underscores")

// ErrFixed is the error of revoking or replacing a token of the configuration.
var ErrFixed = errors.New("the token stands in the configuration; change it there")

// ErrNoToken is the error of revoking a token that is not there.
var ErrNoToken = errors.New("no such token")

// Accept lets a token of the configuration in; it is not stored.
func (k *Keyring) Accept(name string, scope Scope, secret string) error {
	if len(secret) < 16 {
		return fmt.Errorf("token %s: secret has %d characters, want at least 16", name, len(secret))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tokens[digest(secret)] = Token{Name: name, Scope: scope, Created: k.now(), Config: true, hash: digest(secret)}
	return nil
}

// Retain drops the tokens of the configuration but those with the secrets:
// of a configuration that was read again.
func (k *Keyring) Retain(secrets ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stay := map[string]bool{}
	for _, s := range secrets {
		stay[digest(s)] = true
	}
	for hash, t := range k.tokens {
		if t.Config && !stay[hash] {
			delete(k.tokens, hash)
			k.dropSessions(t.Name)
		}
	}
}

// Mint makes a token in the place of one of the same name, and returns its
// secret, which is never shown again.
func (k *Keyring) Mint(name string, scope Scope) (secret string, t Token, err error) {
	if !tokenName.MatchString(name) || name == AdminUser {
		return "", t, ErrName
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old, had := k.named(name)
	if had && old.Config {
		return "", t, ErrFixed
	}
	secret = TokenPrefix + random(20)
	t = Token{Name: name, Scope: scope, Created: k.now(), hash: digest(secret)}
	delete(k.tokens, old.hash)
	k.tokens[t.hash] = t
	if err := k.save(); err != nil { // a full disk: nothing has changed
		delete(k.tokens, t.hash)
		if had {
			k.tokens[old.hash] = old
		}
		return "", Token{}, err
	}
	k.dropSessions(name)
	return secret, t, nil
}

// Revoke ends a token and the sessions made with it. After an error nothing
// has changed: a token that is dead until the next start only would come back
// unnoticed.
func (k *Keyring) Revoke(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.named(name)
	switch {
	case !ok:
		return ErrNoToken
	case t.Config:
		return ErrFixed
	}
	delete(k.tokens, t.hash)
	if err := k.save(); err != nil {
		k.tokens[t.hash] = t
		return err
	}
	k.dropSessions(name)
	return nil
}

func (k *Keyring) named(name string) (Token, bool) {
	for _, t := range k.tokens {
		if t.Name == name {
			return t, true
		}
	}
	return Token{}, false
}

// Tokens lists the tokens by name.
func (k *Keyring) Tokens() []Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list()
}

func (k *Keyring) list() []Token {
	all := make([]Token, 0, len(k.tokens))
	for _, t := range k.tokens {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Token returns the caller that a bearer token stands for.
func (k *Keyring) Token(secret string) (Caller, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// A lookup by hash leaks nothing of use: who can choose the hash's
	// bits already knows a preimage.
	t, ok := k.tokens[digest(secret)]
	return Caller{Name: t.Name, Scope: t.Scope}, ok
}
