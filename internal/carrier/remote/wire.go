package remote

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// The bodies of requests and answers, as api/carrier-plugin.yaml describes them.
// Orders are written as clients of the API write them.

// Address is an address as the API has it.
type Address = wire.Address

// AddressOf returns an address as the service has it.
func AddressOf(a Address) ship.Address {
	whole := placeOf(a)
	whole.Name = a.Name
	whole.Company = a.Company
	whole.Phone = a.Phone
	whole.Email = a.Email
	whole.Residential = a.Residential
	whole.Type = a.Type
	return whole
}

// A request is what every body begins with.
type request struct {
	Livemode    bool              `json:"livemode"`
	Credentials map[string]string `json:"credentials"`
	// TimeoutMs is how long the answer is waited for.
	TimeoutMs int64 `json:"timeoutMs"`
}

// order is an order as a client writes it, with the weights and sides in one
// unit besides.
type order struct {
	wire.Creation
	Parcels  []parcel `json:"parcels"`
	ShipDate string   `json:"shipDate,omitempty"`
	ReturnOf string   `json:"returnOf,omitempty"`
}

type parcel struct {
	wire.Parcel
	Grams    int64 `json:"grams"`
	LengthMM int64 `json:"lengthMm,omitempty"`
	WidthMM  int64 `json:"widthMm,omitempty"`
	HeightMM int64 `json:"heightMm,omitempty"`
}

func orderOf(o ship.Order) order {
	out := order{
		Creation: wire.CreationOf(o),
		ShipDate: string(o.ShipDate),
		ReturnOf: string(o.ReturnOf),
	}
	out.Parcel = nil
	for _, given := range o.Parcels {
		one := parcel{Parcel: wire.ParcelOf(given), Grams: given.WeightGrams}
		if sides := given.Dimensions; sides != nil {
			one.LengthMM = sides.LengthMM
			one.WidthMM = sides.WidthMM
			one.HeightMM = sides.HeightMM
		}
		out.Parcels = append(out.Parcels, one)
	}
	return out
}

type ratesRequest struct {
	request
	Order order `json:"order"`
}

type ratesAnswer struct {
	Rates []rate `json:"rates"`
}

type rate struct {
	Service     string      `json:"service"`
	Price       wire.Money  `json:"price"`
	ListPrice   *wire.Money `json:"listPrice"`
	TransitDays int         `json:"transitDays"`
	DeliveryAt  time.Time   `json:"deliveryAt"`
	Guaranteed  bool        `json:"guaranteed"`
	Selection   string      `json:"selection"`
}

type buyRequest struct {
	request
	Reference string `json:"reference"`
	Shipment  string `json:"shipment"`
	Service   string `json:"service"`
	Selection string `json:"selection,omitempty"`
	Order     order  `json:"order"`
}

type sale struct {
	Reference       string     `json:"reference"`
	CarrierRef      string     `json:"carrierRef"`
	TrackingNumber  string     `json:"trackingNumber"`
	TrackingNumbers []string   `json:"trackingNumbers"`
	Service         string     `json:"service"`
	Price           wire.Money `json:"price"`
	DeliveryAt      time.Time  `json:"deliveryAt"`
	Label           *document  `json:"label"`
	Documents       []document `json:"documents"`
	Warnings        []string   `json:"warnings"`
}

// isOf reports whether the answer is about the purchase with the reference. A
// plug-in that mixes up its answers would otherwise have a label recorded for the
// wrong shipment. Plug-ins may leave the reference out.
func (s sale) isOf(reference string) bool {
	return s.Reference == "" || s.Reference == reference
}

type document struct {
	Type   string `json:"type"`
	Format string `json:"format"`
	Data   []byte `json:"data"` // base64
}

func documentsOf(list []document) []ship.Document {
	var documents []ship.Document
	for _, one := range list {
		documents = append(documents, ship.Document(one))
	}
	return documents
}

// moneyOf reads an amount; the zero Money if it is none.
func moneyOf(m wire.Money) ship.Money {
	money, _ := ship.ParseMoney(m.Amount, m.Currency)
	return money
}

// saleOf returns what was sold, as far as the answer has it. A label that cannot be
// printed is left out: the purchase is not complete.
func saleOf(s sale) ship.Sale {
	out := ship.Sale{
		Service:        s.Service,
		CarrierRef:     s.CarrierRef,
		TrackingNumber: s.TrackingNumber,
		Price:          moneyOf(s.Price),
		DeliveryAt:     s.DeliveryAt,
		Documents:      documentsOf(s.Documents),
		Warnings:       s.Warnings,
	}
	if len(s.TrackingNumbers) > 1 {
		out.Pieces = s.TrackingNumbers
	}
	if label := s.Label; label != nil && slices.Contains(labelFormats, label.Format) {
		out.Label = ship.Label{Format: label.Format, Data: label.Data}
	}
	return out
}

