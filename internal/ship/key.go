package ship

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// The prefixes of API keys; the prefix alone decides the mode.
const (
	liveKeyPrefix = "sk_live_"
	testKeyPrefix = "sk_test_"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyBodyLen   = 35 // base62 of 12 bits of shard and 192 random bits
	keyCheckLen  = 6  // base62 of the CRC-32 of all before
	keyPrefixLen = len(liveKeyPrefix)
	keyLen       = keyPrefixLen + keyBodyLen + keyCheckLen
)

// A Key is an API key in clear. It is shown once and stored only as its Hash.
type Key string

// NewKey makes a key for an account of the shard.
func NewKey(shard Shard, livemode bool) Key {
	var body [26]byte
	body[0] = byte(shard >> 8 & 0xf)
	body[1] = byte(shard)
	rand.Read(body[2:]) // never fails

	prefix := testKeyPrefix
	if livemode {
		prefix = liveKeyPrefix
	}
	text := prefix + toBase62(new(big.Int).SetBytes(body[:]), keyBodyLen)
	return Key(text + keyChecksum(text))
}

// ParseKey reads a key as a client sends it. A mistyped key is rejected here,
// without a query to the database.
func ParseKey(s string) (Key, bool) {
	if len(s) != keyLen || s[:keyPrefixLen] != liveKeyPrefix && s[:keyPrefixLen] != testKeyPrefix {
		return "", false
	}
	body := s[:keyLen-keyCheckLen]
	if keyChecksum(body) != s[keyLen-keyCheckLen:] {
		return "", false
	}

	// 35 digits hold more than the 204 bits of shard and secret.
	n := new(big.Int)
	for _, c := range body[keyPrefixLen:] {
		digit := strings.IndexRune(base62, c)
		if digit < 0 {
			return "", false
		}
		n.Mul(n, big.NewInt(62)).Add(n, big.NewInt(int64(digit)))
	}
	return Key(s), n.BitLen() <= 204
}

// Livemode reports whether the key is for live data.
func (k Key) Livemode() bool { return strings.HasPrefix(string(k), liveKeyPrefix) }

// Hash is what is stored of a key.
func (k Key) Hash() [32]byte { return sha256.Sum256([]byte(k)) }

// Hint is the part of a key that may be shown later: prefix and last four.
func (k Key) Hint() string { return string(k[:keyPrefixLen]) + "..." + string(k[len(k)-4:]) }

// Shard is the shard of the account that the key belongs to.
func (k Key) Shard() Shard {
	n := new(big.Int)
	for _, c := range k[keyPrefixLen : keyPrefixLen+keyBodyLen] {
		n.Mul(n, big.NewInt(62)).Add(n, big.NewInt(int64(strings.IndexRune(base62, c))))
	}
	return Shard(n.Rsh(n, 192).Uint64() & 0xfff)
}

func keyChecksum(s string) string {
	return toBase62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(s)))), keyCheckLen)
}

// toBase62 writes n in exactly width digits.
func toBase62(n *big.Int, width int) string {
	n = new(big.Int).Set(n)
	b := make([]byte, width)
	var digit big.Int
	for i := range b {
		n.QuoRem(n, big.NewInt(62), &digit)
		b[width-1-i] = base62[digit.Int64()]
	}
	return string(b)
}
