package usps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// labelType is the size of every label: 4 by 6 inches. fact: label-size
const labelType = "4X6LABEL"

// labelJSON asks for the label inside one JSON document; by default USPS
// answers with a multipart one.
const labelJSON = "application/vnd.usps.labels+json"

// Buy purchases a label. The idempotency key is derived from our reference, so
// USPS sells at most once under it, and the purchase can be looked up by it.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	c, mailClass, err := d.draftFor(request)
	if err != nil {
		return ship.Sale{}, err
	}
	c.warnings = append(warnings, c.warnings...)
	body, err := c.shipRequest(mailClass, request)
	if err != nil {
		return ship.Sale{}, err
	}

	var answer labelAnswer
	err = d.callWithPayment(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + c.labelPath(mailClass),
		Body:   body,
		Effect: true,
		Header: http.Header{"Accept": {labelJSON}, "X-Idempotency-Key": {keyOf(request.Reference)}},
	}, &answer)
	if err != nil {
		return ship.Sale{}, uncertainIfKeyUsed(err)
	}

	// USPS has charged by now. An answer that cannot be used is uncertain and
	// not a refusal, so the purchase is looked up before anything is bought
	// again.
	if !c.isOurs(answer.labelMetadata) {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "the carrier returned a label for a different address")
	}
	purchase, ok := c.sale(mailClass, answer.labelMetadata, answer.image(c.order.IsReturn))
	if !ok {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "the carrier's response does not contain the label")
	}
	purchase.Warnings = c.warnings
	if c.order.IsReturn {
		purchase.Warnings = append(purchase.Warnings, returnWarning)
	}
	return purchase, nil
}

const returnWarning = "USPS charges for the return label when it is used, by the weight and size that it measures then"

// image returns the label of the answer.
func (a labelAnswer) image(isReturn bool) []byte {
	if isReturn {
		return a.ReturnLabelImage
	}
	return a.LabelImage
}

// uncertainIfKeyUsed turns a refusal because of the idempotency key into an
// uncertain outcome: the key was used before, so a label may have been bought
// under it.
func uncertainIfKeyUsed(err error) error {
	if refused, ok := errors.AsType[*ship.Error](err); ok && isRefusedWith(err, wordsKeyUsed) {
		return &ship.Error{
			Kind:    ship.Uncertain,
			Message: "the carrier has already processed a purchase with this idempotency key",
			Refusal: refused.Refusal,
			Err:     refused.Err,
		}
	}
	return err
}

// draftFor checks the order and its service.
func (d *driver) draftFor(request carrier.BuyOrder) (*draft, service, error) {
	c, err := newDraft(request.Order, time.Now())
	if err != nil {
		return nil, service{}, err
	}
	c.media = d.media

	mailClass, ok := serviceBy(func(s service) bool { return s.code == request.Service })
	if !ok {
		return nil, service{}, field("/service", "invalid", "is not a USPS service; GET /v1/carriers lists its services")
	}
	return c, mailClass, c.checkService(mailClass)
}

// path is that of an operation on labels of the service.
func (s service) path(operation string) string {
	if s.abroad {
		return "/international-labels/v3/international-" + operation
	}
	return "/labels/v3/" + operation
}

// labelPath is that of a purchase.
func (c *draft) labelPath(mailClass service) string {
	if c.order.IsReturn {
		return "/labels/v3/return-label"
	}
	return mailClass.path("label")
}

// className returns USPS's name of the service for the order: returns have names
// of their own.
func (c *draft) className(mailClass service) string {
	if c.order.IsReturn {
		return mailClass.class + "_RETURN_SERVICE"
	}
	return mailClass.class
}

