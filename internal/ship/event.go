package ship

import "time"

// An Event is one row of the log: a change that clients are notified of. It is
// thin: what cannot change later is read from the shipment when it is shown.
type Event struct {
	ID       EventID
	Tenant   Tenant
	Kind     EventKind
	Shipment ShipmentID // or
	Tracker  TrackerID
	Sequence int
	Late     bool
	Version  int  // of the body
	Test     bool // made up to try an endpoint; in no log
	Snapshot Snapshot
}

// At is when the event was recorded.
func (e Event) At() time.Time { return e.ID.Raw().Time() }

// A Snapshot is every value of an event's body that can change after the
// event.
type Snapshot struct {
	Status         Status    `json:"s"`
	PreviousStatus Status    `json:"p,omitempty"`
	State          State     `json:"l,omitempty"`
	Reason         string    `json:"r,omitempty"`
	Pieces         []Status  `json:"ps,omitempty"`
	EstimateAt     time.Time `json:"e,omitzero"`
	EstimateSource string    `json:"es,omitempty"`
	BaseURL        string    `json:"u"`
	Purchase       *Purchase `json:"d,omitempty"` // while the purchase is not final; else the shipment's own
	Scan           *ScanNote `json:"x,omitempty"` // nil for what the service itself made; then Status tells
}

// A ScanNote is the tracking event of a log event, as it was first reported.
type ScanNote struct {
	Piece       int       `json:"n,omitempty"`
	Code        string    `json:"c"`
	At          time.Time `json:"t"`
	Status      Status    `json:"s"`
	Reason      string    `json:"r,omitempty"`
	Description string    `json:"d"`
	Location    string    `json:"p,omitempty"`
	ZoneUnknown bool      `json:"z,omitempty"`
}

// Note returns the scan as a log event keeps it.
func (s Scan) Note() *ScanNote {
	return &ScanNote{
		Piece:       s.Piece,
		Code:        s.Code,
		At:          s.At,
		Status:      s.Status,
		Reason:      s.Reason,
		Description: s.Description,
		Location:    s.Location,
		ZoneUnknown: s.ZoneUnknown,
	}
}
