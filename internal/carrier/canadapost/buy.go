package canadapost

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy purchases a label, and fetches its file. The sale is made before the file
// is fetched: whatever goes wrong from then on leaves it uncertain, and Find gets
// the same file.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, addressLimits.Charset, addressLimits.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	// A lost purchase is looked up by this reference, so it must reach Canada
	// Post unchanged.
	if request.Reference == "" || len(request.Reference) > maxReference {
		return ship.Sale{}, ship.Errorf(ship.Internal, "a reference of %d characters does not fit Canada Post", len(request.Reference))
	}
	p, err := d.newDraft(order, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}
	chosen, err := p.service(request.Service)
	if err != nil {
		return ship.Sale{}, err
	}
	if p.isAbroad {
		p.options = append(p.options, instructionOf(chosen))
	}
	declared, err := p.customs(order)
	if err != nil {
		return ship.Sale{}, err
	}

	var sold ship.Sale
	switch {
	case p.isReturn:
		sold, err = d.buyReturn(ctx, request, p, chosen)
	case d.hasContract():
		sold, err = d.buyShipment(ctx, request, p, chosen, declared)
	default:
		sold, err = d.buyNonContract(ctx, request, p, chosen, declared)
	}
	if err != nil {
		return ship.Sale{}, err
	}
	sold.Warnings = slices.Concat(warnings, p.warnings, sold.Warnings)
	return sold, nil
}

// buyShipment purchases a label under the contract.
func (d driver) buyShipment(ctx context.Context, request carrier.BuyOrder, p draft, chosen service, declared *customs) (ship.Sale, error) {
	call := d.call(http.MethodPost, d.shipmentPath(), mediaShipment)
	call.Body = d.shipRequest(request, p, chosen, declared)
	call.Effect = true
	var answer shipmentInfo
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explain(err)
	}
	if answer.RequestID != "" && answer.RequestID != request.Reference {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "Canada Post answered with a different shipment")
	}

	sold, err := d.sale(ctx, answer.soldShipment, request)
	if err != nil {
		return ship.Sale{}, uncertain(err)
	}
	return sold, nil
}

// shipRequest returns the body of the request that buys the label.
func (d driver) shipRequest(request carrier.BuyOrder, p draft, chosen service, declared *customs) shipmentRequest {
	order := request.Order
	return shipmentRequest{
		RequestID:     request.Reference,
		IsTransmitted: true,
		ShippingPoint: p.from.Zip,
		MailingDate:   p.mailingDate,
		HasPrice:      true,
		Delivery: deliverySpec{
			Service: chosen.own,
			Sender: sender{
				Name:    p.from.Name,
				Company: companyOf(p.from),
				Phone:   p.from.Phone,
				Address: addressOf(p.from),
			},
			Destination: destination{
				Name:    p.to.Name,
				Company: p.to.Company,
				Phone:   p.to.Phone,
				Address: addressOf(p.to),
			},
			Options:    p.optionList(),
			Parcel:     p.parcel,
			Print:      printing{Format: "4x6", Encoding: encodingOf(order)},
			References: referencesOf(order),
			Customs:    declared,
			Settlement: settlement{Contract: d.contract, Payment: d.payment},
		},
	}
}

// optionList returns the options of a request; nil for none.
func (p draft) optionList() *optionList {
	if len(p.options) == 0 {
		return nil
	}
	return &optionList{p.options}
}

// buyNonContract purchases a label without a contract.
//
// fact: noncontract-request
func (d driver) buyNonContract(ctx context.Context, request carrier.BuyOrder, p draft, chosen service, declared *customs) (ship.Sale, error) {
	from := addressOf(p.from)
	printed := referencesOf(request.Order)
	// The look-up reads this reference: there is no field that is not printed.
	printed.Second = request.Reference

	call := d.call(http.MethodPost, d.nonContractPath(), mediaNonContract)
	call.Effect = true
	call.Body = nonContractRequest{
		ShippingPoint: p.from.Zip,
		Delivery: nonContractSpec{
			Service: chosen.own,
			Sender: nonContractSender{
				Name:    p.from.Name,
				Company: companyOf(p.from),
				Phone:   p.from.Phone,
				Address: domesticAddress{
					Line1: from.Line1,
					Line2: from.Line2,
					City:  from.City,
					State: from.State,
					Zip:   from.Zip,
				},
			},
			Destination: destination{
				Name:    p.to.Name,
				Company: p.to.Company,
				Phone:   p.to.Phone,
				Address: addressOf(p.to),
			},
			Options:    p.optionList(),
			Parcel:     p.parcel,
			References: printed,
			Customs:    declared,
		},
	}
	var answer nonContractInfo
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explain(err)
	}

	sold, err := d.nonContractSale(ctx, answer.soldShipment, request)
	if err != nil {
		return ship.Sale{}, uncertain(err)
	}
	return sold, nil
}

