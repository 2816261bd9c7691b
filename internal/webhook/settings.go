package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	maxHeaders     = 10
	maxHeaderName  = 64
	maxHeaderValue = 1024
	maxDescription = 500
)

// AllKinds stands for every kind of event.
const AllKinds ship.EventKind = "*"

// apply checks the settings and puts them into e.
func (s *Service) apply(e *store.Endpoint, set Settings) error {
	var wrong []ship.FieldError
	if set.URL != nil {
		var bad []ship.FieldError
		e.URL, bad = s.sender.policy.checkURL(*set.URL)
		wrong = append(wrong, bad...)
	}
	if set.Kinds != nil {
		var bad []ship.FieldError
		e.Kinds, bad = checkKinds(set.Kinds)
		wrong = append(wrong, bad...)
	}
	if set.Description != nil {
		e.Description = strings.TrimSpace(*set.Description)
		if len([]rune(e.Description)) > maxDescription {
			wrong = append(wrong, ship.FieldError{Pointer: "/description", Code: "too_long", Detail: "has more than 500 characters"})
		}
	}
	if set.Signature != nil {
		if e.Signature = *set.Signature; e.Signature != SignV1 && e.Signature != SignV1a && e.Signature != SignBoth {
			wrong = append(wrong, ship.FieldError{Pointer: "/signature", Code: "not_allowed", Detail: "must be one of v1, v1a, both"})
		}
	}
	if set.Headers != nil {
		bad := checkHeaders(set.Headers)
		if e.Headers = nil; len(bad) == 0 && len(set.Headers) > 0 {
			if err := s.sealHeaders(e, set.Headers); err != nil {
				return err
			}
		}
		wrong = append(wrong, bad...)
	}
	if set.Enabled != nil && *set.Enabled != e.Enabled {
		if e.Enabled, e.DisabledReason = *set.Enabled, ""; !e.Enabled {
			e.DisabledReason = DisabledByClient
		}
	}
	return ship.InvalidFields(wrong)
}

// checkKinds returns the kinds in the order of a parcel's life; none for all.
func checkKinds(kinds []ship.EventKind) ([]ship.EventKind, []ship.FieldError) {
	var wrong []ship.FieldError
	if len(kinds) == 0 {
		return nil, []ship.FieldError{{Pointer: "/events", Code: "too_few", Detail: "needs at least 1 item; * means all kinds"}}
	}
	known := make([]string, len(ship.EventKinds))
	for i, k := range ship.EventKinds {
		known[i] = string(k)
	}
	for i, k := range kinds {
		if k != AllKinds && !slices.Contains(ship.EventKinds, k) {
			wrong = append(wrong, ship.FieldError{
				Pointer: "/events/" + strconv.Itoa(i), Code: "not_allowed", Detail: "must be * or one of the six kinds", Suggestion: ship.Nearest(string(k), known),
			})
		}
	}
	if slices.Contains(kinds, AllKinds) {
		return nil, wrong
	}
	return slices.DeleteFunc(slices.Clone(ship.EventKinds), func(k ship.EventKind) bool { return !slices.Contains(kinds, k) }), wrong
}

// ownHeaders are those that the service or the connection needs for itself, by
// prefix if they end in a hyphen.
var ownHeaders = []string{
	"Host", "Content-", "Webhook-", "Proxy-", "User-Agent", "Connection", "Keep-Alive", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Accept-Encoding", "Date",
}

// checkHeaders says what is wrong with custom headers.
func checkHeaders(headers map[string]string) []ship.FieldError {
	if len(headers) > maxHeaders {
		return []ship.FieldError{{Pointer: "/headers", Code: "too_many", Detail: "has more than 10 members"}}
	}
	var wrong []ship.FieldError
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add := func(code, detail string) {
			wrong = append(wrong, ship.FieldError{Pointer: "/headers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), Code: code, Detail: detail})
		}
		value, canonical := headers[name], http.CanonicalHeaderKey(name)
		switch {
		case len(name) == 0 || len(name) > maxHeaderName || strings.Trim(name, tokenCharacters) != "":
			add("invalid_format", "is not a header's name of at most 64 characters")
		case seen[canonical]:
			add("repeated_parameter", "may be given once; case does not tell names apart")
		case slices.ContainsFunc(ownHeaders, func(own string) bool {
			return canonical == own || strings.HasSuffix(own, "-") && strings.HasPrefix(canonical, own)
		}):
			add("not_allowed", "this header is set by the service")
		case value == "" || len(value) > maxHeaderValue || !printable(value):
			add("invalid_format", "a value has 1 to 1024 printable ASCII characters")
		}
		seen[canonical] = true
	}
	return wrong
}

// tokenCharacters are those of a header's name. (RFC 9110 has a few more, which
// no header uses.)
const tokenCharacters = "-_.!~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

func headerNames(headers map[string]string) []string { return slices.Sorted(maps.Keys(headers)) }

// place is where a secret of the endpoint may be opened. The old and the
// present secret share theirs: a rotation moves one to the other.
func place(e store.Endpoint, field string) []string {
	mode := "test"
	if e.Tenant.Livemode {
		mode = "live"
	}
	return []string{string(e.Tenant.Account), mode, string(e.ID), field}
}

func (s *Service) sealSecret(e store.Endpoint, k keyMaterial) []byte {
	return s.box.Seal(k[:], place(e, "secret")...)
}

func (s *Service) openSecret(e store.Endpoint, sealed []byte) (keyMaterial, error) {
	b, err := s.box.Open(sealed, place(e, "secret")...)
	if err != nil {
		return keyMaterial{}, fmt.Errorf("secret of %s: %w", e.ID, err)
	}
	return parseKeyMaterial(b)
}

func (s *Service) sealHeaders(e *store.Endpoint, headers map[string]string) error {
	b, err := json.Marshal(headers)
	if err != nil {
		return fmt.Errorf("write headers: %w", err)
	}
	e.Headers = s.box.Seal(b, place(*e, "headers")...)
	return nil
}

func (s *Service) openHeaders(e store.Endpoint) (map[string]string, error) {
	if e.Headers == nil {
		return nil, nil
	}
	b, err := s.box.Open(e.Headers, place(e, "headers")...)
	if err != nil {
		return nil, fmt.Errorf("headers of %s: %w", e.ID, err)
	}
	var headers map[string]string
	err = json.Unmarshal(b, &headers)
	return headers, err
}

// sealAgain brings what is sealed under an old key under the present one.
func (s *Service) sealAgain(e *store.Endpoint) error {
	for _, f := range []struct {
		sealed *[]byte
		field  string
	}{{&e.Secret, "secret"}, {&e.Previous, "secret"}, {&e.Headers, "headers"}} {
		if *f.sealed == nil || !s.box.Old(*f.sealed) {
			continue
		}
		b, err := s.box.Open(*f.sealed, place(*e, f.field)...)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", f.field, e.ID, err)
		}
		*f.sealed = s.box.Seal(b, place(*e, f.field)...)
	}
	return nil
}
