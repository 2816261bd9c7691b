package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ccojocar/zxcvbn-go"
	"github.com/ccojocar/zxcvbn-go/frequency"
	"github.com/ccojocar/zxcvbn-go/matching"
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
	freeLists()
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
// beyond it only what a guesser tries first is refused. known are the texts that
// an attacker knows of the person: e-mail, name, and the names of accounts.
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

	words := guessableWords(known)
	for _, plain := range readings(password) {
		if isMadeOf(plain, words) {
			return invalid("is too easy to guess: do not use your name, your e-mail address or the name of the account")
		}
		if distinctRunes(plain) < 5 || !isStrong(plain, words) {
			return invalid("is too easy to guess: common words, names, dates and keyboard patterns are tried first. Use several unrelated words, or a password manager")
		}
	}
	return nil
}

// readings returns what a guesser reads in a password: the text in lower case,
// and the same with the letters that common replacements stand for.
func readings(password string) []string {
	plain := strings.ToLower(norm.NFKC.String(strings.TrimSpace(password)))
	replaced := strings.NewReplacer(
		"4", "a", "@", "a", "8", "b", "3", "e", "6", "g", "9", "g",
		"1", "i", "!", "i", "0", "o", "5", "s", "$", "s", "7", "t", "+", "t",
	).Replace(plain)
	if replaced == plain {
		return []string{plain}
	}
	return []string{plain, replaced}
}

// guessableWords returns the words of texts that are known of a person, and of
// this product, the longest first.
func guessableWords(known []string) []string {
	words := []string{"waybill", "shipping", "shipment"}
	for _, text := range known {
		text = strings.ToLower(norm.NFKC.String(text))
		pieces := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		local, _, _ := strings.Cut(text, "@")

		for _, word := range append(pieces, text, local, strings.Join(pieces, "")) {
			if utf8.RuneCountInString(word) >= 3 {
				words = append(words, word)
			}
		}
	}

	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return slices.Compact(words)
}

// isMadeOf reports whether the text has one of the words, and beside them no
// letter.
func isMadeOf(text string, words []string) bool {
	rest := text
	for _, word := range words {
		rest = strings.ReplaceAll(rest, word, "")
	}
	return rest != text && !strings.ContainsFunc(rest, unicode.IsLetter)
}

const (
	// minScore is the least score of zxcvbn, of 0 to 4: some 10^10 guesses.
	// argon2id makes each of them slow for whoever has the hashes.
	minScore = 3

	// scoredLength is how much of a password is scored, in characters. The time
	// grows with its square, and what is strong so far stays strong.
	scoredLength = 64
)

// freeLists frees two megabytes: zxcvbn's dictionaries are made of these lists
// when the program starts, and the lists are not needed any more.
var freeLists = sync.OnceFunc(func() { clear(frequency.Lists) })

// isStrong reports whether the text, in lower case, needs many guesses: zxcvbn
// knows common passwords, English words, names, dates and keyboard patterns.
func isStrong(text string, words []string) bool {
	if runes := []rune(text); len(runes) > scoredLength {
		text = string(runes[:scoredLength])
	}

	// Its own reading of replaced letters takes exponential time; readings does
	// that instead.
	strength := zxcvbn.PasswordStrength(text, words, matching.FilterL33tMatcher)
	return strength.Score >= minScore
}

// distinctRunes counts the different characters of a text.
func distinctRunes(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		seen[r] = true
	}
	return len(seen)
}

// accountNames returns the names of the accounts that a person is a member of.
func (s *Service) accountNames(ctx context.Context, person ship.PersonID) ([]string, error) {
	memberships, err := s.store.Memberships(ctx, person)
	names := make([]string, len(memberships))
	for i, membership := range memberships {
		names[i] = membership.Name
	}
	return names, err
}