type purchaseRequest struct {
	request
	CarrierRef      string   `json:"carrierRef"`
	TrackingNumbers []string `json:"trackingNumbers"`
	Service         string   `json:"service"`
}

func numbersOf(p ship.Purchase) []string {
	if len(p.Pieces) > 0 {
		return p.Pieces
	}
	return []string{p.TrackingNumber}
}

type voidAnswer struct {
	Status string `json:"status"`
}

type trackRequest struct {
	request
	TrackingNumbers []string `json:"trackingNumbers"`
}

// trackingUpdates are the answer to a poll and the body of a push.
type trackingUpdates struct {
	Updates []trackingUpdate `json:"updates"`
}

type trackingUpdate struct {
	TrackingNumber      string    `json:"trackingNumber"`
	Code                string    `json:"code"`
	At                  time.Time `json:"at"`
	Description         string    `json:"description"`
	Location            string    `json:"location"`
	EstimatedDeliveryAt time.Time `json:"estimatedDeliveryAt"`
}

type subscribeRequest struct {
	request
	URL             string   `json:"url"`
	PushSecret      string   `json:"pushSecret"`
	TrackingNumbers []string `json:"trackingNumbers,omitempty"`
}

type subscribeAnswer struct {
	Subscribed bool      `json:"subscribed"`
	Until      time.Time `json:"until"`
}

type addressRequest struct {
	request
	Address Address `json:"address"`
}

type addressAnswer struct {
	Verdict     string    `json:"verdict"`
	Address     *Address  `json:"address"`
	Candidates  []Address `json:"candidates"`
	Residential *bool     `json:"residential"`
	Messages    []string  `json:"messages"`
}

func placeOf(a Address) ship.Address {
	return ship.Address{
		Address1: a.Address1,
		Address2: a.Address2,
		Address3: a.Address3,
		City:     a.City,
		State:    a.State,
		Zip:      a.Zip,
		Country:  a.Country,
	}
}

type pickupRequest struct {
	request
	Reference string      `json:"reference"`
	Pickup    pickup      `json:"pickup"`
	Booking   *bookingRef `json:"booking,omitempty"`
}

type pickup struct {
	Address         Address         `json:"address"`
	ReadyAt         time.Time       `json:"readyAt"`
	CloseAt         time.Time       `json:"closeAt"`
	Parcels         []pickupParcels `json:"parcels"`
	Grams           int64           `json:"grams,omitempty"`
	Instructions    string          `json:"instructions,omitempty"`
	TrackingNumbers []string        `json:"trackingNumbers,omitempty"`
}

type pickupParcels struct {
	Service string `json:"service,omitempty"`
	Country string `json:"country,omitempty"`
	Count   int    `json:"count"`
}

type bookingRef struct {
	Confirmation string `json:"confirmation"`
	Details      string `json:"details,omitempty"`
}

type booking struct {
	bookingRef
	ReadyAt time.Time   `json:"readyAt"`
	CloseAt time.Time   `json:"closeAt"`
	Price   *wire.Money `json:"price"`
	Existed bool        `json:"existed"`
}

type cancelAnswer struct {
	Cancelled bool `json:"cancelled"`
}

func pickupOf(p ship.PickupOrder) pickup {
	out := pickup{
		Address:         wire.AddressOf(p.Address),
		ReadyAt:         p.Window.ReadyAt,
		CloseAt:         p.Window.CloseAt,
		Grams:           p.WeightGrams,
		Instructions:    p.Instructions,
		TrackingNumbers: p.TrackingNumbers,
	}
	for _, parcels := range p.Parcels {
		out.Parcels = append(out.Parcels, pickupParcels(parcels))
	}
	return out
}

func bookingOf(b booking) ship.PickupBooking {
	out := ship.PickupBooking{
		Confirmation: b.Confirmation,
		Details:      b.Details,
		Window:       ship.TimeWindow{ReadyAt: b.ReadyAt, CloseAt: b.CloseAt},
		Existed:      b.Existed,
	}
	if b.Price != nil {
		out.Price = moneyOf(*b.Price)
	}
	return out
}

type manifestRequest struct {
	request
	Address  Address         `json:"address"`
	ShipDate string          `json:"shipDate"`
	Labels   []manifestLabel `json:"labels"`
}

type manifestLabel struct {
	Shipment        string   `json:"shipment"`
	Service         string   `json:"service"`
	TrackingNumbers []string `json:"trackingNumbers"`
}

