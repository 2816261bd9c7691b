package usps

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const (
	formAPI  = "/scan-forms/v3"
	formPath = formAPI + "/scan-form"
)

type formRequest struct {
	ImageInfo struct {
		ImageType string `json:"imageType"`
		LabelType string `json:"labelType"`
	} `json:"imageInfo"`
	MailingDate       string `json:"mailingDate"`
	OverwritesDate    bool   `json:"overwriteMailingDate"`
	EntryZIPCode      string `json:"entryFacilityZIPCode"`
	EntryFacilityType string `json:"destinationEntryFacilityType"`
	Shipment          struct {
		TrackingNumbers []string `json:"trackingNumbers"`
	} `json:"shipment"`
	FromAddress address `json:"fromAddress"`
}

// check checks a request as the carrier does, but for the labels.
func (in formRequest) check(now time.Time) problem {
	if p := in.FromAddress.check("fromAddress", false); p.detail != "" {
		if p.code == "160051" {
			return problem{"160168", "firstName/lastName/firm", "must provide either first and last name or firm"}
		}
		return p
	}

	day, err := time.Parse(time.DateOnly, in.MailingDate)
	earliest := now.UTC().Add(-36 * time.Hour) // a date that is current in any time zone
	latest := now.UTC().Add(12*time.Hour).AddDate(0, 0, 30)
	switch {
	case err != nil || day.Before(earliest) || day.After(latest):
		return problem{"160034", "mailingDate", "cannot be in the past or more than 30 days in the future"}
	case !zip5.MatchString(in.EntryZIPCode) || in.EntryFacilityType != "NONE":
		return problem{"", "entryFacilityZIPCode", "OASValidation: the emulator takes a ZIP code and the facility type NONE"}
	case len(in.Shipment.TrackingNumbers) == 0 || len(in.Shipment.TrackingNumbers) > 40_000:
		return problem{"", "shipment", "OASValidation: the emulator takes trackingNumbers"}
	case in.ImageInfo.ImageType != "" && in.ImageInfo.ImageType != "PDF":
		return problem{"", "imageInfo.imageType", "OASValidation: the emulator draws PDF"}
	}
	return problem{}
}

// closeForm makes a SCAN form of labels, none of which is on another.
func (s *service) closeForm(w http.ResponseWriter, r *http.Request) {
	var in formRequest
	_, p := read(r, &in, "imageInfo", "form", "imageType", "labelType", "mailingDate", "overwriteMailingDate",
		"entryFacilityZIPCode", "destinationEntryFacilityType", "shipment", "fromAddress")
	if !s.isPaid(r) {
		s.Fail(w, http.StatusUnauthorized)
		return
	}
	if p.detail == "" {
		p = in.check(time.Now())
	}
	if p.detail == "" && s.RefusesDay() {
		p = problem{"160165", "barcode", "barcodes cannot be grouped together in a SCAN Form due to Manifest MID mismatch"}
	}

	var form emulator.Entry
	if p.detail == "" {
		var err error
		if form, p, err = s.addForm(in); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if p.detail != "" {
		refuse(w, formAPI, p)
		return
	}
	s.AnswerDay(w, r, in.answer(form, r.Header.Get("Accept")))
}

// addForm writes a form into the ledger, or returns why a label cannot be on it.
func (s *service) addForm(in formRequest) (emulator.Entry, problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	forms := map[string]string{} // by tracking number
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind != emulator.ManifestClosed {
			continue
		}
		count++
		for _, number := range entry.Pieces {
			forms[number] = entry.Number
		}
	}

	for _, number := range in.Shipment.TrackingNumbers {
		if p := s.checkLabel(in, number, forms[number]); p.detail != "" {
			return emulator.Entry{}, p, nil
		}
	}
	digits := fmt.Sprintf("9475%s%08d", MID, count+1)
	form, err := s.Ledger.Append(emulator.Entry{
		Kind:    emulator.ManifestClosed,
		Number:  digits + barcodeCheck(digits),
		Pieces:  slices.Clone(in.Shipment.TrackingNumbers),
		Account: CRID,
	})
	return form, problem{}, err
}

