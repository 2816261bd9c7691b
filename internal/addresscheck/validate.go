package addresscheck

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// placeholder is the name of an address that was given without one.
const placeholder = "-"

// Validate checks an address as a client wrote it. A field that may not be stored,
// or is missing, is an error; a postal code or state that cannot be right is a
// verdict. A carrier that cannot be reached is neither: the rules answer, and a
// message says so.
func (s *Service) Validate(ctx context.Context, r Request) (ship.AddressCheck, error) {
	given := r.Address
	if strings.TrimSpace(r.Address.Name) == "" {
		r.Address.Name = placeholder
	}

	address, invalid := r.Address.Normalize("/address")
	if wrong := otherThanPlace(invalid); len(wrong) > 0 {
		return ship.AddressCheck{}, ship.InvalidFields(wrong)
	}
	if len(invalid) > 0 {
		return invalidPlace(given, r.Address, invalid), nil
	}

	r.Address = address
	checkers, err := s.checkers(ctx, r)
	if err != nil {
		return ship.AddressCheck{}, err
	}
	check, reasons, err := s.askEach(ctx, checkers, r)
	check.Messages = append(check.Messages, reasons...)
	if err != nil {
		check.Messages = append(check.Messages, sentence(err))
	}
	return withName(check, given.Name), nil
}

// placeCodes are the codes of fields that make an address one that does not exist.
var placeCodes = []string{"invalid_zip", "unknown_state", "state_mismatch"}

func otherThanPlace(invalid []ship.FieldError) []ship.FieldError {
	return slices.DeleteFunc(slices.Clone(invalid), func(f ship.FieldError) bool {
		return slices.Contains(placeCodes, f.Code)
	})
}

// invalidPlace is the check of an address whose postal code or state cannot be right.
// If a correction is likely, the address that it makes is a candidate.
func invalidPlace(given, address ship.Address, invalid []ship.FieldError) ship.AddressCheck {
	check := ship.AddressCheck{
		Verdict:   ship.AddressInvalid,
		Address:   given,
		CheckedBy: ship.CheckedByRules,
	}

	for _, field := range invalid {
		name := strings.TrimPrefix(field.Pointer, "/address/")
		check.Messages = append(check.Messages, "The "+name+" "+field.Detail+".")
		if field.Pointer == "/address/state" && field.Suggestion != "" {
			address.State = field.Suggestion
		}
	}
	if corrected, left := address.Normalize(""); len(left) == 0 {
		check.Candidates = []ship.Address{corrected}
	}
	return withName(check, given.Name)
}

// withName puts the name back as it was given, which may be none.
func withName(check ship.AddressCheck, name string) ship.AddressCheck {
	check.Address.Name = name
	for i := range check.Candidates {
		check.Candidates[i].Name = name
	}
	return check
}

// sentence writes an error as a sentence for a client.
func sentence(err error) string {
	text := ship.ErrorOf(err).Message
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}