// nonContractSale reads a shipment that was sold, and fetches its files. What it cost
// is on a receipt of its own; a label whose receipt cannot be read is a label all the
// same.
func (d driver) nonContractSale(ctx context.Context, sold soldShipment, request carrier.BuyOrder) (ship.Sale, error) {
	bought, err := d.sale(ctx, sold, request)
	if err != nil {
		return ship.Sale{}, err
	}
	bought.CarrierRef = nonContract + "/" + sold.ID

	receipt, err := d.receipt(ctx, sold)
	price, ok := ship.ParseMoney(receipt.Charged, "CAD")
	if err != nil || !ok || receipt.Currency != "CAD" {
		bought.Warnings = append(bought.Warnings, "Canada Post did not say what the label cost; see the receipt in your Canada Post profile")
		return bought, nil
	}
	bought.Price = price
	bought.DeliveryAt = endOfDay(receipt.Date, destinationZone(request))
	return bought, nil
}

// receipt follows the link of a shipment to its receipt.
func (d driver) receipt(ctx context.Context, sold soldShipment) (nonContractReceipt, error) {
	for _, to := range sold.Links {
		if to.Relation != "receipt" {
			continue
		}
		path, err := pathOf(to)
		if err != nil {
			return nonContractReceipt{}, err
		}
		var receipt nonContractReceipt
		err = d.call(http.MethodGet, path, mediaNonContract).Do(ctx, d.via, &receipt)
		return receipt, err
	}
	return nonContractReceipt{}, ship.Errorf(ship.Unavailable, "Canada Post sent no link to the receipt")
}

// buyReturn makes a return label. Canada Post charges it when the parcel comes back,
// so its price is not known yet.
//
// fact: return-request
func (d driver) buyReturn(ctx context.Context, request carrier.BuyOrder, p draft, chosen service) (ship.Sale, error) {
	order := request.Order
	printed := referencesOf(order)
	printed.Second = request.Reference

	call := d.call(http.MethodPost, d.returnPath(), mediaReturn)
	call.Effect = true
	call.Body = returnRequest{
		Service:    chosen.own,
		Returner:   returnPartyOf(p.from),
		Receiver:   returnPartyOf(p.to),
		Parcel:     p.parcel,
		Print:      printing{Format: "4x6", Encoding: encodingOf(order)},
		Settlement: returnSettlement{Customer: d.customer, Contract: d.contract},
		References: printed,
	}
	var answer returnInfo
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explain(err)
	}
	if answer.PIN == "" {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "Canada Post sent no tracking number")
	}

	sold := ship.Sale{
		CarrierRef:     authorizedReturn + "/" + answer.PIN,
		TrackingNumber: answer.PIN,
	}
	for _, to := range answer.Links {
		if to.Relation != "returnLabel" {
			continue
		}
		file, format, err := d.fetchFile(ctx, to)
		if err != nil {
			return ship.Sale{}, uncertain(err)
		}
		sold.Label = ship.Label{Format: format, Data: file}
	}
	return sold, nil
}

// returnPartyOf returns a party, of which Canada Post requires a name.
func returnPartyOf(fitted carrierkit.FittedAddress) returnParty {
	written := addressOf(fitted)
	party := returnParty{
		Name:    cmp.Or(fitted.Name, fitted.Company),
		Company: fitted.Company,
		Address: returnAddress{
			Line1:    written.Line1,
			Line2:    written.Line2,
			City:     written.City,
			Province: written.State,
			Zip:      written.Zip,
		},
	}
	return party
}

// service returns the service of a code of ours on the lane of the order.
func (p draft) service(code string) (service, error) {
	sold, ok := serviceBy(func(s service) bool { return s.code == code })
	switch {
	case !ok:
		return service{}, refusedService("Canada Post has no service \"" + code + "\"; GET /v1/carriers lists its services")
	case sold.lane() != p.lane:
		return service{}, refusedService("Canada Post " + sold.name + " is not available to this destination")
	case p.isReturn && !sold.returnsWith():
		return service{}, refusedService("Canada Post " + sold.name + " has no return labels")
	}
	return sold, nil
}

