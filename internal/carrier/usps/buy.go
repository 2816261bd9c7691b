package usps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Formats of labels, and how their files begin.
const (
	formatPDF = "pdf"
	formatPNG = "png"
	beginPDF  = "%PDF-"
	beginPNG  = "\x89PNG\r\n\x1a\n"
)

// labelType is the size of every label: 4 by 6 inches.
const labelType = "4X6LABEL"

// labelJSON asks for the label inside of one JSON document; the usual answer is
// a multipart one.
const labelJSON = "application/vnd.usps.labels+json"

// Buy purchases a label. The idempotency key follows from our reference, so
// that USPS sells at most once under it and can be asked for it.
func (d *driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	c, s, err := consignFor(b)
	if err != nil {
		return ship.Purchase{}, err
	}
	body, err := c.labelRequest(s, b)
	if err != nil {
		return ship.Purchase{}, err
	}

	var a labelAnswer
	err = d.pay(ctx, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + s.path("label"), Body: body, Effect: true,
		Header: http.Header{"Accept": {labelJSON}, "X-Idempotency-Key": {keyOf(b.Reference)}},
	}, &a)
	if err != nil {
		return ship.Purchase{}, unsold(err)
	}
	if !c.isOurs(a.labelMetadata) {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "the carrier answered with the label of another address")
	}
	p, ok := c.purchase(s, a.labelMetadata, a.LabelImage)
	if !ok {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "the carrier answered with something else than the label")
	}
	p.Warnings = c.warnings
	return p, nil
}

// unsold doubts a refusal because of the key: it was used before, so something
// may be bought under it.
func unsold(err error) error {
	if e, ok := errors.AsType[*ship.Error](err); ok && refusedWith(err, wordsKeyUsed) {
		return &ship.Error{Kind: ship.Uncertain, Message: "the carrier has seen this purchase before", Refusal: e.Refusal, Err: e.Err}
	}
	return err
}

// consignFor checks the order and its service.
func consignFor(b carrier.BuyOrder) (*consignment, service, error) {
	c, err := consign(b.Order, time.Now())
	if err != nil {
		return nil, service{}, err
	}
	s, ok := serviceBy(func(s service) bool { return s.code == b.Service })
	if !ok {
		return nil, service{}, field("/service", "invalid", "is not a service of USPS; GET /v1/carriers lists its services")
	}
	return c, s, c.takes(s)
}

// path is that of an operation on labels of the service.
func (s service) path(operation string) string {
	if s.abroad {
		return "/international-labels/v3/international-" + operation
	}
	return "/labels/v3/" + operation
}

func (c *consignment) labelRequest(s service, b carrier.BuyOrder) (labelRequest, error) {
	form, err := c.customs()
	if err != nil {
		return labelRequest{}, err
	}
	r := labelRequest{
		ImageInfo:   c.image(),
		FromAddress: c.addressOf(c.from, true),
		ToAddress:   c.addressOf(c.to, !c.abroad),
		CustomsForm: form,
		PackageDescription: packageDescription{
			MailClass: s.class, PackagingType: ownBox, Shape: "RECTANGULAR", ProcessingCategory: c.category, EntryFacilityType: "NONE",
			WeightUOM: "lb", Weight: c.weight, DimensionsUOM: "in", Length: c.length, Width: c.width, Height: c.height,
			MailingDate: c.mailingDate, CustomerReference: references(b, form != nil),
		},
	}
	if !c.abroad {
		r.ImageInfo.ReceiptOption = "NONE"
	}
	if form != nil && r.FromAddress.Firm == "" { // customs forms need a firm
		r.FromAddress.Firm = c.from.Name
	}
	p := &r.PackageDescription
	if c.abroad {
		p.Shape = "RECTANGLE"
	}
	if c.box != nil {
		p.PackagingType = c.box.kind
	}
	if c.box == nil && b.Selection != "" {
		// The price that was quoted, which may be a cubic one. USPS takes the
		// indicator instead of the packaging, never with it.
		p.RateIndicator = b.Selection
		p.PackagingType = ""
		p.Shape = ""
	}
	p.ExtraServices, _ = c.extras(s)
	if signature := c.order.Options.Signature; !c.abroad && (signature != "" || c.over500) {
		byHand := signature == "adult" // others may be signed for online
		p.PhysicalSignature = &byHand
	}
	if c.value != "" {
		p.PackageOptions = &packageOptions{PackageValue: c.value}
	}
	return r, nil
}

// image chooses the form of the label: one that can be drawn on this host in
// every format that the client may want. Customs forms come as PDF alone.
func (c *consignment) image() imageInfo {
	kind := "PDF"
	if !c.hasForm() && (c.order.LabelFormat == formatPNG || c.order.LabelFormat == "zpl") {
		kind = "PNG"
	}
	return imageInfo{ImageType: kind, LabelType: labelType}
}

