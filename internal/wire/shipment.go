package wire

import "github.com/waybillhq/waybill/internal/ship"

// Shipment is a shipment as the API and the events show it: the five fields
// of the specification, then what the service adds.
type Shipment struct {
	ID             string `json:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment, prefix shp_."`
	Status         string `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status of the parcel; created when the shipment is created."`
	Carrier        string `json:"carrier" example:"ups" doc:"Identifier of the carrier assigned to the shipment."`
	TrackingNumber string `json:"trackingNumber,omitempty" example:"1Z999AA10123456784" doc:"The carrier's tracking number (AWB). Omitted only while the purchase is pending, in review or failed."`
	LabelURL       string `json:"labelUrl" format:"uri" doc:"URL of the label as PDF. Fetch it with the same API key."`

	Labels                Labels            `json:"labels" doc:"URLs of the label in each format."`
	OrderID               string            `json:"orderId" example:"ORD-1001" doc:"The client's order reference."`
	Service               string            `json:"service,omitempty" example:"ground" doc:"The carrier's service."`
	ConnectionID          string            `json:"connectionId,omitempty" doc:"The carrier account that was used, prefix con_."`
	Rate                  *Money            `json:"rate,omitempty" doc:"Price charged for the label."`
	EstimatedDeliveryDate string            `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected to arrive."`
	Routing               *Routing          `json:"routing,omitempty" doc:"Why this carrier and service were chosen."`
	LabelStatus           string            `json:"labelStatus" enum:"pending,ready,failed,needs_review,voiding,refund_pending,voided" doc:"State of the label purchase."`
	Pieces                []Piece           `json:"pieces" doc:"The parcels of the shipment."`
	Documents             []Document        `json:"documents" doc:"Additional documents, such as customs forms."`
	Warnings              []string          `json:"warnings" doc:"Warnings for the client, as text."`
	PossibleDuplicateOf   string            `json:"possibleDuplicateOf,omitempty" doc:"An earlier shipment with the same orderId."`
	Reason                string            `json:"reason,omitempty" example:"address_not_found" doc:"Why the status is exception."`
	Reference             string            `json:"reference,omitempty" doc:"The client's own reference."`
	Metadata              map[string]string `json:"metadata,omitempty" doc:"Custom key-value pairs of the client."`
	Simulated             bool              `json:"simulated" doc:"Whether the label is from a simulated carrier."`
	Livemode              bool              `json:"livemode" doc:"Whether the shipment was bought with a live key."`
	CreatedAt             string            `json:"createdAt" format:"date-time" doc:"When the shipment was created."`

	Origin          *Address  `json:"origin,omitempty" doc:"Where the parcel comes from. Not in lists and events."`
	LocationID      string    `json:"locationId,omitempty" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The location that the parcel comes from; origin is a copy of its address at that moment. Not in lists and events."`
	Destination     *Address  `json:"destination,omitempty" doc:"Where the parcel goes. Not in lists and events."`
	Parcels         []Parcel  `json:"parcels,omitempty" doc:"The parcels as requested. Not in lists and events."`
	Customs         *Customs  `json:"customs,omitempty" doc:"The customs declaration. Not in lists and events."`
	Options         *Options  `json:"options,omitempty" doc:"Extra services. Not in lists and events."`
	IsReturn        bool      `json:"isReturn,omitempty" doc:"Whether the parcel is a return. Not in lists and events."`
	ReturnOf        string    `json:"returnOf,omitempty" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The shipment that the parcel is a return of. Not in lists and events."`
	ShipDate        string    `json:"shipDate,omitempty" format:"date" doc:"Date on which the parcel is handed to the carrier. Not in lists and events."`
	TrackingPageURL string    `json:"trackingPageUrl,omitempty" format:"uri" doc:"Public tracking page for the recipient. The link ends 90 days after the delivery unless the operator has set another time; reading the shipment again then returns a new one. Not in lists and events."`
	Approval        *Approval `json:"approval,omitempty" doc:"The approval that the purchase needs, because it costs more than its key may spend without a person. Not in lists and events."`

	VoidedAt string `json:"voidedAt,omitempty" format:"date-time" doc:"When the carrier voided the label. Not in lists and events."`
}

// Approval is what a person decided about a purchase.
type Approval struct {
	ID     string `json:"id" example:"apr_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the approval, prefix apr_."`
	Status string `json:"status" enum:"waiting,approved,denied,expired" doc:"waiting until a person decides in the dashboard; nothing is bought before. approved: the label is being bought, or was. denied or expired: nothing is bought, and labelStatus becomes failed."`
}

// Labels are the addresses of a label, one for each format.
type Labels struct {
	PDF string `json:"pdf" format:"uri" doc:"URL of the PDF, for office printers."`
	ZPL string `json:"zpl" format:"uri" doc:"URL of the ZPL, for label printers."`
	PNG string `json:"png" format:"uri" doc:"URL of the PNG image."`
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
	Dimensions *Dimensions `json:"dimensions,omitempty" doc:"Dimensions of the parcel."`
	Packaging  string      `json:"packaging" example:"custom" doc:"custom, or a carrier's own packaging."`
}

