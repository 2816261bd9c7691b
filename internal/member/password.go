package member

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/waybillhq/waybill/internal/ship"
)

// passwords makes and checks the hashes of passwords, a few at a time: each
// takes memory and tens of milliseconds, and a flood of sign-ins must not take
// either from the rest of the service.
type passwords struct {
	cost  cost
	slots chan struct{}
	decoy string // checked where there is no hash, at the same cost
}

// What a hash costs (the smallest of the recommended settings for argon2id).
var present = cost{memoryKiB: 19 * 1024, passes: 2, lanes: 1}

type cost struct {
	memoryKiB, passes uint32
	lanes             uint8
}

func (c Config) cost() cost {
	if c.CheapHashes {
		return cost{memoryKiB: 64, passes: 1, lanes: 1}
	}
	return present
}

const (
	saltSize = 16
	keySize  = 32
	slotWait = 5 * time.Second
)

func newPasswords(c cost) *passwords {
	salt, key := make([]byte, saltSize), make([]byte, keySize)
	rand.Read(salt) // never fails
	rand.Read(key)
	return &passwords{cost: c, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))), decoy: phc(c, salt, key)}
}

// slot waits for one of the places to work in.
func (p *passwords) slot(ctx context.Context) (done func(), err error) {
	wait := time.NewTimer(slotWait)
	defer wait.Stop()
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, &ship.Error{Kind: ship.Unavailable, Message: "too many people sign in at once", RetryAfter: time.Second}
	}
}

// hash returns what is stored of a password.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	done, err := p.slot(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	return phc(p.cost, salt, derive(password, salt, p.cost)), nil
}

// matches reports whether the hash is the password's. It takes as long for no
// hash at all, which no password matches.
func (p *passwords) matches(ctx context.Context, password, hash string) (bool, error) {
	password = password[:min(len(password), 8*maxPassword)] // no longer one was ever set
	real := hash != ""
	if !real {
		hash = p.decoy
	}
	c, salt, key, err := parsePHC(hash)
	if err != nil {
		return false, err
	}
	done, err := p.slot(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	same := subtle.ConstantTimeCompare(derive(password, salt, c), key) == 1
	return same && real, nil
}

func derive(password string, salt []byte, c cost) []byte {
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, c.passes, c.memoryKiB, c.lanes, keySize)
}

// outdated reports whether a hash cost another amount than today's do.
func (p *passwords) outdated(hash string) bool {
	c, _, _, err := parsePHC(hash)
	return err == nil && c != p.cost
}

// phc writes a hash with all that is needed to check it.
func phc(c cost, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memoryKiB, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(key))
}

var errHash = errors.New("a stored password hash cannot be read")

func parsePHC(s string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, errHash
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memoryKiB, &c.passes, &c.lanes); err != nil || n != 3 {
		return c, nil, nil, errHash
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(key) != keySize || c.passes < 1 || c.lanes < 1 || c.memoryKiB > 1<<20 {
		return c, nil, nil, errHash
	}
	return c, salt, key, nil
}

// The lengths of passwords, in characters.
const (
	minPassword = 12
	maxPassword = 256
)

// checkPassword says what is wrong with a new password. Length is what counts;
// beyond it only what a guesser tries first is refused.
func checkPassword(password string, known ...string) []ship.FieldError {
	wrong := func(detail string) []ship.FieldError {
		return []ship.FieldError{{Pointer: "/password", Code: "invalid", Detail: detail}}
	}
	n := utf8.RuneCountInString(password)
	if !utf8.ValidString(password) || n < minPassword {
		return wrong(fmt.Sprintf("needs at least %d characters: a few words are easy to keep in mind", minPassword))
	}
	if n > maxPassword {
		return wrong(fmt.Sprintf("has more than %d characters", maxPassword))
	}
	plain := strings.ToLower(strings.TrimSpace(password))
	for _, k := range append(known, "waybill") {
		name, _, _ := strings.Cut(strings.ToLower(k), "@")
		if len(name) > 2 && strings.Trim(strings.ReplaceAll(plain, name, ""), "0123456789!@#$%^&*.-_ ") == "" {
			return wrong("is easy to guess for who knows you")
		}
	}
	if variety(plain) < 5 || isCommon(plain) {
		return wrong("is one of the first that are guessed")
	}
	return nil
}

// variety is how many different characters there are.
func variety(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen)
}

// common are what the commonest long passwords are made of.
var common = []string{
	"password", "passwort", "qwertyuiop", "qwerty", "qwertz", "asdfghjkl", "asdf", "zxcvbnm", "1q2w3e4r5t6y", "1qaz2wsx3edc", "1q2w3e4r", "1qaz2wsx",
	"letmein", "welcome", "iloveyou", "administrator", "admin", "changeme", "secret", "abcdefghijklmnop", "abcd", "abc", "dragon", "sunshine", "monkey", "football", "baseball", "princess", "superman", "trustno1", "shipping",
}

// isCommon reports whether s is nothing but common parts and digits.
func isCommon(s string) bool {
	for _, c := range common {
		s = strings.ReplaceAll(s, c, "")
	}
	return strings.Trim(s, "0123456789!@#$%^&*.-_ ") == ""
}
