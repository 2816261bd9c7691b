package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/seal"
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

// apply checks the settings and puts them into a row.
func (s *Service) apply(row *store.Endpoint, set Settings) error {
	var invalid []ship.FieldError

	if set.URL != nil {
		address, problems := s.sender.policy.checkURL(*set.URL)
		invalid = append(invalid, problems...)

		// The values of headers are never shown. Sent to a new address, they
		// would be shown to whoever can change it.
		if address != row.URL && len(row.Headers) > 0 && set.Headers == nil {
			invalid = append(invalid, ship.FieldError{
				Pointer: "/headers",
				Code:    "required",
				Detail:  "must be given again when the URL changes, because stored values are sent to no other address; {} removes them",
			})
		}
		row.URL = address
	}

	if set.Kinds != nil {
		var problems []ship.FieldError
		row.Kinds, problems = checkKinds(set.Kinds)
		invalid = append(invalid, problems...)
	}

	if set.Description != nil {
		row.Description = strings.TrimSpace(*set.Description)
		if len([]rune(row.Description)) > maxDescription {
			invalid = append(invalid, ship.FieldError{Pointer: "/description", Code: "too_long", Detail: "must have at most 500 characters"})
		}
	}

	if set.Signature != nil {
		invalid = append(invalid, s.checkSignature(row, set)...)
		row.Signature = *set.Signature
	}
	if set.Secret != nil {
		if len(*set.Secret) > maxSecret {
			invalid = append(invalid, ship.FieldError{Pointer: "/secret", Code: "too_long", Detail: "must have at most 256 bytes"})
		}
		row.Secret = s.sealSecret(*row, []byte(*set.Secret))
	}

	if set.Headers != nil {
		problems := checkHeaders(set.Headers)
		row.Headers = nil
		if len(problems) == 0 && len(set.Headers) > 0 {
			if err := s.sealHeaders(row, set.Headers); err != nil {
				return err
			}
		}
		invalid = append(invalid, problems...)
	}

	// An endpoint that was disabled for failing keeps that reason when its
	// owner disables it again.
	if set.Enabled != nil && *set.Enabled != row.Enabled {
		row.Enabled = *set.Enabled
		row.DisabledReason = ""
		if !row.Enabled {
			row.DisabledReason = DisabledByClient
		}
	}
	return ship.InvalidFields(invalid)
}

// checkKinds returns the kinds in the order of a parcel's life; none for all.
func checkKinds(kinds []ship.EventKind) ([]ship.EventKind, []ship.FieldError) {
	if len(kinds) == 0 {
		return nil, []ship.FieldError{{Pointer: "/events", Code: "too_few", Detail: "must have at least 1 item; use * for all kinds"}}
	}

	known := make([]string, len(ship.EventKinds))
	for i, kind := range ship.EventKinds {
		known[i] = string(kind)
	}

	var invalid []ship.FieldError
	for i, kind := range kinds {
		if kind != AllKinds && !slices.Contains(ship.EventKinds, kind) {
			invalid = append(invalid, ship.FieldError{
				Pointer:    "/events/" + strconv.Itoa(i),
				Code:       "not_allowed",
				Detail:     "must be * or one of the six event kinds",
				Suggestion: ship.Nearest(string(kind), known),
			})
		}
	}

	if slices.Contains(kinds, AllKinds) {
		return nil, invalid
	}
	wanted := slices.DeleteFunc(slices.Clone(ship.EventKinds), func(kind ship.EventKind) bool {
		return !slices.Contains(kinds, kind)
	})
	return wanted, invalid
}

// reservedHeaders are those that the service or the connection sets, by prefix
// if they end in a hyphen.
var reservedHeaders = []string{
	"Host", "Content-", "Webhook-", "Proxy-", "User-Agent", "Connection", "Keep-Alive", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Accept-Encoding", "Date",
}

// checkHeaders returns what is invalid about custom headers.
func checkHeaders(headers map[string]string) []ship.FieldError {
	if len(headers) > maxHeaders {
		return []ship.FieldError{{Pointer: "/headers", Code: "too_many", Detail: "must have at most 10 headers"}}
	}

	var invalid []ship.FieldError
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add := func(code, detail string) {
			invalid = append(invalid, ship.FieldError{Pointer: ship.Pointer("headers", name), Code: code, Detail: detail})
		}

		value := headers[name]
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case len(name) == 0 || len(name) > maxHeaderName || strings.Trim(name, tokenCharacters) != "":
			add("invalid_format", "must be a valid header name of at most 64 characters")
		case seen[canonical]:
			add("repeated_parameter", "is a duplicate; header names are case-insensitive")
		case isReserved(canonical):
			add("not_allowed", "this header is set by the service")
		case value == "" || len(value) > maxHeaderValue || !isPrintable(value):
			add("invalid_format", "the value must be 1 to 1024 printable ASCII characters")
		}
		seen[canonical] = true
	}
	return invalid
}

