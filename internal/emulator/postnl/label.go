package postnl

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The parts of a request that PostNL looks at.
type (
	labelRequest struct {
		Customer struct {
			CustomerCode, CustomerNumber string
		}
		Message struct {
			MessageID, MessageTimeStamp, Printertype string
		}
		Shipments []shipment
	}
	shipment struct {
		Addresses           []address
		Amounts             []struct{ AmountType, Currency string }
		Contacts            []struct{ ContactType, Email, TelNr string }
		Barcode             string
		Dimension           struct{ Weight, Length, Width, Height int }
		ProductCodeDelivery string
		Reference           string
	}
	address struct {
		AddressType, Name, CompanyName                string
		Street, HouseNr, HouseNrExt, StreetHouseNrExt string
		Buildingname, Zipcode, City, Countrycode      string
	}
)

// A problem is why PostNL makes no label.
type problem struct{ code, description string }

var (
	domestic   = regexp.MustCompile(`^(?:3085|3385|3189|3089|3087|3438)$`)
	abroad     = regexp.MustCompile(`^(?:4907|4944)$`)
	dutchZip   = regexp.MustCompile(`^[1-9][0-9]{3}[A-Z]{2}$`)
	fourDigits = regexp.MustCompile(`^[0-9]{4}$`)
	houseDigit = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// check returns why PostNL makes no label for the request; nil if it does.
func (s *standIn) check(in labelRequest) *problem {
	_, err := time.Parse("02-01-2006 15:04:05", in.Message.MessageTimeStamp)
	switch {
	case !isAccount(in.Customer.CustomerCode, in.Customer.CustomerNumber):
		return &problem{"1280001", "Customer code or customer number is invalid"}
	case err != nil || in.Message.MessageID == "" || in.Message.Printertype == "":
		return &problem{"1280002", "Message is invalid"}
	case len(in.Shipments) != 1:
		return &problem{"1280003", "Exactly one shipment is expected"}
	}

	sent := in.Shipments[0]
	switch {
	case !s.wasDrawn(sent.Barcode):
		return &problem{"1280004", "Barcode is not known"}
	case sent.Dimension.Weight < 1:
		return &problem{"1280005", "Weight is required"}
	case sent.Dimension.Length < sent.Dimension.Width || sent.Dimension.Width < sent.Dimension.Height:
		return &problem{"1280006", "Dimension must be given from the longest to the shortest side"}
	case len(sent.Reference) > 35:
		return &problem{"1280007", "Reference is too long"}
	}
	for _, contact := range sent.Contacts {
		if n := len(contact.TelNr); n > 0 && (n < 10 || n > 17) {
			return &problem{"1280008", "TelNr must have 10 to 17 characters"}
		}
	}
	return sent.checkProduct()
}

// checkProduct returns why the product does not take the parcel.
func (s shipment) checkProduct() *problem {
	to, hasReceiver := s.addressOf("01")
	switch {
	case !hasReceiver:
		return &problem{"1280201", "Address type Receiver is required"}
	case strings.Contains(strings.ToUpper(to.Street+to.StreetHouseNrExt), "NOWHERE"):
		return &problem{"1280202", "Incorrect address specified in address type Receiver"}
	case !domestic.MatchString(s.ProductCodeDelivery) && !abroad.MatchString(s.ProductCodeDelivery):
		return &problem{"1280301", "Product code is not part of the contract"}
	case domestic.MatchString(s.ProductCodeDelivery) != (to.Countrycode == "NL"):
		return &problem{"1280302", "Product code is not available for the country of the receiver"}
	case to.Countrycode == "NL" && !dutchZip.MatchString(to.Zipcode),
		(to.Countrycode == "BE" || to.Countrycode == "LU") && !fourDigits.MatchString(to.Zipcode):
		return &problem{"1280203", "Zipcode of the receiver is invalid"}
	case slices.Contains([]string{"NL", "BE", "LU"}, to.Countrycode) && (to.Street == "" || !houseDigit.MatchString(to.HouseNr)):
		return &problem{"1280204", "HouseNr of the receiver is required"}
	case abroad.MatchString(s.ProductCodeDelivery) && len(s.Barcode) != 13:
		return &problem{"1280304", "Barcode must have 13 characters for the product"}
	case s.ProductCodeDelivery == "3087" && len(s.Amounts) == 0:
		return &problem{"1280303", "Amount type 02 is required for the product"}
	}
	return nil
}

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
	if json.NewDecoder(r.Body).Decode(&in) != nil {
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
