package usps

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	scanFormPath  = "/scan-forms/v3/scan-form"
	scanFormScope = "scan-forms"
	scanFormType  = "scan_form" // of the document
)

// maxFormLabels is how many labels a form holds.
const maxFormLabels = 40_000

// maxLeftOut is how many labels are left out of a form one after the other. USPS
// names one at a time, and each is another of the calls that an account has.
const maxLeftOut = 5

// codeOnForm is the code of a label that is on another form.
const codeOnForm = "160040"

// leftOut are the codes of labels that USPS does not take on a form while it
// takes the others, and why.
var leftOut = map[string]string{
	"160039": "USPS does not know the label.",
	"160160": "USPS does not take the label on a SCAN form.",
	"160161": "The label was bought for another ZIP code of the sender.",
	"160162": "The label was bought for another kind of facility.",
	"160163": "The label is printed at a post office.",
	"160164": "The label is printed and delivered by USPS.",
	"160166": "The parcel goes to a parcel locker.",
	"160397": "The label was cancelled.",
	"160398": "USPS has the data of the label already, so it needs no SCAN form.",
}

type scanFormRequest struct {
	ImageInfo            imageInfo    `json:"imageInfo"`
	MailingDate          string       `json:"mailingDate"`
	OverwriteMailingDate bool         `json:"overwriteMailingDate"`
	EntryZIPCode         string       `json:"entryFacilityZIPCode"`
	EntryFacilityType    string       `json:"destinationEntryFacilityType"`
	Shipment             scanShipment `json:"shipment"`
	FromAddress          address      `json:"fromAddress"`
}

type scanShipment struct {
	TrackingNumbers []string `json:"trackingNumbers"`
}

type scanFormAnswer struct {
	ManifestNumber  text   `json:"manifestNumber"`
	TrackingNumbers []text `json:"trackingNumbers"` // that are on the form
	Image           []byte `json:"SCANFormImage"`
}

// CloseManifest makes a SCAN form. USPS refuses a form for one label that it does
// not take, and makes none: the form is asked for again without that label.
func (d *driver) CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	request, err := scanFormOf(order, time.Now())
	if err != nil {
		return ship.ManifestClosing{}, err
	}

	labels := slices.Clone(order.Labels)
	var excluded []ship.ManifestExclusion
	for {
		request.Shipment.TrackingNumbers = numbersOf(labels)
		closing, err := d.closeForm(ctx, request, labels)
		refused := refusedLabel(err, labels)
		if refused < 0 || len(labels) == 1 || len(excluded) == maxLeftOut {
			closing.Excluded = append(excluded, closing.Excluded...)
			return closing, err
		}

		excluded = append(excluded, ship.ManifestExclusion{
			Shipment: labels[refused].Shipment,
			Reason:   leftOut[ship.ErrorOf(err).Refusal.Code],
		})
		labels = slices.Delete(labels, refused, refused+1)
	}
}

// scanFormOf writes the form, except for its labels.
func scanFormOf(order ship.ManifestOrder, now time.Time) (scanFormRequest, error) {
	if isAbroad(order.Address) {
		return scanFormRequest{}, ship.Errorf(ship.Unsupported,
			"USPS takes parcels only in the United States and its territories")
	}

	place := draft{order: ship.Order{Origin: order.Address}}
	invalid := place.fit(order.Address, "/address", &place.from)
	if n := len(numbersOf(order.Labels)); n == 0 || n > maxFormLabels {
		invalid = append(invalid, ship.FieldError{Pointer: "/labels", Code: "invalid", Detail: "must be 1 to 40000 labels for USPS"})
	}
	if err := carrierkit.InvalidOrder("USPS", invalid); err != nil {
		return scanFormRequest{}, err
	}

	// A form is asked for again after an answer was lost. By then it may be the
	// next day at its place, and USPS would refuse the date instead of naming
	// the form that it has.
	today := ship.Date(now.In(place.fromPlace().ClosestZone()).Format(time.DateOnly))
	from := place.addressOf(place.from, true)
	from.Phone = ""
	return scanFormRequest{
		ImageInfo:            imageInfo{ImageType: "PDF", LabelType: "8.5X11LABEL"},
		MailingDate:          string(max(order.ShipDate, today)),
		OverwriteMailingDate: true,
		EntryZIPCode:         place.from.Zip,
		EntryFacilityType:    "NONE",
		FromAddress:          from,
	}, nil
}

