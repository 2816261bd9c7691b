package ship

import "time"

// A Shipment is an order with its purchase and its parcel's present status.
type Shipment struct {
	ID       ShipmentID
	Tenant   Tenant
	Order    Order
	Purchase Purchase // zero until something is chosen
	State    State
	// Progress is as of now, or as of the event that the shipment is shown in.
	Progress    Progress
	DuplicateOf ShipmentID // an earlier shipment of the same order
	Sequence    int        // log events so far; 0 means that no client knows of it
	Version     int        // of the body that answers its creation; see AnswerVersion
	VoidedAt    time.Time  // when the carrier voided the label; zero if it did not
	IsErased    bool       // its personal data was erased, with its label
	Uploads     []string   // types of the documents that clients added

	// Metadata is that of the order as a client changed it since; nil if it did not.
	// What was said before the change does not show it.
	Metadata map[string]string

	Approval *Approval // of the purchase; nil if it needs none, or if it was not asked for
}

// AnswerVersion is the version of the body that answers a creation. Shipments
// keep theirs, so that an idempotency key repeats its answer byte for byte.
// Version 2 added the order: addresses, parcels, customs, options, ship date.
// Version 3 added whether it is a return, and of which shipment.
const AnswerVersion = 3

// CreatedAt is when the shipment was created.
func (s Shipment) CreatedAt() time.Time { return s.ID.Raw().Time() }

// CurrentMetadata is the metadata of the order, with what a client changed since.
func (s Shipment) CurrentMetadata() map[string]string {
	if s.Metadata != nil {
		return s.Metadata
	}
	return s.Order.Metadata
}

// AsCreated returns the shipment as the answer to its creation shows it, whatever
// became of it since.
func (s Shipment) AsCreated() Shipment {
	s.State = StatePurchased
	if s.Purchase.OverLimitVoid != "" {
		s.State = s.Purchase.OverLimitVoid
	}
	s.Progress = Progress{Status: Created, EstimateAt: s.Purchase.EstimateAt, EstimateSource: s.Purchase.EstimateSource}
	s.VoidedAt = time.Time{}
	s.Uploads = nil
	s.Metadata = nil
	return s
}

// A Purchase is what was, or is being, bought. It is written once when the
// purchase settles and never changes after.
type Purchase struct {
	Carrier        string       `json:"carrier,omitempty"`
	Connection     ConnectionID `json:"connection,omitempty"`
	Service        string       `json:"service,omitempty"`
	ServiceName    string       `json:"serviceName,omitempty"`
	CarrierRef     string       `json:"carrierRef,omitempty"`
	TrackingNumber string       `json:"trackingNumber,omitempty"`
	Pieces         []string     `json:"pieces,omitempty"` // tracking numbers, when there are several
	Price          Money        `json:"price,omitzero"`
	BoughtAt       time.Time    `json:"boughtAt,omitzero"`
	EstimateAt     time.Time    `json:"estimateAt,omitzero"` // as promised at the purchase
	EstimateSource string       `json:"estimateSource,omitempty"`
	Key            string       `json:"key,omitempty"`        // the client's name for the purchase, from which its references follow
	Limit          Money        `json:"limit,omitzero"`       // what the client would pay at most
	LimitShown     bool         `json:"limitShown,omitempty"` // Limit is the price that a person was shown, and no wish of the client
	OverLimitVoid  State        `json:"returned,omitempty"`   // how far the void of a label over the limit had come at the answer
	Approval       ApprovalID   `json:"approval,omitempty"`   // that it needs; empty for none
	Sheet          string       `json:"sheet,omitempty"`      // the rate sheet that set the price: what the carrier says of it does not count
	Routing        Routing      `json:"routing,omitzero"`
	Warnings       []string     `json:"warnings,omitempty"`
	Documents      []string     `json:"documents,omitempty"` // types
	Simulated      bool         `json:"simulated,omitempty"`
	Asked          Asked        `json:"asked,omitzero"` // by the client

	// Selection is that of the offer; EarlierSelections are those of attempts
	// to buy other offers before, by the number of the attempt.
	Selection         string         `json:"selection,omitempty"`
	EarlierSelections map[int]string `json:"earlierSelections,omitempty"`
}

// Asked is what the client asked for where the purchase does not show it. Purchases of older
// releases have none of it, so what is empty is not known.
type Asked struct {
	Limit             *Money `json:"limit,omitempty"` // where its key has limits: the client's own, zero for none
	AddressValidation string `json:"addressValidation,omitempty"`
	OnDuplicate       string `json:"onDuplicate,omitempty"`
}

// Progress is the mutable part of a parcel's life.
type Progress struct {
	Status         Status
	Reason         string
	Pieces         []Status // of each piece, when there are several
	EstimateAt     time.Time
	EstimateSource string // "carrier", "service", "history"
	CheckedAt      time.Time
}

// A Tracker follows a parcel that was not bought here.
type Tracker struct {
	ID             TrackerID
	Tenant         Tenant
	Carrier        string
	TrackingNumber string
	Progress       Progress
	Sequence       int
}

// CreatedAt is when the following began.
func (t Tracker) CreatedAt() time.Time { return t.ID.Raw().Time() }
