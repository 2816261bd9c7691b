package dhlparcelde

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

// Receiver is the receiver of returns that the emulator knows.
const Receiver = "deu"

// returnProduct marks a return in the ledger: it is neither shown nor deleted, and
// tracking does not find it by its reference.
const returnProduct = "RETOURE"

// returned is a parcel that a customer sends back (parcel-de-returns 1.0.9,
// ReturnOrder).
type returned struct {
	Receiver          string `json:"receiverId"`
	CustomerReference string `json:"customerReference"`
	ShipmentReference string `json:"shipmentReference"`
	Software          string `json:"creationSoftware"`
	Shipper           struct {
		Name1      string `json:"name1"`
		Name2      string `json:"name2"`
		Name3      string `json:"name3"`
		Street     string `json:"addressStreet"`
		House      string `json:"addressHouse"`
		City       string `json:"city"`
		Email      string `json:"email"`
		Phone      string `json:"phone"`
		PostalCode string `json:"postalCode"`
		State      string `json:"state"`
	} `json:"shipper"`
	Weight *struct {
		UOM   string  `json:"uom"`
		Value float64 `json:"value"`
	} `json:"itemWeight"`
	Value    *value `json:"itemValue"`
	Services struct {
		GoGreenPlus bool `json:"goGreenPlus"`
	} `json:"services"`
}

// returnMembers are those of a return. DHL does not say that it ignores others, so
// they are refused.
var returnMembers = map[string][]string{
	"":         strings.Fields("receiverId customerReference shipmentReference creationSoftware shipper itemWeight itemValue customsDetails services"),
	"shipper":  strings.Fields("name1 name2 name3 addressStreet addressHouse city email phone postalCode state country"),
	"services": strings.Fields("goGreenPlus"),
}

// orderReturn answers POST /orders of the returns API.
func (s standIn) orderReturn(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var in returned
	if err != nil || json.Unmarshal(body, &in) != nil {
		refuseReturn(w, http.StatusBadRequest, "The request could not be understood by the server due to malformed syntax.")
		return
	}
	if name := unknownMember(body); name != "" {
		refuseReturn(w, http.StatusBadRequest, "The member "+name+" is unknown.")
		return
	}
	labelType := r.URL.Query().Get("labelType")
	if r.URL.Query().Has("labelType") && !slices.Contains([]string{"SHIPMENT_LABEL", "QR_LABEL", "BOTH"}, labelType) {
		refuseReturn(w, http.StatusBadRequest, "labelType must be SHIPMENT_LABEL, QR_LABEL or BOTH.")
		return
	}
	if problem := in.check(); problem != "" {
		refuseReturn(w, http.StatusUnprocessableEntity, problem)
		return
	}
	if s.Refuses() {
		refuseReturn(w, http.StatusUnprocessableEntity, "The emulator refuses this return.")
		return
	}

	kept := shipment{Product: returnProduct, RefNo: in.ShipmentReference, CostCenter: in.CustomerReference}
	kept.Shipper = party{
		Name1: in.Shipper.Name1, Name2: in.Shipper.Name2, Name3: in.Shipper.Name3,
		Street: in.Shipper.Street, House: in.Shipper.House, PostalCode: in.Shipper.PostalCode, City: in.Shipper.City, Country: "DEU",
	}
	kept.Consignee = party{Name1: "Emulated receiver " + in.Receiver, Street: "Sträßchensweg", House: "10", PostalCode: "53113", City: "Bonn", Country: "DEU"}
	if in.Weight != nil {
		kept.Details.Weight = *in.Weight
	}
	sale := emulator.Entry{
		Number:    returnNumber(s.Ledger.Next()),
		Reference: in.ShipmentReference,
		Second:    in.CustomerReference,
		Account:   in.Receiver,
		Service:   returnProduct,
		Kept:      encode(kept),
	}
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		answer := map[string]any{
			"sstatus":     map[string]any{"title": "Created", "status": http.StatusCreated, "detail": "Created"},
			"shipmentNo":  sold.Number,
			"label":       map[string]any{"b64": emulator.PDF(kept.labelPage(sold))},
			"routingCode": "40327653113+99000933090010",
		}
		if labelType != "SHIPMENT_LABEL" {
			answer["qrLabel"] = map[string]any{"b64": qrPicture}
			answer["qrLink"] = "https://www.dhl.de/de/app.html"
		}
		return http.StatusCreated, "application/json", encode(answer)
	})
}

