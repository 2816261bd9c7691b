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
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The codes of authenticators (RFC 6238): six digits that follow from a shared
// seed and the time in steps of 30 seconds. SHA-1 is what every authenticator
// speaks; nothing here hangs on its collisions.
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

// stepAt is the number of the step at a time.
func stepAt(at time.Time) int64 { return at.Unix() / totpStep }

// codeAt is the code of a step (RFC 4226 with the step as its counter).
func codeAt(seed []byte, step int64) string {
	mac := hmac.New(sha1.New, seed)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(step))
	mac.Write(b[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// stepOf finds the step whose code this is, near the given time. It looks at
// all of them, whichever it is.
func stepOf(seed []byte, code string, at time.Time) (step int64, ok bool) {
	now := stepAt(at)
	for n := now - totpDrift; n <= now+totpDrift; n++ {
		if subtle.ConstantTimeCompare([]byte(codeAt(seed, n)), []byte(code)) == 1 {
			step, ok = n, true
		}
	}
	return step, ok
}

// otpauth is the address that an authenticator scans.
func otpauth(issuer, email string, seed []byte) string {
	q := url.Values{"secret": {seedText.EncodeToString(seed)}, "issuer": {issuer}, "digits": {fmt.Sprint(totpDigits)}, "period": {fmt.Sprint(totpStep)}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}

// Recovery codes: 80 random bits each, in groups that can be read aloud.
const (
	recoveryCodes = 10
	recoverySize  = 10
)

var recoveryText = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newRecoveryCodes makes codes and what is stored of them.
func newRecoveryCodes(p ship.PersonID) (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		var b [recoverySize]byte
		rand.Read(b[:]) // never fails
		t := recoveryText.EncodeToString(b[:])
		codes = append(codes, t[:4]+"-"+t[4:8]+"-"+t[8:12]+"-"+t[12:])
		hashes = append(hashes, recoveryHash(p, t))
	}
	return codes, hashes
}

// mistyped are the characters that are taken for others.
var mistyped = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")

// recoveryHash is what is stored of a code, however it is typed.
func recoveryHash(p ship.PersonID, code string) []byte {
	sum := sha256.Sum256([]byte(string(p) + "\x00" + mistyped.Replace(strings.ToUpper(code))))
	return sum[:]
}
