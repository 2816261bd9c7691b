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

// passwords hashes and checks passwords, a few at a time: each takes memory and
// tens of milliseconds, and a flood of sign-ins must not take either from the
// rest of the service.
type passwords struct {
	cost  cost
	slots chan struct{}
	decoy string // checked where there is no hash, at the same cost
}

// currentCost is the cost of a new hash (the smallest of the recommended
// settings for argon2id).
var currentCost = cost{memoryKiB: 19 * 1024, passes: 2, lanes: 1}

type cost struct {
	memoryKiB, passes uint32
	lanes             uint8
}

func (c Config) cost() cost {
	if c.CheapHashes {
		return cost{memoryKiB: 64, passes: 1, lanes: 1}
	}
	return currentCost
}

const (
	saltSize = 16
	keySize  = 32
	slotWait = 5 * time.Second
)

func newPasswords(c cost) *passwords {
	salt := make([]byte, saltSize)
	key := make([]byte, keySize)
	rand.Read(salt) // never fails
	rand.Read(key)

	return &passwords{
		cost:  c,
		slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))),
		decoy: phc(c, salt, key),
	}
}

// acquireSlot waits until one of the slots is free. The caller must call release.
func (p *passwords) acquireSlot(ctx context.Context) (release func(), err error) {
	timer := time.NewTimer(slotWait)
	defer timer.Stop()

	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, &ship.Error{Kind: ship.Unavailable, Message: "too many sign-ins at once; try again in a moment", RetryAfter: time.Second}
	}
}

// hash returns the hash of a password as it is stored.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	release, err := p.acquireSlot(ctx)
	if err != nil {
		return "", err
	}
	defer release()

	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	return phc(p.cost, salt, derive(password, salt, p.cost)), nil
}

// matches reports whether the hash is the password's. It takes as long for no
// hash at all, which no password matches: the time does not reveal who has an
// account.
func (p *passwords) matches(ctx context.Context, password, hash string) (bool, error) {
	password = password[:min(len(password), 8*maxPassword)] // no longer one was ever set

	hasHash := hash != ""
	if !hasHash {
		hash = p.decoy
	}
	c, salt, key, err := parsePHC(hash)
	if err != nil {
		return false, err
	}

	release, err := p.acquireSlot(ctx)
	if err != nil {
		return false, err
	}
	defer release()

	isSame := subtle.ConstantTimeCompare(derive(password, salt, c), key) == 1
	return isSame && hasHash, nil
}

// derive computes the key of a password. The text is normalized, so that a
// character matches however it was composed.
func derive(password string, salt []byte, c cost) []byte {
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, c.passes, c.memoryKiB, c.lanes, keySize)
}

// outdated reports whether a hash was made at another cost than today's.
func (p *passwords) outdated(hash string) bool {
	c, _, _, err := parsePHC(hash)
	return err == nil && c != p.cost
}

// phc formats a hash with everything that is needed to check it, as a PHC
// string.
func phc(c cost, salt, key []byte) string {
	encoding := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memoryKiB, c.passes, c.lanes, encoding.EncodeToString(salt), encoding.EncodeToString(key))
}

var errHash = errors.New("a stored password hash cannot be read")

// parsePHC reads what phc wrote.
func parsePHC(hash string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
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

// checkPassword returns what is invalid in a new password. Length matters most;
// beyond it only what a guesser tries first is refused. known are the person's
// e-mail and name.
func checkPassword(password string, known ...string) []ship.FieldError {
	invalid := func(detail string) []ship.FieldError {
		return []ship.FieldError{{Pointer: "/password", Code: "invalid", Detail: detail}}
	}

	length := utf8.RuneCountInString(password)
	if !utf8.ValidString(password) || length < minPassword {
		return invalid(fmt.Sprintf("must have at least %d characters: a few words are easy to remember", minPassword))
	}
	if length > maxPassword {
		return invalid(fmt.Sprintf("must have at most %d characters", maxPassword))
	}

	plain := strings.ToLower(strings.TrimSpace(password))
	for _, text := range append(known, "waybill") {
		name, _, _ := strings.Cut(strings.ToLower(text), "@")
		if len(name) > 2 && strings.Trim(strings.ReplaceAll(plain, name, ""), "0123456789!@#$%^&*.-_ ") == "" {
			return invalid("is too easy to guess: do not use your name or e-mail address")
		}
	}
	if distinctRunes(plain) < 5 || isCommon(plain) {
		return invalid("is a common password that is easy to guess")
	}
	return nil
}

// distinctRunes counts the different characters of a text.
func distinctRunes(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		seen[r] = true
	}
	return len(seen)
}

// common are the parts that the most common long passwords are made of.
var common = []string{
	"password", "passwort", "qwertyuiop", "qwerty", "qwertz", "asdfghjkl", "asdf", "zxcvbnm", "1q2w3e4r5t6y", "1qaz2wsx3edc", "1q2w3e4r", "1qaz2wsx",
	"letmein", "welcome", "iloveyou", "administrator", "admin", "changeme", "secret", "abcdefghijklmnop", "abcd", "abc", "dragon", "sunshine", "monkey", "football", "baseball", "princess", "superman", "trustno1", "shipping",
}

// isCommon reports whether the text is nothing but common parts, digits and
// punctuation.
func isCommon(text string) bool {
	for _, part := range common {
		text = strings.ReplaceAll(text, part, "")
	}
	return strings.Trim(text, "0123456789!@#$%^&*.-_ ") == ""
}
