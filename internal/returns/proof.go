package returns

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Proof is what a recipient knows about a parcel and its tracking page does not
// show. The address of the page is passed on easily, and a return label shows where
// the recipient lives.
type Proof string

// The proofs, in the order in which they are preferred. A shipment that has none of
// them cannot be returned on its page.
const (
	ProofPostalCode Proof = "postal_code" // of the delivery address
	ProofPhone      Proof = "phone"       // the last digits of the recipient's number
	ProofEmail      Proof = "email"       // of the order; the label is sent there and nowhere else
)

// phoneDigits is how many digits of a phone number are a proof.
const phoneDigits = 4

// ProofOf returns what the recipient of a shipment is asked for; empty if the order
// has nothing to ask for.
func ProofOf(shipment ship.Shipment) Proof {
	destination := shipment.Order.Destination
	switch {
	case destination.HasPostalCode():
		return ProofPostalCode
	case len(lastDigits(destination.Phone)) == phoneDigits:
		return ProofPhone
	case destination.Email != "":
		return ProofEmail
	}
	return ""
}

// lastDigits returns the last digits of a phone number. Somebody who gives the whole
// number gives its end as well.
func lastDigits(phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
	return digits[max(len(digits)-phoneDigits, 0):]
}

// proofPace is how often a proof may be wrong: five times at once and nine times in
// the first week, for each shipment and over all copies of the program.
var proofPace = store.Pace{
	Free:  4,
	Least: 6 * time.Hour,
	Most:  30 * 24 * time.Hour,
	Fade:  365 * 24 * time.Hour,
	Keep:  365 * 24 * time.Hour,
}

// Prove checks that somebody knows the proof of a shipment. It is ship.Limited after
// too many wrong ones, also for one that is right.
func (s *Service) Prove(ctx context.Context, shipment ship.Shipment, given string) error {
	proof := ProofOf(shipment)
	if proof == "" {
		return notReturnable()
	}

	// An attempt is counted before it is compared, so attempts that are made at
	// the same moment count too. Each is one transaction, in the database that
	// all copies share.
	subject := sha256.Sum256([]byte("return\x00" + string(shipment.ID)))
	_, wait, err := s.Store.TryThrottle(ctx, subject, proofPace, s.now())
	if err != nil {
		return err
	}
	if wait > 0 {
		limited := ship.Coded(ship.Limited, "too_many_attempts", "too many wrong attempts for this parcel: ask the sender for a return")
		limited.RetryAfter = wait
		return limited
	}

	if !proves(shipment, proof, given) {
		return ship.InvalidFields([]ship.FieldError{wrongProof(proof)})
	}
	return s.Store.ClearThrottle(ctx, subject)
}

// proves reports whether the text is the proof of the shipment.
func proves(shipment ship.Shipment, proof Proof, given string) bool {
	destination := shipment.Order.Destination
	switch proof {
	case ProofPostalCode:
		return destination.SamePostalCode(given)
	case ProofPhone:
		return isSame(lastDigits(given), lastDigits(destination.Phone))
	case ProofEmail:
		return isSame(strings.ToLower(strings.TrimSpace(given)), strings.ToLower(strings.TrimSpace(destination.Email)))
	}
	return false
}

func isSame(given, own string) bool {
	return own != "" && subtle.ConstantTimeCompare([]byte(given), []byte(own)) == 1
}

// wrongProof is the field that was wrong.
func wrongProof(proof Proof) ship.FieldError {
	switch proof {
	case ProofPhone:
		return ship.FieldError{
			Pointer: "/phone",
			Code:    "invalid_value",
			Detail:  "must be the last four digits of the recipient's phone number",
		}
	case ProofEmail:
		return ship.FieldError{
			Pointer: "/email",
			Code:    "invalid_value",
			Detail:  "must be the e-mail address of the order",
		}
	}
	return ship.FieldError{
		Pointer: "/postalCode",
		Code:    "invalid_value",
		Detail:  "is not the postal code that the parcel was delivered to",
	}
}