// checkLabel returns why a label cannot be on a form; it is on another one if
// that is not empty.
func (s *service) checkLabel(in formRequest, number, other string) problem {
	sold, voided, known := s.Ledger.Sold(number)
	var sale kept
	if !known || sold.Number != number || json.Unmarshal(sold.Kept, &sale) != nil {
		return problem{"160039", "barcode", "barcode [" + number + "] does not exist"}
	}

	origin := sale.Request.FromAddress.ZIPCode
	date := sale.Request.PackageDescription.MailingDate
	switch {
	case other != "":
		return problem{"160040", "scanFormEfn", "barcode [" + number + "] is already part of another SCAN Form with efn [" + other + "]"}
	case voided:
		return problem{"160397", "barcode", "barcode <" + number + "> has been canceled and is not eligible to be added to a SCAN Form"}
	case sale.IsReturn:
		return problem{"160160", "status", "barcode <" + number + "> is not eligible for SCAN Form"}
	case isManifested(sale, time.Now()):
		return problem{"160398", "barcode", "barcode<" + number + " >has manifested and is not eligible to be added to a SCAN Form"}
	case origin != in.EntryZIPCode:
		return problem{"160161", "entryFacilityZipCode", "barcode <" + number + "> with zip <" + origin + "> does not match SCAN Form request zip <" + in.EntryZIPCode + ">"}
	case date != in.MailingDate && !in.OverwritesDate:
		return problem{"160006", "mailingDate", "barcode [" + number + "] with mailing date [" + date + "] does not match SCAN Form request mailing date [" + in.MailingDate + "]"}
	}
	return problem{}
}

// isOnForm reports whether a label is on a form.
func (s *service) isOnForm(number string) bool {
	return slices.ContainsFunc(s.Ledger.Entries(), func(entry emulator.Entry) bool {
		return entry.Kind == emulator.ManifestClosed && slices.Contains(entry.Pieces, number)
	})
}

// answer returns the form: in one JSON document if the client accepts that, else
// in the parts of a multipart one.
func (in formRequest) answer(form emulator.Entry, accept string) emulator.Answer {
	metadata := map[string]any{
		"imageInfo":                    map[string]any{"imageType": "PDF", "labelType": "8.5X11LABEL"},
		"mailingDate":                  in.MailingDate,
		"overwriteMailingDate":         in.OverwritesDate,
		"entryFacilityZIPCode":         in.EntryZIPCode,
		"destinationEntryFacilityType": in.EntryFacilityType,
		"shipment":                     in.Shipment,
		"fromAddress":                  in.FromAddress,
		"manifestNumber":               form.Number,
		"trackingNumbers":              form.Pieces,
	}
	image := in.draw(form)
	if accept == vendorJSON {
		metadata["SCANFormImage"] = image
		body, _ := json.Marshal(metadata) // of strings
		return emulator.Answer{Status: http.StatusOK, ContentType: vendorJSON, Body: body}
	}

	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	add := func(header textproto.MIMEHeader, data []byte) {
		part, _ := parts.CreatePart(header) // a buffer takes everything
		_, _ = part.Write(data)
	}
	described, _ := json.Marshal(metadata) // of strings
	add(textproto.MIMEHeader{
		"Content-Type":        {"application/json"},
		"Content-Disposition": {`form-data; name="SCANFormMetaData"`},
	}, described)
	add(textproto.MIMEHeader{
		"Content-Type":        {"application/pdf"},
		"Content-Disposition": {`form-data; filename="SCANForm.pdf"; name="SCANFormImage"`},
	}, []byte(base64.StdEncoding.EncodeToString(image)))
	_ = parts.Close()
	return emulator.Answer{Status: http.StatusOK, ContentType: parts.FormDataContentType(), Body: body.Bytes()}
}

// draw returns the form as a page of letter size, with the bars of its number.
func (in formRequest) draw(form emulator.Entry) []byte {
	var page bytes.Buffer
	lines := append([]string{"PS Form 5630, SCAN Form", "Mailing date " + in.MailingDate}, in.FromAddress.lines()...)
	lines = append(lines, strconv.Itoa(len(form.Pieces))+" pieces")
	for i, line := range lines {
		line = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line)
		fmt.Fprintf(&page, "BT /F1 14 Tf 60 %d Td (%s) Tj ET\n", 720-24*i, line)
	}

	bars, modules := code128("", form.Number)
	width := 360.0 / float64(modules)
	for _, bar := range bars {
		fmt.Fprintf(&page, "%.3f 300 %.3f 100 re f\n", 60+float64(bar.at)*width, float64(bar.wide)*width)
	}
	fmt.Fprintf(&page, "BT /F1 14 Tf 60 270 Td (%s) Tj ET\n", form.Number)
	return document(612, 792, page.Bytes())
}
