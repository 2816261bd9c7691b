package conformance

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// An AddressExample is an address and what the carrier finds about it.
type AddressExample struct {
	Address ship.Address // the place; the suite adds a person
	Verdict ship.AddressVerdict
	// Becomes is the place of the result; the zero value means that it stays as
	// it was given.
	Becomes    ship.Address
	Candidates int    // of an ambiguous address
	Kind       string // "home", "business", or "" if the carrier does not classify it
}

// resident returns the place with somebody who lives there, whose name, phone
// number and e-mail address nothing else contains.
func resident(place ship.Address) ship.Address {
	place.Name = "Quentin Xylander"
	place.Company = "Xylander Unlimited"
	place.Phone = "+1 999 555 0123"
	place.Email = "quentin@xylander.example"
	return place
}

// addressCases are what a carrier that checks addresses must do besides bearing
// every fault.
func (s Subject) addressCases() []testCase {
	list := []testCase{
		{name: "addresses have examples", operation: "addresses", run: Subject.testAddressExamples},
		{name: "addresses are checked without the person", operation: "addresses", run: Subject.testNobodyIsSent},
		{name: "addresses elsewhere are unsupported", operation: "addresses", run: Subject.testUncovered},
	}
	for _, example := range s.Addresses {
		name := "addresses that are " + string(example.Verdict) + ": " + example.Address.Address1
		list = append(list, testCase{name: name, operation: "addresses", run: func(s Subject, t T) error {
			return s.testVerdict(t, example)
		}})
	}
	return list
}

func (s Subject) testAddressExamples(T) error {
	for _, verdict := range []ship.AddressVerdict{ship.AddressValid, ship.AddressInvalid} {
		if !slices.ContainsFunc(s.Addresses, func(e AddressExample) bool { return e.Verdict == verdict }) {
			return fmt.Errorf("the subject needs an example of an address that is %s", verdict)
		}
	}
	if s.Addresses[0].Verdict != ship.AddressValid {
		return errors.New("the first example must be a valid address")
	}
	return nil
}

// testVerdict requires the verdict of an example, about the person who was given.
func (s Subject) testVerdict(t T, example AddressExample) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	given := resident(example.Address)
	check, err := c.CheckAddress(t.Context(), given)
	if err != nil {
		return err
	}

	want := given
	if example.Becomes != (ship.Address{}) {
		want = resident(example.Becomes)
	}
	kind := ""
	if check.Residential != nil {
		kind = map[bool]string{true: "home", false: "business"}[*check.Residential]
	}
	switch {
	case check.Verdict != example.Verdict:
		return fmt.Errorf("the verdict is %s, want %s: %+v", check.Verdict, example.Verdict, check)
	case check.Address != want:
		return fmt.Errorf("the address is %+v, want %+v", check.Address, want)
	case len(check.Candidates) != example.Candidates:
		return fmt.Errorf("there are %d candidates, want %d: %+v", len(check.Candidates), example.Candidates, check.Candidates)
	case kind != example.Kind:
		return fmt.Errorf("it is a %q, want %q", kind, example.Kind)
	case check.CheckedBy != s.Spec.Name:
		return fmt.Errorf("it was checked by %q, want %q", check.CheckedBy, s.Spec.Name)
	case check.Verdict != ship.AddressValid && check.Verdict != ship.AddressCorrected && len(check.Messages) == 0:
		return errors.New("no message says what is wrong with the address")
	}
	for _, candidate := range check.Candidates {
		if candidate.Name != given.Name || candidate == given {
			return fmt.Errorf("%+v is no candidate", candidate)
		}
	}
	return nil
}

// testNobodyIsSent requires that the carrier does not get to know who lives at
// an address that it checks.
func (s Subject) testNobodyIsSent(t T) error {
	service := s.Service(t)
	sent := ""
	c, err := s.openVia(doerFunc(func(r *http.Request) (*http.Response, error) {
		sent += r.URL.RequestURI() // the port may have the digits of the phone number
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			sent += string(body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		return service.Do(r)
	}))
	if err != nil {
		return err
	}

	given := resident(s.Addresses[0].Address)
	if _, err := c.CheckAddress(t.Context(), given); err != nil {
		return err
	}
	for _, personal := range []string{"Xylander", "xylander", "999", "Quentin"} {
		if strings.Contains(sent, personal) {
			return fmt.Errorf("the carrier was sent %q, which it does not need to check an address", personal)
		}
	}
	return nil
}

// testUncovered requires that an address in a country that the carrier does not
// cover is not sent to it.
func (s Subject) testUncovered(t T) error {
	address := s.Addresses[0].Address
	address.Country = "AQ"
	if s.Spec.AddressCoverage.DepthIn(address.Country) != carrier.NotChecked {
		return nil
	}
	c, err := s.openVia(brokenDoer{})
	if err != nil {
		return err
	}
	_, err = c.CheckAddress(t.Context(), resident(address))
	return wantKind(err, ship.Unsupported)
}

// inspectAddress requires that nothing of the address is in the text of an
// error, which is logged.
func (s Subject) inspectAddress(err error) error {
	given := resident(s.Addresses[0].Address)
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		text := strings.ToUpper(cause.Error())
		for _, part := range []string{given.Name, given.Phone, given.Email, given.Address1, given.City, given.Zip} {
			if part != "" && strings.Contains(text, strings.ToUpper(part)) {
				return fmt.Errorf("the error repeats a part of the address: %v", cause)
			}
		}
	}
	return nil
}