func (c *draft) shipRequest(mailClass service, request carrier.BuyOrder) (labelRequest, error) {
	form, err := c.customs()
	if err != nil {
		return labelRequest{}, err
	}

	parcel := packageDescription{
		MailClass:          c.className(mailClass),
		PackagingType:      ownBox,
		Shape:              "RECTANGULAR",
		ProcessingCategory: c.category,
		EntryFacilityType:  "NONE",
		WeightUOM:          "lb",
		Weight:             c.weight,
		DimensionsUOM:      "in",
		Length:             c.length,
		Width:              c.width,
		Height:             c.height,
		MailingDate:        c.mailingDate,
		CustomerReference:  c.references(request, form != nil),
	}
	parcel.ExtraServices, _ = c.extraServices(mailClass)
	if c.order.IsReturn {
		// Nobody knows when and where the customer hands the parcel in.
		parcel.MailingDate = ""
		parcel.EntryFacilityType = ""
	}

	// The two label APIs have different words for the same shape. fact: shapes
	if c.abroad {
		parcel.Shape = "RECTANGLE"
	}

	switch {
	case c.box != nil:
		parcel.PackagingType = c.box.kind
	case request.Selection != "":
		// The price that was quoted, which may be a cubic one. USPS takes the
		// indicator instead of the packaging, never with it.
		parcel.RateIndicator = request.Selection
		parcel.PackagingType = ""
		parcel.Shape = ""
	}

	if signature := c.order.Options.Signature; !c.abroad && (signature != "" || c.over500) {
		byHand := signature == "adult" // others may be signed for online
		parcel.PhysicalSignature = &byHand
	}
	if c.value != "" {
		parcel.options().PackageValue = c.value
	}

	label := labelRequest{
		ImageInfo:          c.image(),
		FromAddress:        c.addressOf(c.from, true),
		ToAddress:          c.addressOf(c.to, !c.abroad),
		CustomsForm:        form,
		PackageDescription: parcel,
	}
	if !c.abroad {
		label.ImageInfo.ReceiptOption = "NONE"
	}
	c.addOptions(&label)
	if form != nil && label.FromAddress.Firm == "" { // customs forms need a firm
		label.FromAddress.Firm = c.from.Name
	}
	return label, nil
}

// image chooses the file type of the label: one that this host can render into
// every format that the client may want. Customs forms come as PDF only.
func (c *draft) image() imageInfo {
	kind := "PDF"
	if !c.hasForm() && (c.order.LabelFormat == formatPNG || c.order.LabelFormat == "zpl") {
		kind = "PNG"
	}
	return imageInfo{ImageType: kind, LabelType: labelType}
}

// maxReference is the length of a customer reference.
const maxReference = 30

// references returns the customer references of a label: first ours, which
// stays with the purchase in USPS's records and is not printed, then the order
// number and the client's reference, which are printed. A label with a customs
// form has room for two, and USPS prints neither of them.
func (c *draft) references(request carrier.BuyOrder, hasForm bool) []customerReference {
	list := []customerReference{{ReferenceNumber: request.Reference}}
	add := func(field, text string) {
		isListed := slices.ContainsFunc(list, func(r customerReference) bool { return r.ReferenceNumber == text })
		switch {
		case text == "" || isListed:
		case len(text) > maxReference:
			c.warnings = append(c.warnings, fmt.Sprintf("%s is not on the label: USPS prints at most %d characters of it", field, maxReference))
		default:
			list = append(list, customerReference{ReferenceNumber: text, Print: !hasForm})
		}
	}
	add("orderId", request.Order.OrderID)
	add("reference", request.Order.Reference)

	if hasForm {
		return list[:min(len(list), 2)]
	}
	if request.Shipment != "" {
		list = append(list, customerReference{ReferenceNumber: string(request.Shipment)})
	}
	return list
}