type closing struct {
	Number    string     `json:"number"`
	Documents []document `json:"documents"`
	Excluded  []struct {
		Shipment string `json:"shipment"`
		Reason   string `json:"reason"`
	} `json:"excluded"`
	Existed bool `json:"existed"`
}

func closingOf(c closing) ship.ManifestClosing {
	out := ship.ManifestClosing{Number: c.Number, Documents: documentsOf(c.Documents), Existed: c.Existed}
	for _, left := range c.Excluded {
		out.Excluded = append(out.Excluded, ship.ManifestExclusion{Shipment: ship.ShipmentID(left.Shipment), Reason: left.Reason})
	}
	return out
}

type pointsRequest struct {
	request
	PointsQuery
}

// PointsQuery is where service points are looked for.
type PointsQuery struct {
	Country string `json:"country"`
	Zip     string `json:"zip,omitempty"`
	City    string `json:"city,omitempty"`
	Limit   int    `json:"limit,omitempty"`
}

type pointsAnswer struct {
	Points []point `json:"points"`
}

type point struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Address   Address  `json:"address"`
	DistanceM *int64   `json:"distanceMetres"`
	Latitude  float64  `json:"latitude"`
	Longitude float64  `json:"longitude"`
	Locker    bool     `json:"locker"`
	Abilities []string `json:"abilities"`
	Hours     []struct {
		Day   string `json:"day"`
		Open  string `json:"open"`
		Close string `json:"close"`
	} `json:"hours"`
}

func pointOf(p point) ship.ServicePoint {
	out := ship.ServicePoint{
		ID:        p.ID,
		Name:      p.Name,
		Address:   placeOf(p.Address),
		DistanceM: -1,
		Abilities: p.Abilities,
		Latitude:  p.Latitude,
		Longitude: p.Longitude,
		IsLocker:  p.Locker,
	}
	if p.DistanceM != nil {
		out.DistanceM = *p.DistanceM
	}
	for _, hours := range p.Hours {
		out.Hours = append(out.Hours, ship.PointHours(hours))
	}
	return out
}

type proofAnswer struct {
	Document *document `json:"document"`
}

type dutiesAnswer struct {
	Charges    []landedCharge `json:"charges"`
	Guaranteed bool           `json:"guaranteed"`
	Messages   []string       `json:"messages"`
}

type landedCharge struct {
	Type   string     `json:"type"`
	Name   string     `json:"name"`
	Item   *int       `json:"item"` // left out for the shipment as a whole
	Amount wire.Money `json:"amount"`
}

// costOf returns what customs will ask for. ok is false if a charge cannot be
// understood.
func costOf(d dutiesAnswer, items int) (cost ship.LandedCost, ok bool) {
	cost = ship.LandedCost{Guaranteed: d.Guaranteed, Messages: d.Messages}
	for _, given := range d.Charges {
		charge := ship.LandedCharge{Type: given.Type, Name: given.Name, Item: -1, Amount: moneyOf(given.Amount)}
		if given.Item != nil {
			charge.Item = *given.Item
		}
		isKnown := charge.Type == "duty" || charge.Type == "tax" || charge.Type == "fee"
		if !isKnown || charge.Amount.Currency == "" || charge.Item < -1 || charge.Item >= items {
			return ship.LandedCost{}, false
		}
		cost.Charges = append(cost.Charges, charge)
	}
	return cost, d.Charges != nil
}

type documentRequest struct {
	purchaseRequest
	Reference string   `json:"reference"`
	Order     order    `json:"order"`
	Document  document `json:"document"`
}

type receipt struct {
	Received bool   `json:"received"`
	ID       string `json:"id"`
}

// errorAnswer is the body of an answer with status 422.
type errorAnswer struct {
	Error struct {
		Kind       string `json:"kind"`
		Code       string `json:"code"`
		Message    string `json:"message"`
		RetryAfter int    `json:"retryAfter"` // seconds
		Fields     []struct {
			Pointer string `json:"pointer"`
			Code    string `json:"code"`
			Detail  string `json:"detail"`
		} `json:"fields"`
		NextWindow *struct {
			ReadyAt time.Time `json:"readyAt"`
			CloseAt time.Time `json:"closeAt"`
		} `json:"nextWindow"`
	} `json:"error"`
}

// kinds are the kinds of errors that a plug-in can answer with.
var kinds = map[string]ship.Kind{
	"invalid":     ship.Invalid,
	"forbidden":   ship.Forbidden,
	"not_found":   ship.NotFound,
	"conflict":    ship.Conflict,
	"unsupported": ship.Unsupported,
	"limited":     ship.Limited,
	"unavailable": ship.Unavailable,
	"uncertain":   ship.Uncertain,
}