// Dimensions are the sides of a parcel with their unit.
type Dimensions struct {
	Length float64 `json:"length" example:"12" doc:"Longest side."`
	Width  float64 `json:"width" example:"9" doc:"Second-longest side."`
	Height float64 `json:"height" example:"4" doc:"Shortest side."`
	Unit   string  `json:"unit" enum:"in,cm,mm" doc:"Unit of the sides."`
}

// Document is a further paper of a shipment.
type Document struct {
	Type string `json:"type" example:"commercial_invoice" doc:"Type of the document."`
	URL  string `json:"url,omitempty" format:"uri" doc:"URL of the document."`

	Uploaded bool `json:"uploaded,omitempty" doc:"True if the document was uploaded with POST /v1/shipments/{id}/documents."`

	Submission *DocumentSubmission `json:"submission,omitempty" doc:"How far an uploaded document is on its way to the carrier. Left out if it is only kept, because the carrier does not take such documents for this shipment."`
}

// DocumentSubmission is how far an uploaded document is on its way to the carrier.
type DocumentSubmission struct {
	Status     string `json:"status" enum:"pending,received,failed,needs_review" doc:"received once the carrier has confirmed it; pending until then; failed if the carrier does not have it; needs_review if the answer was lost and the carrier cannot be asked: ask it before you upload the document again."`
	DocumentID string `json:"documentId,omitempty" example:"090493e181586308" doc:"The carrier's number of the document, if it gives one."`
	Message    string `json:"message,omitempty" doc:"Why it failed or needs review."`
}

// ShipmentOf is a shipment as clients see it; base is the address of the
// service.
func ShipmentOf(shipment ship.Shipment, base string) Shipment {
	purchase := &shipment.Purchase
	id := string(shipment.ID)
	label := base + "/v1/labels/" + id

	shown := Shipment{
		ID:                    id,
		Status:                string(shipment.Progress.Status),
		Carrier:               purchase.Carrier,
		TrackingNumber:        purchase.TrackingNumber,
		LabelURL:              label + ".pdf",
		OrderID:               shipment.Order.OrderID,
		Service:               purchase.Service,
		ConnectionID:          string(purchase.Connection),
		Rate:                  moneyOf(purchase.Price),
		EstimatedDeliveryDate: Time(shipment.Progress.EstimateAt),
		Routing:               RoutingOf(purchase.Routing),
		LabelStatus:           shipment.State.LabelStatus(),
		Pieces:                piecesOf(shipment),
		Documents:             make([]Document, len(purchase.Documents)),
		Warnings:              purchase.Warnings,
		PossibleDuplicateOf:   string(shipment.DuplicateOf),
		Reason:                shipment.Progress.Reason,
		Reference:             shipment.Order.Reference,
		Metadata:              shipment.CurrentMetadata(),
		Simulated:             purchase.Simulated,
		Livemode:              shipment.Tenant.Livemode,
		CreatedAt:             Time(shipment.CreatedAt()),
	}
	shown.Labels = Labels{PDF: shown.LabelURL, ZPL: label + ".zpl", PNG: label + ".png"}

	for i, kind := range purchase.Documents {
		shown.Documents[i] = DocumentOf(shipment.ID, kind, i+1, base)
	}
	if shown.Warnings == nil {
		shown.Warnings = []string{} // a list in JSON, never null
	}
	return shown
}

// MoneyOf is an amount as clients see it.
func MoneyOf(money ship.Money) Money {
	return Money{Amount: money.Amount(), Currency: money.Currency}
}

// moneyOf is MoneyOf for a field that is left out without an amount.
func moneyOf(money ship.Money) *Money {
	if money.IsZero() {
		return nil
	}
	shown := MoneyOf(money)
	return &shown
}

// piecesOf lists the parcels with what is known of each. The shipment's own
// number and status stand for those of a single parcel.
func piecesOf(shipment ship.Shipment) []Piece {
	parcels := shipment.Order.Parcels
	pieces := make([]Piece, len(parcels))
	for i, parcel := range parcels {
		piece := Piece{Parcel: ParcelOf(parcel), Status: string(shipment.Progress.Status)}
		if len(parcels) == 1 {
			piece.TrackingNumber = shipment.Purchase.TrackingNumber
		}
		if i < len(shipment.Purchase.Pieces) {
			piece.TrackingNumber = shipment.Purchase.Pieces[i]
		}
		if i < len(shipment.Progress.Pieces) {
			piece.Status = string(shipment.Progress.Pieces[i])
		}
		pieces[i] = piece
	}
	return pieces
}

// ParcelOf is a parcel as clients see it: in the units they used.
func ParcelOf(parcel ship.Parcel) Parcel {
	shown := Parcel{
		Weight:     parcel.Weight,
		WeightUnit: string(parcel.WeightUnit),
		Packaging:  parcel.Packaging,
	}
	if shown.Packaging == "" {
		shown.Packaging = "custom"
	}
	if sides := parcel.Dimensions; sides != nil {
		shown.Dimensions = &Dimensions{
			Length: sides.Length,
			Width:  sides.Width,
			Height: sides.Height,
			Unit:   string(sides.Unit),
		}
	}
	return shown
}
