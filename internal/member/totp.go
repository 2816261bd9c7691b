package member

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The codes of authenticators (RFC 6238): six digits that follow from a shared
// seed and the time in steps of 30 seconds. SHA-1 is what every authenticator
// supports; nothing here depends on its collisions.
const (
	totpStep   = 30 // seconds
	totpDigits = 6
	totpDrift  = 1 // steps that a clock may be off, either way
	seedSize   = 20
)

var seedText = base32.StdEncoding.WithPadding(base32.NoPadding)

func newSeed() []byte {
	seed := make([]byte, seedSize)
	rand.Read(seed) // never fails
	return seed
}

// stepAt returns the number of the step at a time.
func stepAt(at time.Time) int64 { return at.Unix() / totpStep }

// codeAt returns the code of a step (RFC 4226 with the step as its counter).
func codeAt(seed []byte, step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	mac := hmac.New(sha1.New, seed)
	mac.Write(counter[:])
	sum := mac.Sum(nil)

	offset := sum[len(sum)-1] & 0xf
	value := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, value%1_000_000)
}

// matchingStep finds the step whose code this is, near the given time. It
// compares with all of them, so that the time does not reveal which it is.
func matchingStep(seed []byte, code string, at time.Time) (step int64, ok bool) {
	current := stepAt(at)
	for candidate := current - totpDrift; candidate <= current+totpDrift; candidate++ {
		if subtle.ConstantTimeCompare([]byte(codeAt(seed, candidate)), []byte(code)) == 1 {
			step = candidate
			ok = true
		}
	}
	return step, ok
}

// otpauth returns the address that an authenticator scans.
func otpauth(issuer, email string, seed []byte) string {
	query := url.Values{
		"secret": {seedText.EncodeToString(seed)},
		"issuer": {issuer},
		"digits": {fmt.Sprint(totpDigits)},
		"period": {fmt.Sprint(totpStep)},
	}

	// A space is written as %20: a plus sign stands for one in forms alone.
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// Recovery codes: 120 random bits each, in groups that can be read aloud. With so
// many bits a plain hash is enough: nobody finds a code by trying.
const (
	recoveryCodes = 10
	recoverySize  = 15
	recoveryGroup = 4 // characters
)

var recoveryText = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newRecoveryCodes returns codes, and the hashes that are stored of them.
func newRecoveryCodes(p ship.PersonID) (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		var secret [recoverySize]byte
		rand.Read(secret[:]) // never fails
		text := recoveryText.EncodeToString(secret[:])

		var groups []string
		for group := range slices.Chunk([]byte(text), recoveryGroup) {
			groups = append(groups, string(group))
		}
		codes = append(codes, strings.Join(groups, "-"))
		hashes = append(hashes, recoveryHash(p, text))
	}
	return codes, hashes
}

// mistyped replaces the characters that are taken for others.
var mistyped = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")

// recoveryHash returns what is stored of a code, however it is typed.
func recoveryHash(p ship.PersonID, code string) []byte {
	sum := sha256.Sum256([]byte(string(p) + "\x00" + mistyped.Replace(strings.ToUpper(code))))
	return sum[:]
}
