package ship

import "time"

// An ApprovalID names a purchase that a person must approve.
type ApprovalID string // apr_

const approvalPrefix = "apr_"

// NewApprovalID makes the id of a new approval.
func NewApprovalID(shard Shard, at time.Time) ApprovalID {
	return ApprovalID(newText(shard, at, approvalPrefix))
}

func (id ApprovalID) Raw() RawID { return raw(string(id), approvalPrefix) }

func ApprovalIDOf(id RawID) ApprovalID { return ApprovalID(id.text(approvalPrefix)) }

// ParseApprovalID reads the id of an approval as an address carries it.
func ParseApprovalID(s string) (ApprovalID, bool) {
	id, ok := parseID(s, approvalPrefix)
	return ApprovalIDOf(id), ok
}

// An ApprovalStatus says what a person decided about a purchase.
type ApprovalStatus string

// What a person decided. Only a waiting approval changes.
const (
	ApprovalWaiting  ApprovalStatus = "waiting"
	ApprovalApproved ApprovalStatus = "approved" // the label is being bought, or was
	ApprovalDenied   ApprovalStatus = "denied"   // nothing is bought
	ApprovalExpired  ApprovalStatus = "expired"  // nobody decided in time; nothing is bought
)

// An Approval is a purchase above the amount that its API key may spend without a
// person. Nothing is bought before it is approved.
type Approval struct {
	ID        ApprovalID
	Tenant    Tenant
	Shipment  ShipmentID
	Key       KeyID // that wants to buy
	Status    ApprovalStatus
	Price     Money // the most that the label may cost
	ExpiresAt time.Time
	DecidedAt time.Time // zero while it waits
	DecidedBy PersonID  // empty if it expired
	Decider   string    // their name at the time
}

// AskedAt is when the purchase was requested.
func (a Approval) AskedAt() time.Time { return a.ID.Raw().Time() }
