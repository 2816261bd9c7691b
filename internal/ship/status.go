package ship

// A Status is one of the seven normalized statuses of a parcel.
type Status string

// The statuses, in the order of a parcel's life; an exception can come
// anywhere before delivery.
const (
	Created        Status = "created"
	LabelGenerated Status = "label_generated"
	PickedUp       Status = "picked_up"
	InTransit      Status = "in_transit"
	OutForDelivery Status = "out_for_delivery"
	Delivered      Status = "delivered"
	Exception      Status = "exception"
)

// Statuses lists all statuses in the order of a parcel's life.
var Statuses = []Status{Created, LabelGenerated, PickedUp, InTransit, OutForDelivery, Delivered, Exception}

// Rank returns how far a status is along a parcel's life. An exception ranks
// between the last step and delivery, so that it wins a tie against a scan of
// the same second and loses to a delivery.
func (s Status) Rank() int {
	switch s {
	case Created:
		return 1
	case LabelGenerated:
		return 2
	case PickedUp:
		return 3
	case InTransit:
		return 4
	case OutForDelivery:
		return 5
	case Exception:
		return 6
	case Delivered:
		return 7
	}
	return 0
}

// Valid reports whether s is one of the seven.
func (s Status) Valid() bool { return s.Rank() > 0 }

// An EventKind is one of the six kinds of log events.
type EventKind string

// The six kinds. There are no others.
const (
	ShipmentCreated        EventKind = "shipment.created"
	ShipmentLabelGenerated EventKind = "label.generated"
	ShipmentPickedUp       EventKind = "shipment.picked_up"
	ShipmentInTransit      EventKind = "shipment.in_transit"
	ShipmentDelivered      EventKind = "shipment.delivered"
	ShipmentException      EventKind = "shipment.exception"
)

// EventKinds lists the six kinds.
var EventKinds = []EventKind{ShipmentCreated, ShipmentLabelGenerated, ShipmentPickedUp, ShipmentInTransit, ShipmentDelivered, ShipmentException}

// Kind returns the kind of the log event that a tracking event of status s
// writes. A parcel out for delivery has no kind of its own and is reported as in
// transit.
func (s Status) Kind() EventKind {
	switch s {
	case Created:
		return ShipmentCreated
	case LabelGenerated:
		return ShipmentLabelGenerated
	case PickedUp:
		return ShipmentPickedUp
	case InTransit, OutForDelivery:
		return ShipmentInTransit
	case Delivered:
		return ShipmentDelivered
	case Exception:
		return ShipmentException
	}
	return ""
}

// Reasons that the service itself gives or acts on. Carriers' mappings add theirs.
const (
	ReasonReturnToSender      = "return_to_sender" // the parcel goes back, or is back
	ReasonUnmapped            = "unmapped"
	ReasonPurchaseFailed      = "purchase_failed"
	ReasonPurchaseUnconfirmed = "purchase_unconfirmed"
)
