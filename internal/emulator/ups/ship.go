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
		return refusal{"120702", "Missing or invalid label print method code"}, false // the emulator draws no other format
	}
	return refusal{}, true
}

// ship sells labels.
func (s *server) ship(w http.ResponseWriter, r *http.Request) {
	var in struct{ ShipmentRequest *purchase }
	body, ok := decodeBody(w, r, &in)
	if !ok {
		return
	}
	q := in.ShipmentRequest
	no, ok := q.check()
	if ok {
		no, ok = checkMembers("Ship", body)
	}
	if !ok {
		refuse(w, no)
		return
	}
	if s.Refuses() {
		refuse(w, refusal{"120802", "Address Validation Error on ShipTo address"})
		return
	}
	p := priced(q.Shipment)
	context := q.Request.TransactionReference.CustomerContext
	_, id, _ := strings.Cut(r.Header.Get("transactionSrc"), " ") // what the client knows the purchase by
	if s.settings.Load().TestEnvironment {
		answer(w, http.StatusOK, shipped(context, unsold(s.sale(q.Shipment, p, context, id)), q.Shipment, p))
		return
	}

	sale := s.sale(q.Shipment, p, context, id)
	s.Sell(w, r, sale, func(e emulator.Entry) (int, string, []byte) {
		s.webhook.sold(e)
		if e.Reference != sale.Reference {
			context = e.Reference // the response of another sale
		}
		return http.StatusOK, "application/json", shipped(context, e, q.Shipment, p)
	})
}

// shipped returns the answer of a sale. It asks for a printed invoice if the
// client does not want a paperless one.
func shipped(context string, entry emulator.Entry, sh *shipment, quoted quote) []byte {
	head := responseOf(context)
	if options := sh.ShipmentServiceOptions; options != nil && options.InternationalForms != nil && options.InternationalForms.OverridePaperlessIndicator != nil {
		head["Alert"] = []code{{"120016", "Customs Invoice is required when the shipment is tendered to UPS."}}
	}
	return encode(map[string]any{"ShipmentResponse": map[string]any{
		"Response": head, "ShipmentResults": results(entry, sh, quoted),
	}})
}

// placeholder is every number of the test environment.
const placeholder = "1ZXXXXXXXXXXXXXXXX"

// unsold returns what the test environment answers with: a sale with its number
// only.
func unsold(entry emulator.Entry) emulator.Entry {
	entry.Number = placeholder
	for i := range entry.Pieces {
		entry.Pieces[i] = placeholder
	}
	return entry
}

func priced(sh *shipment) quote {
	for _, sold := range offers {
		if sold.code == sh.Service.Code {
			return price(sh, sold)
		}
	}
	return quote{} // checkPurchase has verified that it exists
}

// sale returns the ledger entry of the purchase. Of two references, the first
// in the entry is the one that the client asks UPS to repeat in its response.
// The second is replaced by an ID that the client names as the source of the
// request.
func (s *server) sale(sh *shipment, q quote, context, id string) emulator.Entry {
	from := sh.from().Address
	to := sh.ShipTo.Address
	references := sh.ReferenceNumber
	if len(references) == 0 {
		references = sh.Package[0].ReferenceNumber
	}
	var values []string
	for _, given := range references {
		values = append(values, given.Value)
	}

	given := numbers(Account, sh.Service.Code, s.Ledger.Next(), len(sh.Package))
	paid := usd(q.own())
	entry := emulator.Entry{
		Number:   given[0],
		Account:  sh.Shipper.ShipperNumber,
		Service:  sh.Service.Code,
		Amount:   paid.MonetaryValue,
		Currency: paid.CurrencyCode,
		Kept: encode(kept{
			From:       from.City,
			Province:   from.StateProvinceCode,
			Start:      from.CountryCode,
			To:         to.City,
			Zip:        to.PostalCode,
			State:      to.StateProvinceCode,
			Country:    to.CountryCode,
			Receiver:   sh.ShipTo.Name,
			Days:       q.days,
			Invoice:    sh.ShipmentServiceOptions != nil && sh.ShipmentServiceOptions.InternationalForms != nil,
			References: values,
			IsReturn:   sh.ReturnService != nil,
		}),
	}
	if len(given) > 1 {
		entry.Pieces = given
	}

	switch {
	case len(values) > 1 && values[1] == context:
		entry.Reference = values[1]
		entry.Second = values[0]
	case len(values) > 1:
		entry.Reference = values[0]
		entry.Second = values[1]
	case len(values) == 1:
		entry.Reference = values[0]
	}
	if id != "" {
		entry.Second = id
	}
	return entry
}

// pieces returns the tracking numbers of a sale.
func pieces(entry emulator.Entry) []string {
	if len(entry.Pieces) > 0 {
		return entry.Pieces
	}
	return []string{entry.Number}
}

func keptOf(entry emulator.Entry) (sale kept) {
	_ = json.Unmarshal(entry.Kept, &sale) // this package wrote it
	return sale
}

// results describes what was sold.
func results(entry emulator.Entry, sh *shipment, q quote) map[string]any {
	var packages []map[string]any
	for _, number := range pieces(entry) {
		packages = append(packages, map[string]any{
			"TrackingNumber": number,
			"ShippingLabel": map[string]any{
				"ImageFormat":  code{"GIF", "GIF"},
				"GraphicImage": labelOf(number, entry),
				"HTMLImage":    "PGh0bWw+PC9odG1sPg==",
			},
		})
	}

	sold := map[string]any{
		"ShipmentCharges": map[string]any{
			"TransportationCharges": usd(q.transport),
			"ServiceOptionsCharges": usd(q.extra),
			"TotalCharges":          usd(q.list()),
		},
		"BillingWeight":                map[string]any{"UnitOfMeasurement": code{q.unit.Code, "Weight"}, "Weight": q.weight},
		"ShipmentIdentificationNumber": entry.Number,
		"PackageResults":               packages,
	}
	if sh.ShipmentRatingOptions != nil && sh.ShipmentRatingOptions.NegotiatedRatesIndicator != nil {
		sold["NegotiatedRateCharges"] = map[string]any{"TotalCharge": usd(q.own())}
	}
	if keptOf(entry).Invoice {
		sold["Form"] = map[string]any{"Code": "01", "Description": "All Requested International Forms", "Image": invoiceOf(entry)}
	}
	return sold
}

func invoiceOf(entry emulator.Entry) map[string]any {
	return map[string]any{"ImageFormat": code{"PDF", "PDF"}, "GraphicImage": invoicePDF(entry.Number)}
}
