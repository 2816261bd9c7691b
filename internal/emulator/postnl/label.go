package postnl

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The parts of a request that PostNL looks at. It ignores members that it does not
// know: its own WooCommerce plug-in sends "Country" in an address, which its
// reference does not have.
type (
	labelRequest struct {
		Customer struct {
			CustomerCode, CustomerNumber, CollectionLocation, Name string

			Address address
		}
		Message struct {
			MessageID, MessageTimeStamp, Printertype string
		}
		Shipments []shipment
	}
	shipment struct {
		Addresses           []address
		Amounts             []struct{ AmountType, Currency string }
		Contacts            []struct{ ContactType, Email, TelNr, SMSNr string }
		Barcode             string
		CustomerOrderNumber string
		DeliveryDate        string
		Dimension           struct{ Weight, Length, Width, Height int }
		ProductCodeDelivery string
		ProductOptions      []struct{ Characteristic, Option string }
		Reference           string
	}
	address struct {
		AddressType, Name, CompanyName                   string
		Street, HouseNr, HouseNrExt, StreetHouseNrExt    string
		Buildingname, Zipcode, City, Region, Countrycode string
	}
)

func (s shipment) addressOf(kind string) (address, bool) {
	for _, a := range s.Addresses {
		if a.AddressType == kind {
			return a, true
		}
	}
	return address{}, false
}

// makeLabel makes the label of a barcode. With confirm it also announces the
// parcel, which happens once for a barcode.
func (s *standIn) makeLabel(w http.ResponseWriter, r *http.Request) {
	var in labelRequest
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || !emulator.HasExactNames(body, labelRequest{}) || json.Unmarshal(body, &in) != nil {
		s.Fail(w, http.StatusBadRequest)
		return
	}
	bad := s.check(in)
	if s.Refuses() {
		bad = &problem{"1280999", "The shipment was declined"}
	}
	if bad != nil {
		reply(w, http.StatusBadRequest, object{"Errors": []object{{
			"Error":       "Validation failed for shipment",
			"Code":        bad.code,
			"Description": bad.description,
		}}})
		return
	}

	sent := in.Shipments[0]
	answer := func(emulator.Entry) (int, string, []byte) {
		return http.StatusOK, "application/json", encode(labelBody(in, sent))
	}
	_, _, isAnnounced := s.Ledger.Sold(sent.Barcode)
	if isAnnounced || r.URL.Query().Get("confirm") == "false" {
		_, kind, body := answer(emulator.Entry{})
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
		return
	}
	s.Sell(w, r, emulator.Entry{
		Number:    sent.Barcode,
		Reference: sent.Reference,
		Account:   in.Customer.CustomerNumber,
		Service:   sent.ProductCodeDelivery,
	}, answer)
}

func labelBody(in labelRequest, sent shipment) object {
	label := object{"Labeltype": "Label", "OutputType": "PDF", "Content": pdfOf(sent)}
	if strings.HasPrefix(in.Message.Printertype, "Zebra|") {
		label = object{"Labeltype": "Label", "OutputType": "ZPL", "Content": []byte(zplOf(sent))}
	}
	return object{
		"MergedLabels": []object{},
		"ResponseShipments": []object{{
			"Barcode":             sent.Barcode,
			"ProductCodeDelivery": sent.ProductCodeDelivery,
			"Errors":              []object{},
			"Warnings":            []object{},
			"Labels":              []object{label},
		}},
	}
}

// lines returns what stands on the label.
func (s shipment) lines() []string {
	to, _ := s.addressOf("01")
	street := strings.TrimSpace(to.StreetHouseNrExt + " " + to.Street + " " + to.HouseNr + " " + to.HouseNrExt)
	return []string{to.Name, to.CompanyName, to.Buildingname, street, to.Zipcode + " " + to.City, to.Countrycode}
}

// pdfOf draws the label, A6.
func pdfOf(s shipment) []byte {
	page := emulator.Page{Wide: 298, High: 420}
	page.Text(16, 392, 16, "POSTNL  %s", s.ProductCodeDelivery)
	page.Text(16, 376, 8, "NOT A REAL LABEL")
	page.Bars(16, 290, 64, s.Barcode)
	page.Text(16, 276, 10, "%s", s.Barcode)
	y := 246
	for _, line := range s.lines() {
		if line != "" {
			page.Text(16, y, 10, "%s", line)
			y -= 14
		}
	}
	page.Text(16, 60, 8, "%d g   Ref %s", s.Dimension.Weight, s.Reference)
	return emulator.PDF(page)
}

// zplOf is the label for a Zebra printer.
func zplOf(s shipment) string {
	var out strings.Builder
	fmt.Fprintf(&out, "^XA\n^FO40,40^A0N,40,40^FDPOSTNL %s NOT A REAL LABEL^FS\n^FO40,120^BCN,120,Y,N,N^FD%s^FS\n", s.ProductCodeDelivery, s.Barcode)
	for i, line := range s.lines() {
		fmt.Fprintf(&out, "^FO40,%d^A0N,28,28^FD%s^FS\n", 320+40*i, strings.Map(printable, line))
	}
	out.WriteString("^XZ\n")
	return out.String()
}

func printable(r rune) rune {
	if r < ' ' || r > '~' || r == '^' {
		return '?'
	}
	return r
}