func refusedService(detail string) error {
	return carrierkit.InvalidOrder("Canada Post", []ship.FieldError{{Pointer: "/service", Code: "invalid", Detail: detail}})
}

// encodingOf asks for the format that the client wants, where Canada Post has it.
func encodingOf(order ship.Order) string {
	if order.LabelFormat == "zpl" {
		return "ZPL"
	}
	return "PDF"
}

// referencesOf returns the order number and the client's reference, which the
// label prints, where they fit.
func referencesOf(order ship.Order) references {
	fitting := func(text string) string {
		if utf8.RuneCountInString(text) > maxReference {
			return ""
		}
		return text
	}
	printed := references{First: fitting(order.OrderID)}
	if order.Reference != order.OrderID {
		printed.Second = fitting(order.Reference)
	}
	return printed
}

// sale reads a shipment that was sold, and fetches its files.
func (d driver) sale(ctx context.Context, sold soldShipment, request carrier.BuyOrder) (ship.Sale, error) {
	if sold.ID == "" || sold.PIN == "" {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post sent no tracking number")
	}

	bought := ship.Sale{
		CarrierRef:     sold.ID,
		TrackingNumber: sold.PIN,
		DeliveryAt:     endOfDay(sold.Price.Date, destinationZone(request)),
	}
	bought.Price, _ = ship.ParseMoney(sold.Price.Due, "CAD") // an account may not be shown prices

	for _, to := range sold.Links {
		switch to.Relation {
		case "label":
			file, format, err := d.fetchFile(ctx, to)
			if err != nil {
				return ship.Sale{}, err
			}
			bought.Label = ship.Label{Format: format, Data: file}

		case "commercialInvoice":
			file, format, err := d.fetchFile(ctx, to)
			if err != nil {
				return ship.Sale{}, err
			}
			bought.Documents = append(bought.Documents, ship.Document{Type: "commercial_invoice", Format: format, Data: file})
		}
	}
	return bought, nil
}

// destinationZone is the time zone of a promised day.
func destinationZone(request carrier.BuyOrder) *time.Location {
	return carrierkit.PlaceOf(request.Order.Destination).ClosestZone()
}

// fileWaits are the pauses between requests for a file that is not ready.
var fileWaits = []time.Duration{400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond}

// fetchFile follows a link to a file. Canada Post does not document a 202, which
// says of any server that it is still at work: such an answer is no file.
func (d driver) fetchFile(ctx context.Context, to link) (data []byte, format string, err error) {
	path, err := pathOf(to)
	if err != nil {
		return nil, "", err
	}
	call := d.call(http.MethodGet, path, to.MediaType)

	for _, wait := range fileWaits {
		var file carrierkit.File
		if err := call.Do(ctx, d.via, &file); err != nil {
			return nil, "", explain(err)
		}
		if file.Status != http.StatusAccepted {
			format, ok := formatOf(file.Data)
			if !ok {
				return nil, "", ship.Errorf(ship.Unavailable, "Canada Post sent no label")
			}
			return file.Data, format, nil
		}

		select {
		case <-ctx.Done():
			return nil, "", &ship.Error{Kind: ship.Unavailable, Message: "the label of Canada Post is not ready yet", Err: ctx.Err()}
		case <-time.After(wait):
		}
	}
	return nil, "", ship.Errorf(ship.Unavailable, "the label of Canada Post is not ready yet")
}

// pathOf returns the path of a link. Its host is ignored: the credentials go only
// to the host of the connection.
func pathOf(to link) (string, error) {
	address, err := url.Parse(to.Address)
	if err != nil || !strings.HasPrefix(address.Path, "/") {
		return "", ship.Errorf(ship.Unavailable, "Canada Post sent a link that is not an address")
	}
	return address.RequestURI(), nil
}

// formatOf returns the format of a file that was not cut off; not ok for any other.
func formatOf(data []byte) (format string, ok bool) {
	switch {
	case carrierkit.IsWholePDF(data):
		return "pdf", true
	case bytes.Contains(data[:min(len(data), 200)], []byte("^XA")) && bytes.HasSuffix(bytes.TrimSpace(data), []byte("^XZ")):
		return "zpl", true
	}
	return "", false
}

// uncertain is the error of something that failed after the sale: the label was
// bought, whatever the reason.
func uncertain(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	unsure := *failed
	unsure.Kind = ship.Uncertain
	unsure.Code = ""
	unsure.Fields = nil
	return &unsure
}