func numbersOf(labels []ship.ManifestLabel) []string {
	var list []string
	for _, label := range labels {
		list = append(list, label.Numbers...)
	}
	return list
}

// closeForm asks for a form of the labels, once.
func (d *driver) closeForm(ctx context.Context, request scanFormRequest, labels []ship.ManifestLabel) (ship.ManifestClosing, error) {
	var answer scanFormAnswer
	err := d.callPaid(ctx, scanFormScope, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + scanFormPath,
		Body:   request,
		Effect: true,
		Header: http.Header{"Accept": {labelJSON}},
	}, &answer)
	if form := existingForm(err); form != "" {
		return ship.ManifestClosing{Number: form, Existed: true}, nil
	}
	if err != nil {
		return ship.ManifestClosing{}, explainForm(err)
	}

	// The labels are handed over by now, so an answer that is about others is
	// uncertain and not a refusal.
	excluded := answer.excluded(labels)
	if len(excluded) == len(labels) {
		return ship.ManifestClosing{}, ship.Errorf(ship.Uncertain, "the carrier returned a form for other labels")
	}
	closing := ship.ManifestClosing{
		Number:   string(answer.ManifestNumber),
		Excluded: excluded,
	}
	if bytes.HasPrefix(answer.Image, []byte(beginPDF)) {
		closing.Documents = []ship.Document{{Type: scanFormType, Format: formatPDF, Data: answer.Image}}
	}
	return closing, nil
}

// excluded returns the labels that are not on the form. An answer that does not
// list labels has them all.
func (a scanFormAnswer) excluded(labels []ship.ManifestLabel) []ship.ManifestExclusion {
	if len(a.TrackingNumbers) == 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, number := range a.TrackingNumbers {
		taken[withoutRouting(string(number))] = true
	}

	var list []ship.ManifestExclusion
	for _, label := range labels {
		isTaken := slices.ContainsFunc(label.Numbers, func(number string) bool { return taken[withoutRouting(number)] })
		if !isTaken {
			list = append(list, ship.ManifestExclusion{Shipment: label.Shipment, Reason: "USPS left the label out of the form."})
		}
	}
	return list
}

// USPS writes "barcode [9400...]" and "barcode<9400... >", and "efn [9475...]".
var (
	namedBarcode = regexp.MustCompile(`(?i)barcode\s?[\[<]?\s?([0-9A-Z]{10,34})\b`)
	namedForm    = regexp.MustCompile(`(?i)\befn\s?[\[<]?\s?([0-9A-Z]{6,40})\b`)
)

// existingForm returns the number of the form that has one of the labels already,
// if that is why USPS declined.
func existingForm(err error) string {
	if !isRefusedWith(err, codeOnForm) {
		return ""
	}
	if found := namedForm.FindStringSubmatch(ship.ErrorOf(err).Refusal.Message); found != nil {
		return found[1]
	}
	return ""
}

// refusedLabel returns which label a refusal is about, -1 if it is about none of
// them or about all.
func refusedLabel(err error, labels []ship.ManifestLabel) int {
	refusal := ship.ErrorOf(err).Refusal
	found := namedBarcode.FindStringSubmatch(refusal.Message)
	if leftOut[refusal.Code] == "" || found == nil || ship.KindOf(err) != ship.Invalid {
		return -1
	}

	named := withoutRouting(found[1])
	return slices.IndexFunc(labels, func(label ship.ManifestLabel) bool {
		return slices.ContainsFunc(label.Numbers, func(number string) bool { return withoutRouting(number) == named })
	})
}

// explainForm gives a refusal USPS's own words, which name the label, and points
// into a manifest instead of an order.
func explainForm(err error) error {
	explained := *ship.ErrorOf(err)
	if explained.Kind != ship.Invalid {
		return err
	}
	explained.Fields = slices.Clone(explained.Fields)
	for i, field := range explained.Fields {
		if rest, ok := strings.CutPrefix(field.Pointer, "/origin"); ok {
			explained.Fields[i].Pointer = "/address" + rest
		}
	}
	if words := explained.Refusal.Message; words != "" {
		explained.Message = "USPS answered: " + strings.TrimSuffix(words, ".")
	}
	return &explained
}
