package ups

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// purchase asks for labels.
type purchase struct {
	Request            *head
	Shipment           *shipment
	LabelSpecification *struct{ LabelImageFormat code }
}

func (q *purchase) check() (refusal, bool) {
	if q == nil || q.Request == nil || q.Request.RequestOption == "" || q.Shipment == nil {
		return refusal{"120001", "Missing or invalid ShipmentRequest"}, false
	}
	if no, ok := checkShipment(q.Shipment, func(b box) *code { return b.Packaging }); !ok {
		return no, false
	}
	if no, ok := checkPurchase(q.Shipment); !ok {
		return no, false
	}
	if q.LabelSpecification == nil || !strings.EqualFold(q.LabelSpecification.LabelImageFormat.Code, "GIF") {
		return refusal{"120702", "Missing or invalid label print method code"}, false // the stand-in draws no other
	}
	return refusal{}, true
}

// ship sells labels.
func (s *server) ship(w http.ResponseWriter, r *http.Request) {
	var in struct{ ShipmentRequest *purchase }
	if !decode(w, r, &in) {
		return
	}
	q := in.ShipmentRequest
	if no, ok := q.check(); !ok {
		refuse(w, no)
		return
	}
	if s.Refuses() {
		refuse(w, refusal{"120802", "Address Validation Error on ShipTo address"})
		return
	}
	p := priced(q.Shipment)
	sale := s.sale(q.Shipment, p)
	context := q.Request.TransactionReference.CustomerContext
	s.Sell(w, r, sale, func(e emulator.Entry) (int, string, []byte) {
		s.webhook.sold(e)
		if e.Reference != sale.Reference {
			context = e.Reference // it is the answer of another sale
		}
		return http.StatusOK, "application/json", encode(map[string]any{"ShipmentResponse": map[string]any{
			"Response": responseOf(context), "ShipmentResults": results(e, q.Shipment, p),
		}})
	})
}

func priced(sh *shipment) quote {
	for _, o := range offers {
		if o.code == sh.Service.Code {
			return price(sh, o)
		}
	}
	return quote{} // checkPurchase has found it
}

// sale is the line of the ledger.
func (s *server) sale(sh *shipment, q quote) emulator.Entry {
	from, to := sh.from().Address, sh.ShipTo.Address
	references := sh.ReferenceNumber
	if len(references) == 0 {
		references = sh.Package[0].ReferenceNumber
	}
	given := numbers(Account, sh.Service.Code, s.Ledger.Next(), len(sh.Package))
	paid := usd(q.own())
	e := emulator.Entry{
		Number: given[0], Account: sh.Shipper.ShipperNumber, Service: sh.Service.Code,
		Amount: paid.MonetaryValue, Currency: paid.CurrencyCode,
		Kept: encode(kept{
			From: from.City, Province: from.StateProvinceCode, Start: from.CountryCode, To: to.City, Zip: to.PostalCode, State: to.StateProvinceCode,
			Country: to.CountryCode, Receiver: sh.ShipTo.Name, Days: q.days,
			Invoice: sh.ShipmentServiceOptions != nil && sh.ShipmentServiceOptions.InternationalForms != nil,
		}),
	}
	if len(given) > 1 {
		e.Pieces = given
	}
	if len(references) > 0 {
		e.Reference = references[0].Value
	}
	if len(references) > 1 {
		e.Second = references[1].Value
	}
	return e
}

// pieces are the tracking numbers of a sale.
func pieces(e emulator.Entry) []string {
	if len(e.Pieces) > 0 {
		return e.Pieces
	}
	return []string{e.Number}
}

func keptOf(e emulator.Entry) (k kept) {
	_ = json.Unmarshal(e.Kept, &k) // it is our own
	return k
}

// results is what was sold.
func results(e emulator.Entry, sh *shipment, q quote) map[string]any {
	var packages []map[string]any
	for _, n := range pieces(e) {
		packages = append(packages, map[string]any{
			"TrackingNumber": n,
			"ShippingLabel": map[string]any{
				"ImageFormat": code{"GIF", "GIF"}, "GraphicImage": labelOf(n, e), "HTMLImage": "PGh0bWw+PC9odG1sPg==",
			},
		})
	}
	r := map[string]any{
		"ShipmentCharges": map[string]any{
			"TransportationCharges": usd(q.transport), "ServiceOptionsCharges": usd(q.extra), "TotalCharges": usd(q.list()),
		},
		"BillingWeight":                map[string]any{"UnitOfMeasurement": code{q.unit.Code, "Weight"}, "Weight": q.weight},
		"ShipmentIdentificationNumber": e.Number,
		"PackageResults":               packages,
	}
	if sh.ShipmentRatingOptions != nil && sh.ShipmentRatingOptions.NegotiatedRatesIndicator != nil {
		r["NegotiatedRateCharges"] = map[string]any{"TotalCharge": usd(q.own())}
	}
	if keptOf(e).Invoice {
		r["Form"] = map[string]any{"Code": "01", "Description": "All Requested International Forms", "Image": invoiceOf(e)}
	}
	return r
}

func invoiceOf(e emulator.Entry) map[string]any {
	return map[string]any{"ImageFormat": code{"PDF", "PDF"}, "GraphicImage": invoicePDF(e.Number)}
}