func isReserved(canonical string) bool {
	return slices.ContainsFunc(reservedHeaders, func(reserved string) bool {
		return canonical == reserved || strings.HasSuffix(reserved, "-") && strings.HasPrefix(canonical, reserved)
	})
}

// tokenCharacters are those of a header's name. (RFC 9110 has a few more, which
// no header uses.)
const tokenCharacters = "-_.!~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// isPrintable reports whether the text is printable ASCII without spaces around
// it. A line break in a value would begin a header of its own.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(text) == text
}

func headerNames(headers map[string]string) []string { return slices.Sorted(maps.Keys(headers)) }

// sealContext binds a sealed value to its endpoint: it can be opened with the
// same context alone. The previous and the present secret share theirs, because
// a rotation moves one to the other.
func sealContext(endpoint store.Endpoint, field string) []string {
	mode := "test"
	if endpoint.Tenant.Livemode {
		mode = "live"
	}
	return []string{string(endpoint.Tenant.Account), mode, string(endpoint.ID), field}
}

func (s *Service) sealSecret(endpoint store.Endpoint, secret []byte) []byte {
	return s.box.Seal(secret, sealContext(endpoint, "secret")...)
}

func (s *Service) openSecret(endpoint store.Endpoint, sealed []byte) ([]byte, error) {
	opened, err := s.box.Open(sealed, sealContext(endpoint, "secret")...)
	if err != nil {
		return nil, fmt.Errorf("secret of %s: %w", endpoint.ID, err)
	}
	return opened, nil
}

// openKeyMaterial is openSecret for an endpoint without a Format.
func (s *Service) openKeyMaterial(endpoint store.Endpoint, sealed []byte) (keyMaterial, error) {
	opened, err := s.openSecret(endpoint, sealed)
	if err != nil {
		return keyMaterial{}, err
	}
	return parseKeyMaterial(opened)
}

func (s *Service) sealHeaders(endpoint *store.Endpoint, headers map[string]string) error {
	encoded, err := json.Marshal(headers)
	if err != nil {
		return fmt.Errorf("write headers: %w", err)
	}
	endpoint.Headers = s.box.Seal(encoded, sealContext(*endpoint, "headers")...)
	return nil
}

func (s *Service) openHeaders(endpoint store.Endpoint) (map[string]string, error) {
	if endpoint.Headers == nil {
		return nil, nil
	}

	opened, err := s.box.Open(endpoint.Headers, sealContext(endpoint, "headers")...)
	if err != nil {
		return nil, fmt.Errorf("headers of %s: %w", endpoint.ID, err)
	}
	var headers map[string]string
	err = json.Unmarshal(opened, &headers)
	return headers, err
}

// reseal seals with the present key what is sealed with an old one.
func (s *Service) reseal(endpoint *store.Endpoint) error {
	resealed, err := resealFields(s.box, *endpoint, [][]byte{endpoint.Secret, endpoint.Previous, endpoint.Headers})
	if err != nil {
		return err
	}

	endpoint.Secret = resealed[0]
	endpoint.Previous = resealed[1]
	endpoint.Headers = resealed[2]
	return nil
}

// resealFields returns the secret, the previous secret and the headers of an
// endpoint under the box's present key.
func resealFields(box *seal.Box, endpoint store.Endpoint, sealed [][]byte) ([][]byte, error) {
	fields := []string{"secret", "secret", "headers"}
	resealed, err := box.ResealEach(sealed, func(i int) []string { return sealContext(endpoint, fields[i]) })
	if err != nil {
		return nil, fmt.Errorf("secrets of %s: %w", endpoint.ID, err)
	}
	return resealed, nil
}

// ResealSecrets brings the secrets and headers of all endpoints under the box's
// present key, and calls report for each endpoint that needs it. Endpoints are
// used and changed meanwhile.
func ResealSecrets(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedEndpoints, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		endpoint := store.Endpoint{ID: ship.EndpointIDOf(row.ID), Tenant: row.Tenant}
		resealed, err := resealFields(box, endpoint, row.Secrets)
		report(err)
		return resealed
	})
}
