package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }
func (c *clock) after(d time.Duration) {
	c.t = c.t.Add(d)
}

func newClock() *clock { return &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func open(t *testing.T, dir string, c *clock) *Keyring {
	t.Helper()
	k, err := Open(dir, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const right = "correct horse battery"

func TestClaimAndLogin(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	k := open(t, dir, c)
	code := k.ClaimCode()
	if len(code) != 8 || k.Claimed() {
		t.Fatalf("code %q, claimed %v", code, k.Claimed())
	}
	if _, _, err := k.Login("", "1.2.3.4"); !errors.Is(err, ErrWrong) {
		t.Errorf("login before the claim: %v", err)
	}
	if err := k.Claim(code, "short", "1.2.3.4"); !errors.Is(err, ErrWeak) {
		t.Errorf("weak password: %v", err)
	}
	if err := k.Claim("AAAAAAAA", right, "1.2.3.4"); !errors.Is(err, ErrWrong) {
		t.Errorf("wrong code: %v", err)
	}
	if err := k.Claim(" "+strings.ToLower(code)+"\n", right, "1.2.3.4"); err != nil {
		t.Fatalf("claim: %v", err)
	}
	if err := k.Claim(code, right, "1.2.3.4"); !errors.Is(err, ErrClaimed) {
		t.Errorf("second claim: %v", err)
	}
	secret, who, err := k.Login(right, "1.2.3.4")
	if err != nil || who.Name != AdminUser || who.Scope != Admin {
		t.Fatalf("login: %+v, %v", who, err)
	}
	if got, ok := k.Session(secret); !ok || got.Name != AdminUser {
		t.Errorf("session %+v, %v", got, ok)
	}
	k.Logout(secret)
	if _, ok := k.Session(secret); ok {
		t.Error("a session after its end")
	}
	again := open(t, dir, c)
	if again.ClaimCode() != "" {
		t.Error("claimed box shows a code after a restart")
	}
	if _, _, err := again.Login(right, "1.2.3.4"); err != nil {
		t.Errorf("login after a restart: %v", err)
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	k := open(t, dir, c)
	if err := k.Claim(k.ClaimCode(), right, "x"); err != nil {
		t.Fatal(err)
	}
	secret, _, err := k.Mint("ci-1", Drive)
	if err != nil || !strings.HasPrefix(secret, TokenPrefix) || len(secret) != len(TokenPrefix)+32 {
		t.Fatalf("token %q, %v", secret, err)
	}
	if err := k.Accept("fixed", Read, "a secret of the configuration"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "access.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{right, secret, strings.TrimPrefix(secret, TokenPrefix), "fixed"} {
		if strings.Contains(string(b), s) {
			t.Errorf("%q stands in the file", s)
		}
	}
	if !strings.Contains(string(b), "$argon2id$v=19$m=65536,t=3,p=2$") {
		t.Errorf("no argon2id in %s", b)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if got, ok := open(t, dir, c).Token(secret); !ok || got.Name != "ci-1" || got.Scope != Drive {
		t.Errorf("after a restart: %+v, %v", got, ok)
	}
}

// What cannot be stored is not in force either.
func TestUnstoredTokens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := open(t, dir, newClock())
	first, _, err := k.Mint("ci", Drive)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ci", "new"} {
		if secret, _, err := k.Mint(name, Read); err == nil || secret != "" {
			t.Errorf("%s: minted without a disk: %v", name, err)
		}
	}
	if got, ok := k.Token(first); !ok || got.Scope != Drive || len(k.Tokens()) != 1 {
		t.Errorf("%+v %v, tokens %+v", got, ok, k.Tokens())
	}
}

func TestTokens(t *testing.T) {
	k := open(t, "", newClock())
	first, _, _ := k.Mint("ci", Drive)
	session, _, err := k.LoginToken(first, "x")
	if err != nil {
		t.Fatal(err)
	}
	second, _, _ := k.Mint("ci", Read)
	if _, ok := k.Token(first); ok {
		t.Error("the old token of a name still opens")
	}
	if _, ok := k.Session(session); ok {
		t.Error("a session of the old token lives")
	}
	if got, ok := k.Token(second); !ok || got.Scope != Read {
		t.Errorf("%+v %v", got, ok)
	}
	for _, bad := range []string{"", "-x", "a b", "guest@1.2.3.4", AdminUser, strings.Repeat("x", 65)} {
		if _, _, err := k.Mint(bad, Read); !errors.Is(err, ErrName) {
			t.Errorf("name %q: %v", bad, err)
		}
	}
	if err := k.Accept("fixed", Admin, "too short"); err == nil {
		t.Error("a short secret is accepted")
	}
	if err := k.Accept("fixed", Admin, "long enough for a secret"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Mint("fixed", Read); !errors.Is(err, ErrFixed) {
		t.Errorf("mint over the configuration: %v", err)
	}
	if err := errors.Join(k.Revoke("ci")); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if err := k.Revoke("ci"); !errors.Is(err, ErrNoToken) {
		t.Errorf("revoke twice: %v", err)
	}
	if err := k.Revoke("fixed"); !errors.Is(err, ErrFixed) {
		t.Errorf("revoke of the configuration's: %v", err)
	}
	if all := k.Tokens(); len(all) != 1 || all[0].Name != "fixed" || !all[0].Config {
		t.Errorf("%+v", all)
	}
}

func TestSessionsEnd(t *testing.T) {
	c := newClock()
	k := open(t, "", c)
	token, _, _ := k.Mint("ci", Drive)
	idle, _, _ := k.LoginToken(token, "x")
	busy, _, _ := k.LoginToken(token, "x")
	for range 15 {
		c.after(11 * time.Hour)
		if _, ok := k.Session(busy); !ok {
			t.Fatalf("a session in use ended at %s", c.t)
		}
	}
	if _, ok := k.Session(idle); ok {
		t.Error("an idle session lives")
	}
	c.after(11 * time.Hour) // 176 h > 7 days
	if _, ok := k.Session(busy); ok {
		t.Error("a session outlives its most")
	}
}

// TestThrottle: three wrong tries are free, then the address waits 1, 2, 4…
// seconds, at most 5 minutes; the user waits at most 15 s from elsewhere.
func TestThrottle(t *testing.T) {
	c := newClock()
	k := open(t, "", c)
	var slow Slow
	for range freeTries {
		if _, _, err := k.LoginToken("wrong", "6.6.6.6"); !errors.Is(err, ErrWrong) {
			t.Fatal(err)
		}
	}
	for _, want := range []time.Duration{1, 2, 4, 8} {
		_, _, err := k.LoginToken("wrong", "6.6.6.6")
		if !errors.As(err, &slow) || slow.Wait != want*time.Second {
			t.Fatalf("%v, want a wait of %d s", err, want)
		}
		c.after(slow.Wait)
		if _, _, err := k.LoginToken("wrong", "6.6.6.6"); !errors.Is(err, ErrWrong) {
			t.Fatal(err)
		}
	}
	for range 20 {
		c.after(addressMost)
		k.LoginToken("wrong", "6.6.6.6")
	}
	if _, _, err := k.LoginToken("wrong", "6.6.6.6"); !errors.As(err, &slow) || slow.Wait != addressMost {
		t.Errorf("%v, want a wait of %s", err, addressMost)
	}
	token, _, _ := k.Mint("ci", Drive)
	if _, _, err := k.LoginToken(token, "1.2.3.4"); !errors.As(err, &slow) || slow.Wait != userMost {
		t.Errorf("from elsewhere: %v, want a wait of %s", err, userMost)
	}
	c.after(userMost)
	if _, _, err := k.LoginToken(token, "1.2.3.4"); err != nil {
		t.Errorf("from elsewhere after the wait: %v", err)
	}
}

func TestPasswordHash(t *testing.T) {
	phc := hashPassword(right)
	if !checkPassword(phc, right) || checkPassword(phc, right+"x") {
		t.Error("the hash does not tell right from wrong")
	}
	if phc == hashPassword(right) {
		t.Error("no salt")
	}
	for _, bad := range []string{"", "$argon2id$", "$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=8,t=1,p=1$!$AAAA", "$argon2id$v=18$m=8,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=8,t=1,p=1$AAAA$"} {
		if checkPassword(bad, "") {
			t.Errorf("%q opens", bad)
		}
	}
}

// A token that cannot be written off goes on, and the answer says so.
func TestRevokeWithoutDisk(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir, newClock())
	secret, _, err := k.Mint("ci", Drive)
	if err != nil {
		t.Fatal(err)
	}
	session, _, err := k.LoginToken(secret, "1.2.3.4")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := k.Revoke("ci"); err == nil {
		t.Fatal("revoked without a disk to write it on")
	}
	if _, ok := k.Token(secret); !ok {
		t.Error("the token is dead, though the answer said it is not")
	}
	if _, ok := k.Session(session); !ok {
		t.Error("its session is dead")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := k.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	if _, ok := k.Token(secret); ok {
		t.Error("the token opens after it was revoked")
	}
}
