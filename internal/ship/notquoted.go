package ship

import "time"

// A NotQuoted is a carrier of the account that gave no rate for an order. It has
// no text of the carrier, which may quote an address.
type NotQuoted struct {
	Carrier    string          `json:"carrier"`
	Connection ConnectionID    `json:"connection,omitempty"`
	Reason     NotQuotedReason `json:"reason"`
	RetryAt    time.Time       `json:"retryAt,omitzero"` // when the carrier can be asked again, if that is known
	Fields     []string        `json:"fields,omitempty"` // pointers to what is missing
}

// A NotQuotedReason says why a carrier gave no rate.
type NotQuotedReason string

// The reasons.
const (
	NotQuotedLimited     NotQuotedReason = "rate_limited"  // its quota is used up, or it asked for a pause
	NotQuotedTimeout     NotQuotedReason = "timeout"       // it did not answer in time
	NotQuotedUnavailable NotQuotedReason = "unavailable"   // it could not be reached, or failed
	NotQuotedPaused      NotQuotedReason = "circuit_open"  // it was not asked, because it did not answer before
	NotQuotedCredentials NotQuotedReason = "credentials"   // it refused the account or its credentials
	NotQuotedIncomplete  NotQuotedReason = "missing_field" // it needs something that the order does not say
	NotQuotedRefused     NotQuotedReason = "refused"       // it does not take the order
)

// IsTemporary reports whether the carrier may quote the same order later.
func (r NotQuotedReason) IsTemporary() bool {
	switch r {
	case NotQuotedLimited, NotQuotedTimeout, NotQuotedUnavailable, NotQuotedPaused:
		return true
	}
	return false
}

// CanChange reports whether waiting, or somebody who fixes the order or the
// account, can make the carrier quote. Otherwise it does not offer what is asked.
func (r NotQuotedReason) CanChange() bool { return r != NotQuotedRefused }