// unknownMember returns the first member that DHL's schema does not have, in its
// spelling; "" if there is none.
func unknownMember(body []byte) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(body, &root) != nil {
		return "body"
	}
	for name, inner := range root {
		if !slices.Contains(returnMembers[""], name) {
			return name
		}
		known, ok := returnMembers[name]
		var members map[string]json.RawMessage
		if !ok || json.Unmarshal(inner, &members) != nil {
			continue
		}
		for member := range members {
			if !slices.Contains(known, member) {
				return name + "." + member
			}
		}
	}
	return ""
}

var returnEmail = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)

// check returns what DHL's schema does not allow; "" if nothing.
func (in returned) check() string {
	shipper := in.Shipper
	for _, field := range []struct {
		name, value string
		least, most int
	}{
		{"receiverId", in.Receiver, 1, 50},
		{"customerReference", in.CustomerReference, 0, 50},
		{"shipmentReference", in.ShipmentReference, 0, 50},
		{"creationSoftware", in.Software, 0, 35},
		{"shipper.name1", shipper.Name1, 1, 50},
		{"shipper.name2", shipper.Name2, 0, 50},
		{"shipper.name3", shipper.Name3, 0, 50},
		{"shipper.addressStreet", shipper.Street, 1, 50},
		{"shipper.addressHouse", shipper.House, 1, 10},
		{"shipper.city", shipper.City, 1, 40},
		{"shipper.email", shipper.Email, 0, 70},
		{"shipper.phone", shipper.Phone, 0, 20},
		{"shipper.state", shipper.State, 0, 20},
	} {
		if n := utf8.RuneCountInString(field.value); n < field.least || n > field.most {
			return fmt.Sprintf("%s must have %d to %d characters.", field.name, field.least, field.most)
		}
	}

	switch {
	case in.Receiver != Receiver:
		return "The receiver id is unknown."
	case !postalCode.MatchString(shipper.PostalCode): // the receiver is for returns from Germany
		return "shipper.postalCode is not valid."
	case shipper.Email != "" && !returnEmail.MatchString(shipper.Email):
		return "shipper.email is not valid."
	case in.Value != nil && (in.Value.Value == nil || !slices.Contains([]string{"EUR", "GBP", "CHF"}, in.Value.Currency)):
		return "itemValue must be in EUR, GBP or CHF."
	}
	if weight := in.Weight; weight != nil {
		grams := weight.Value
		if weight.UOM == "kg" {
			grams *= 1000
		}
		isWhole := math.Abs(weight.Value*1000-math.Round(weight.Value*1000)) < 1e-6
		if weight.UOM != "g" && weight.UOM != "kg" || weight.Value < 0.001 || grams > 31_500 || !isWhole {
			return "itemWeight must be 0.001 to 31500, in g or kg."
		}
	}
	return ""
}

// refuseReturn answers with the status alone, as the returns API does.
func refuseReturn(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(code)
	_, _ = w.Write(encode(map[string]any{"title": http.StatusText(code), "status": code, "detail": detail}))
}

// returnNumber returns an identcode: 12 digits, of which the last checks the others
// by the weights 4 and 9.
func returnNumber(serial int) string {
	digits := fmt.Sprintf("9999%07d", serial)
	sum := 0
	for i, digit := range digits {
		weight := 4
		if i%2 == 1 {
			weight = 9
		}
		sum += int(digit-'0') * weight
	}
	return fmt.Sprintf("%s%d", digits, (10-sum%10)%10)
}

// qrPicture is a picture of one dot: the emulator draws no codes.
var qrPicture = func() []byte {
	picture, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
	if err != nil {
		panic(err)
	}
	return picture
}()