// maxReference is the length of a customer reference.
const maxReference = 30

// references are ours first, which stays with the purchase in USPS's records
// and is not printed, then the order number and the client's reference, which
// are. A label with a customs form has room for two, and USPS prints none of
// them there.
func references(b carrier.BuyOrder, customs bool) []customerReference {
	list := []customerReference{{ReferenceNumber: b.Reference}}
	for _, text := range []string{b.Order.OrderID, b.Order.Reference} {
		fits := text != "" && len(text) <= maxReference
		if fits && !slices.ContainsFunc(list, func(r customerReference) bool { return r.ReferenceNumber == text }) {
			list = append(list, customerReference{ReferenceNumber: text, Print: !customs})
		}
	}
	if customs {
		return list[:min(len(list), 2)]
	}
	if b.Shipment != "" {
		list = append(list, customerReference{ReferenceNumber: string(b.Shipment)})
	}
	return list
}

// addressOf writes an address. A person has two names to USPS; one word alone
// stands where a firm would.
func (c *consignment) addressOf(a carrierkit.FittedAddress, home bool) address {
	out := address{Firm: a.Company, City: a.City, Phone: c.phone(a.Phone)}
	if i := strings.LastIndexByte(a.Name, ' '); i > 0 {
		out.FirstName, out.LastName = a.Name[:i], a.Name[i+1:]
	} else if out.Firm == "" {
		out.Firm = a.Name
	} else {
		out.FirstName = a.Name
	}
	if len(a.Lines) > 0 {
		out.StreetAddress = a.Lines[0]
	}
	if len(a.Lines) > 1 {
		out.SecondaryAddress = a.Lines[1]
	}
	if home {
		out.State, out.ZIPCode = a.State, a.Zip
	} else {
		out.Province, out.PostalCode = a.State, a.Zip
		out.Country, out.CountryCode = ship.CountryName(a.Country), a.Country
	}
	return out
}

// phone is the number in digits. One that USPS would refuse the label for is
// left out: no label needs it.
func (c *consignment) phone(number string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
	if digits == "" {
		return ""
	}
	if len(digits) < 6 || len(digits) > 15 {
		c.warnings = append(c.warnings, "a phone number is left out: the carrier takes 6 to 15 digits")
		return ""
	}
	return digits
}

// isOurs reports whether an answer speaks of our parcel. USPS repeats none of
// our references, but it tells where the parcel goes.
func (c *consignment) isOurs(m labelMetadata) bool {
	if c.abroad {
		country := m.LabelAddress.CountryCode
		return country == "" || strings.EqualFold(country, c.to.Country)
	}
	routed := m.RoutingInformation == "" || strings.HasPrefix(m.RoutingInformation, "420"+c.to.Zip)
	return routed && (m.LabelAddress.ZIPCode == "" || m.LabelAddress.ZIPCode == c.to.Zip)
}

// purchase is what USPS sold. It reports false for an answer that is not one:
// no number, no price, or no image of the kind that was asked for.
func (c *consignment) purchase(s service, m labelMetadata, image []byte) (ship.Purchase, bool) {
	number := m.TrackingNumber
	if s.abroad && m.InternationalNumber != "" {
		number = m.InternationalNumber
	}
	number = ship.NormalizeTrackingNumber(number)
	price, ok := m.total()
	format, begin := formatPDF, beginPDF
	if c.image().ImageType == "PNG" {
		format, begin = formatPNG, beginPNG
	}
	if number == "" || !ok || !bytes.HasPrefix(image, []byte(begin)) {
		return ship.Purchase{}, false
	}
	return ship.Purchase{
		Service: s.code, ServiceName: s.name, CarrierRef: number, TrackingNumber: number, Price: price,
		DeliveryAt: m.Commitment.at(), Label: ship.Label{Format: format, Data: image},
	}, true
}

// total is what was charged: postage, extra services and fees.
func (m labelMetadata) total() (ship.Money, bool) {
	price, ok := money(m.Postage)
	for _, list := range [][]charge{m.ExtraServices, m.Fees} {
		for _, charged := range list {
			if charged.Price == "" {
				continue
			}
			more, fine := money(charged.Price)
			price.Minor, ok = price.Minor+more.Minor, ok && fine
		}
	}
	return price, ok
}

// keyOf is the idempotency key of a reference: a UUID in the form of a random
// one, always the same.
func keyOf(reference string) string {
	sum := sha256.Sum256([]byte("waybill usps label\x00" + reference))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	h := hex.EncodeToString(id)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
