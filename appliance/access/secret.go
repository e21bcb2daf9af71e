package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// TokenPrefix starts every token, so that people and secret scanners know one
// when they see it.
const TokenPrefix = "flk_"

var letters = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// random returns n random bytes as letters and digits that are hard to
// mistake for each other; 20 bytes are 160 bits and 32 characters.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails, crypto/rand says
	return letters.EncodeToString(b)
}

// digest is how a secret with full entropy is kept: a fast hash suffices, as
// there is nothing to guess.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// The cost of a password: RFC 9106 section 4, second recommended option (64
// MiB) with two lanes, as the box has few cores.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonLanes   = 2
	argonKey     = 32
	argonSalt    = 16
	passwordMin  = 10
	passwordMost = 256 // bytes; argon2 takes more, an attacker's patience too
)

// hashPassword returns the password as a PHC string.
func hashPassword(password string) string {
	salt := make([]byte, argonSalt)
	rand.Read(salt)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonLanes, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// checkPassword reports whether password is the one hashed in phc.
func checkPassword(phc, password string) bool {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var version, memory, time uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &lanes); err != nil {
		return false
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || version != argon2.Version || len(want) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, time, memory, lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
