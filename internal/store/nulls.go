package store

import (
	"net/netip"
	"time"
)

// Zero values and NULL, and lists as the driver takes them.

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

// nullAddr returns the address as the driver takes it, or nil for none. The inet
// type has no zones.
func nullAddr(a netip.Addr) *netip.Addr {
	if !a.IsValid() {
		return nil
	}
	a = a.Unmap().WithZone("")
	return &a
}
