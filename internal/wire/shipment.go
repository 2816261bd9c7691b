package wire

import (
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// Shipment is a shipment as the API and the events show it: the five fields
// of the specification, then what the service adds.
type Shipment struct {
	ID             string `json:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment, prefix shp_."`
	Status         string `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status of the parcel; created on creation."`
	Carrier        string `json:"carrier" example:"ups" doc:"Identifier of the carrier assigned to the shipment."`
	TrackingNumber string `json:"trackingNumber,omitempty" example:"1Z999AA10123456784" doc:"The carrier's tracking number (AWB). Left out only while the purchase is pending, in review or failed."`
	LabelURL       string `json:"labelUrl" format:"uri" doc:"Address of the label as PDF. Fetch it with the same API key."`

	Labels                Labels            `json:"labels" doc:"Addresses of the label in each format."`
	OrderID               string            `json:"orderId" example:"ORD-1001" doc:"The client's order reference."`
	Service               string            `json:"service,omitempty" example:"ground" doc:"The carrier's service."`
	ConnectionID          string            `json:"connectionId,omitempty" doc:"The carrier account that was used, prefix con_."`
	Rate                  *Money            `json:"rate,omitempty" doc:"What was charged."`
	EstimatedDeliveryDate string            `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected."`
	Routing               *Routing          `json:"routing,omitempty" doc:"Why this carrier and service."`
	LabelStatus           string            `json:"labelStatus" enum:"pending,ready,failed,needs_review,voiding,refund_pending,voided" doc:"Where the purchase of the label stands."`
	Pieces                []Piece           `json:"pieces" doc:"The parcels of the shipment."`
	Documents             []Document        `json:"documents" doc:"Further papers, such as customs forms."`
	Warnings              []string          `json:"warnings" doc:"What the client should know, in plain words."`
	PossibleDuplicateOf   string            `json:"possibleDuplicateOf,omitempty" doc:"An earlier shipment of the same orderId."`
	Reason                string            `json:"reason,omitempty" example:"address_not_found" doc:"Why the status is exception."`
	Reference             string            `json:"reference,omitempty" doc:"The client's own reference."`
	Metadata              map[string]string `json:"metadata,omitempty" doc:"The client's own notes."`
	Simulated             bool              `json:"simulated" doc:"Whether a simulated carrier made the label."`
	Livemode              bool              `json:"livemode" doc:"Whether the shipment was bought with a live key."`
	CreatedAt             string            `json:"createdAt" format:"date-time" doc:"When the shipment was created."`

	Origin          *Address `json:"origin,omitempty" doc:"Where the parcel comes from. Not in lists and events."`
	Destination     *Address `json:"destination,omitempty" doc:"Where the parcel goes. Not in lists and events."`
	Parcels         []Parcel `json:"parcels,omitempty" doc:"The parcels as requested. Not in lists and events."`
	Customs         *Customs `json:"customs,omitempty" doc:"The declaration. Not in lists and events."`
	Options         *Options `json:"options,omitempty" doc:"Extra services. Not in lists and events."`
	ShipDate        string   `json:"shipDate,omitempty" format:"date" doc:"Day on which the carrier gets the parcel. Not in lists and events."`
	TrackingPageURL string   `json:"trackingPageUrl,omitempty" format:"uri" doc:"Public page for the recipient. Not in lists and events."`
	VoidedAt        string   `json:"voidedAt,omitempty" format:"date-time" doc:"When the carrier took the label back. Not in lists and events."`
}

// Labels are the addresses of a label, one a format.
type Labels struct {
	PDF string `json:"pdf" format:"uri" doc:"PDF, for office printers."`
	ZPL string `json:"zpl" format:"uri" doc:"ZPL, for label printers."`
	PNG string `json:"png" format:"uri" doc:"PNG image."`
}

// Money is an exact amount of a currency.
type Money struct {
	Amount   string `json:"amount" example:"12.34" doc:"Decimal amount."`
	Currency string `json:"currency" example:"USD" doc:"ISO 4217 code."`
}

// Piece is one parcel of a shipment.
type Piece struct {
	TrackingNumber string `json:"trackingNumber,omitempty" doc:"The piece's own tracking number."`
	Parcel         Parcel `json:"parcel" doc:"Weight and size, in the units of the request."`
	Status         string `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status of the piece."`
}

// Parcel is a parcel with its units.
type Parcel struct {
	Weight     float64     `json:"weight" example:"4.2" doc:"Weight in weightUnit."`
	WeightUnit string      `json:"weightUnit" enum:"lb,oz,kg,g" doc:"Unit of the weight."`
	Dimensions *Dimensions `json:"dimensions,omitempty" doc:"Sides of the parcel."`
	Packaging  string      `json:"packaging" example:"custom" doc:"custom, or a carrier's own packaging."`
}

// Dimensions are the sides of a parcel with their unit.
type Dimensions struct {
	Length float64 `json:"length" example:"12" doc:"Longest side."`
	Width  float64 `json:"width" example:"9" doc:"Second side."`
	Height float64 `json:"height" example:"4" doc:"Third side."`
	Unit   string  `json:"unit" enum:"in,cm,mm" doc:"Unit of the sides."`
}

// Document is a further paper of a shipment.
type Document struct {
	Type string `json:"type" example:"commercial_invoice" doc:"What the paper is."`
	URL  string `json:"url,omitempty" format:"uri" doc:"Where it can be fetched."`
}

// ShipmentOf is s as clients see it; base is the address of the service.
func ShipmentOf(s ship.Shipment, base string) Shipment {
	d := &s.Deal
	id := string(s.ID)
	label := base + "/v1/labels/" + id
	out := Shipment{
		ID:                    id,
		Status:                string(s.Progress.Status),
		Carrier:               d.Carrier,
		TrackingNumber:        d.TrackingNumber,
		LabelURL:              label + ".pdf",
		OrderID:               s.Order.OrderID,
		Service:               d.Service,
		ConnectionID:          string(d.Connection),
		Rate:                  moneyOf(d.Price),
		EstimatedDeliveryDate: Time(s.Progress.EstimateAt),
		Routing:               RoutingOf(d.Routing),
		LabelStatus:           s.State.LabelStatus(),
		Pieces:                piecesOf(s),
		Documents:             make([]Document, len(d.Documents)),
		Warnings:              d.Warnings,
		PossibleDuplicateOf:   string(s.DuplicateOf),
		Reason:                s.Progress.Reason,
		Reference:             s.Order.Reference,
		Metadata:              s.Order.Metadata,
		Simulated:             d.Simulated,
		Livemode:              s.Tenant.Livemode,
		CreatedAt:             Time(s.CreatedAt()),
	}
	out.Labels = Labels{PDF: out.LabelURL, ZPL: label + ".zpl", PNG: label + ".png"}
	for i, kind := range d.Documents {
		out.Documents[i] = Document{Type: kind, URL: base + "/v1/shipments/" + id + "/documents/" + strconv.Itoa(i+1)}
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	return out
}

// MoneyOf is m as clients see it.
func MoneyOf(m ship.Money) Money { return Money{Amount: m.Amount(), Currency: m.Currency} }

func moneyOf(m ship.Money) *Money {
	if m.IsZero() {
		return nil
	}
	w := MoneyOf(m)
	return &w
}

// piecesOf lists the parcels with what is known of each. The shipment's own
// number and status stand for those of a single parcel.
func piecesOf(s ship.Shipment) []Piece {
	out := make([]Piece, len(s.Order.Parcels))
	for i, p := range s.Order.Parcels {
		out[i] = Piece{Parcel: ParcelOf(p), Status: string(s.Progress.Status)}
		if len(s.Order.Parcels) == 1 {
			out[i].TrackingNumber = s.Deal.TrackingNumber
		}
		if i < len(s.Deal.Pieces) {
			out[i].TrackingNumber = s.Deal.Pieces[i]
		}
		if i < len(s.Progress.Pieces) {
			out[i].Status = string(s.Progress.Pieces[i])
		}
	}
	return out
}

// ParcelOf is p as clients see it: in the units they used.
func ParcelOf(p ship.Parcel) Parcel {
	out := Parcel{Weight: p.Weight, WeightUnit: string(p.WeightUnit), Packaging: p.Packaging}
	if out.Packaging == "" {
		out.Packaging = "custom"
	}
	if d := p.Dimensions; d != nil {
		out.Dimensions = &Dimensions{Length: d.Length, Width: d.Width, Height: d.Height, Unit: string(d.Unit)}
	}
	return out
}
