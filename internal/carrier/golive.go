package carrier

import (
	"io/fs"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// GoLive is what a carrier's package contributes to "waybill connection
// certify": what its test environment cannot show, and the documents that its
// review before production asks for. The zero value contributes nothing.
type GoLive struct {
	// Domestic and International are the services that are bought where the
	// test environment quotes none, or the carrier never does.
	Domestic, International string

	// DomesticOptional is set for a carrier that has no service within many
	// countries: a refusal there is not a failure.
	DomesticOptional bool

	// NoMultiPiece says why an order of several parcels cannot be bought; empty
	// if it can.
	NoMultiPiece string

	// NotTestable explains, in a sentence, an answer that the carrier's test
	// environment is known to give and that proves nothing; empty for any other
	// answer. Nil if the test environment has no such answers.
	NotTestable func(TestAnswer) string

	// Papers are Markdown files in the syntax of text/template, executed with a
	// CertifiedConnection.
	Documents fs.FS
}

// A TestAnswer is how a carrier's test environment answered.
type TestAnswer struct {
	Operation Operation
	Sale      ship.Sale // that was made, or that the operation is about; zero if it is about none
	Err       error
}

// A CertifiedConnection is what the documents of a go-live review are filled in
// with. It holds no secret.
type CertifiedConnection struct {
	At          time.Time
	Carrier     string // its title
	Environment string // "test" or "production"
	Company     string
	Origin      ship.Address
	Fields      map[string]string // credentials that are not secret, by name
	Services    []CertifiedService
	Labels      []CertifiedLabel
	Checks      []CertifiedCheck
}

// A CertifiedService is a service of the carrier, and whether it was quoted.
type CertifiedService struct {
	Code, Name string
	Quoted     bool
}

// A CertifiedLabel is a label that was bought.
type CertifiedLabel struct {
	Purchase    string // "domestic", "multi-piece", "international"
	ServiceName string
	Numbers     []string // tracking numbers
	Files       []string // relative to the report
}

// A CertifiedCheck is one line of the report.
type CertifiedCheck struct {
	Name, Result, Code, Detail string
}

// Check returns the result of the check with the name; empty if there was none.
func (c CertifiedConnection) Check(name string) CertifiedCheck {
	for _, check := range c.Checks {
		if check.Name == name {
			return check
		}
	}
	return CertifiedCheck{}
}
