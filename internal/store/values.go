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
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// null is v, or nil for the zero value: what has no value is NULL.
func null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// value is what p points at, or the zero value.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// nullConnection is the id's row, or nil for none.
func nullConnection(id ship.ConnectionID) *[16]byte {
	if id == "" {
		return nil
	}
	raw := [16]byte(id.Raw())
	return &raw
}

// nullTime is t, or nil for no time.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// timeOf is *p in UTC, or no time.
func timeOf(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}

// nullID is id as the driver takes it, or nil for no id.
func nullID(id ship.RawID) *[16]byte {
	if id.IsZero() {
		return nil
	}
	return (*[16]byte)(&id)
}

// texts is a list of words as the driver takes it.
func texts[T ~string](list []T) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// words is the reverse of texts.
func words[T ~string](list []string) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = T(v)
	}
	return out
}