// addressOf converts an address.
func (c *draft) addressOf(fitted carrierkit.FittedAddress, home bool) address {
	out := address{
		Firm:  fitted.Company,
		City:  fitted.City,
		Phone: c.phone(fitted.Phone),
	}

	// USPS splits a person's name in two. A name of one word goes where a firm
	// would, if there is none.
	if i := strings.LastIndexByte(fitted.Name, ' '); i > 0 {
		out.FirstName = fitted.Name[:i]
		out.LastName = fitted.Name[i+1:]
	} else if out.Firm == "" {
		out.Firm = fitted.Name
	} else {
		out.FirstName = fitted.Name
	}

	if len(fitted.Lines) > 0 {
		out.StreetAddress = fitted.Lines[0]
	}
	if len(fitted.Lines) > 1 {
		out.SecondaryAddress = fitted.Lines[1]
	}

	if home {
		out.State = fitted.State
		out.ZIPCode = fitted.Zip
		return out
	}
	out.Province = fitted.State
	out.PostalCode = fitted.Zip
	out.Country = ship.CountryName(fitted.Country)
	out.CountryCode = fitted.Country
	return out
}

// phone returns the number in digits. A number that would make USPS refuse the
// label is left out, because no label needs one.
func (c *draft) phone(number string) string {
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
		c.warnings = append(c.warnings, "a phone number is omitted: the carrier accepts 6 to 15 digits")
		return ""
	}
	return digits
}

// isOurs reports whether an answer is about our parcel. USPS repeats none of
// our references, but it states where the parcel goes.
func (c *draft) isOurs(label labelMetadata) bool {
	if c.abroad {
		country := label.LabelAddress.CountryCode
		return country == "" || strings.EqualFold(country, c.to.Country)
	}
	if c.order.Options.ServicePoint != "" {
		return true // it states where the post office or the locker is
	}

	// The routing information begins as the barcode does: 420 and the ZIP code.
	// USPS does not say which address the answer about a return repeats.
	isRouted := label.RoutingInformation == "" || strings.HasPrefix(label.RoutingInformation, "420"+c.to.Zip)
	return isRouted && (c.order.IsReturn || label.LabelAddress.ZIPCode == "" || label.LabelAddress.ZIPCode == c.to.Zip)
}

// sale returns what USPS sold. It reports false for an answer that lacks the
// number, the price or an image of the requested type.
func (c *draft) sale(mailClass service, label labelMetadata, image []byte) (ship.Sale, bool) {
	number := label.TrackingNumber
	if mailClass.abroad && label.InternationalNumber != "" {
		number = label.InternationalNumber
	}
	number = ship.NormalizeTrackingNumber(number)

	format := formatPDF
	signature := beginPDF
	if c.image().ImageType == "PNG" {
		format = formatPNG
		signature = beginPNG
	}

	price, ok := label.total()
	if number == "" || !ok || !bytes.HasPrefix(image, []byte(signature)) {
		return ship.Sale{}, false
	}
	return ship.Sale{
		Service:        mailClass.code,
		ServiceName:    mailClass.name,
		CarrierRef:     number,
		TrackingNumber: number,
		Price:          price,
		DeliveryAt:     label.Commitment.deliveryAt(),
		Label:          ship.Label{Format: format, Data: image},
	}, true
}

// total returns what was charged: postage, extra services and fees. An amount
// that cannot be read makes the whole price unknown.
func (m labelMetadata) total() (ship.Money, bool) {
	price, ok := parseMoney(m.Postage)
	for _, list := range [][]charge{m.ExtraServices, m.Fees} {
		for _, charged := range list {
			if charged.Price == "" {
				continue
			}
			amount, isAmount := parseMoney(charged.Price)
			price.Minor += amount.Minor
			ok = ok && isAmount
		}
	}
	return price, ok
}

// keyOf returns the idempotency key of a reference: a UUID in the format of
// version 4, and always the same for the same reference.
func keyOf(reference string) string {
	sum := sha256.Sum256([]byte("waybill usps label\x00" + reference))
	id := sum[:16]

	// The version and variant bits of a random UUID.
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80

	text := hex.EncodeToString(id)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// Repeats says that a purchase may be sent again once the reprint does not know
// it. USPS answers the same request under the same idempotency key with the label
// that it sold, and sells at most one.
func (d *driver) Repeats(carrier.BuyOrder) carrier.Repetition { return carrier.RepeatsIfAbsent }
