package store

import (
	"encoding/hex"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// uuidText writes an id as Postgres shows it.
func uuidText(id ship.RawID) string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// null returns a pointer to v, or nil for the zero value, which is stored as
// NULL.
func null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// value returns what p points at, or the zero value.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// nullTime returns a pointer to t, or nil for the zero time.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// timeOrZero returns *p in UTC, or the zero time.
func timeOrZero(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}

// toStrings returns the list as the driver takes it; no values are nil.
func toStrings[T ~string](list []T) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// fromStrings is the reverse of toStrings.
func fromStrings[T ~string](list []string) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = T(v)
	}
	return out
}
