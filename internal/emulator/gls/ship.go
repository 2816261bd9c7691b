package gls

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// request is the part of a purchase that the emulator reads.
type request struct {
	Shipment shipment `json:"Shipment"`
	Printing printing `json:"PrintingOptions"`
}

type printing struct {
	Labels struct {
		Template string `json:"TemplateSet"`
		Format   string `json:"LabelFormat"`
	} `json:"ReturnLabels"`
}

type shipment struct {
	References   []string `json:"ShipmentReference"`
	ShippingDate string   `json:"ShippingDate"`
	Incoterm     string   `json:"IncotermCode"`
	Middleware   string   `json:"Middleware"`
	Product      string   `json:"Product"`
	Consignee    struct {
		Category string  `json:"Category"`
		Address  address `json:"Address"`
	} `json:"Consignee"`
	Shipper struct {
		ContactID string  `json:"ContactID"`
		Printed   address `json:"AlternativeShipperAddress"`
	} `json:"Shipper"`
	Units []struct {
		References []string `json:"ShipmentUnitReference"`
		Weight     float64  `json:"Weight"`
		Note       string   `json:"Note1"`
		Services   []struct {
			Cash      *money `json:"Cash"`
			Liability *money `json:"AddonLiability"`
		} `json:"Service"`
	} `json:"ShipmentUnit"`
	Services []shipmentService `json:"Service"`
}

type shipmentService struct {
	Plain *struct {
		Name string `json:"ServiceName"`
	} `json:"Service"`
	Shop *struct {
		Name string `json:"ServiceName"`
		ID   string `json:"ParcelShopID"`
	} `json:"ShopDelivery"`
	Return *struct {
		Labels int `json:"NumberOfLabels"`
	} `json:"ShopReturn"`
}

type money struct {
	Currency string `json:"Currency"`
}

type address struct {
	Name1       string `json:"Name1"`
	Name2       string `json:"Name2,omitempty"`
	Name3       string `json:"Name3,omitempty"`
	CountryCode string `json:"CountryCode"`
	ZIPCode     string `json:"ZIPCode,omitempty"`
	City        string `json:"City"`
	Street      string `json:"Street"`
	Email       string `json:"eMail,omitempty"`
}

// kept is the part of a sale that a reprint and tracking need.
type kept struct {
	Shipment shipment `json:"shipment"`
	IDs      []string `json:"ids"`
	Numbers  []string `json:"numbers"`
}

var (
	products     = []string{"PARCEL", "EXPRESS"}
	serviceNames = strings.Fields("service_flexdelivery service_addresseeonly service_signature service_guaranteed24 " +
		"service_0800 service_0900 service_1000 service_1200 service_saturday_1000 service_saturday_1200")

	// timeOfDay are the services that exist for express parcels only.
	timeOfDay = regexp.MustCompile(`^service_(saturday_)?[0-9]{4}$`)

	// incoterms are GLS's codes of who pays at a border.
	incoterms = strings.Fields("10 11 12 18 20 21 25 30 33 40 41 50 91")
)

const (
	flexDelivery = "service_flexdelivery"

	// flexible is the account whose contract includes FlexDelivery.
	flexible = "flexdelivery"
)

// create answers POST /rs/shipments.
func (s standIn) create(w http.ResponseWriter, r *http.Request) {
	var in request
	if !read(w, r, "Create", &in) {
		return
	}
	if code, message := in.check(time.Now(), s.Faults().Account == flexible); code != "" {
		refuse(w, http.StatusBadRequest, code, message)
		return
	}
	if s.Refuses() {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	k := kept{Shipment: in.Shipment}
	for range in.Shipment.Units {
		serial := s.Ledger.Next()
		k.IDs = append(k.IDs, trackID(serial))
		k.Numbers = append(k.Numbers, parcelNumber(serial))
	}
	sale := emulator.Entry{
		Number:    k.Numbers[0],
		ID:        k.IDs[0],
		Reference: in.Shipment.References[0],
		Second:    in.Shipment.Units[0].Note,
		Account:   in.Shipment.Shipper.ContactID,
		Service:   in.Shipment.Product,
		Kept:      encode(k),
	}
	if len(k.Numbers) > 1 {
		sale.Pieces = append(slices.Clone(k.Numbers), k.IDs...)
	}
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		return http.StatusOK, mediaType, encode(k.created(sold, in.Printing))
	})
}

// check returns GLS's rule that a shipment breaks.
func (in request) check(now time.Time, isFlexible bool) (code, message string) {
	s := in.Shipment
	to := s.Consignee.Address
	switch {
	case s.Shipper.ContactID != ContactID:
		return "CONTACT_ID_UNKNOWN", "The ContactID is unknown"
	case strings.TrimSpace(s.Middleware) == "":
		return "COMMON_MIDDLEWARE", "The Middleware is missing"
	case len(s.References) == 0 || len(s.References[0]) > 40:
		return "COMMON_REFERENCE", "The ShipmentReference is missing or too long"
	case s.ShippingDate < now.In(germany).Format(time.DateOnly):
		return "COMMON_SHIPPINGDATE", "The ShippingDate is in the past"
	case to.Name1 == "" || to.Street == "" || to.City == "" || len(to.CountryCode) != 2:
		return "COMMON_ADDRESS", "The address is not complete"
	case s.leavesCountry() && s.Incoterm == "":
		return "COMMON_INCOTERM", "The IncotermCode is missing"
	case s.Incoterm != "" && !slices.Contains(incoterms, s.Incoterm):
		return "COMMON_INCOTERM", "The IncotermCode is unknown"
	case to.CountryCode == "DE" && (len(to.ZIPCode) != 5 || to.ZIPCode == "00000"):
		return "COMMON_EXISTS_ZIPCODE", "Die Postleitzahl ist ungültig"
	case len(s.Units) == 0:
		return "COMMON_UNITS", "There are no parcels"
	}

	for _, unit := range s.Units {
		if unit.Weight > 40 {
			return "COMMON_WEIGHT", "The weight of a parcel is not valid"
		}
		for _, service := range unit.Services {
			for _, amount := range []*money{service.Cash, service.Liability} {
				if amount != nil && amount.Currency != "EUR" {
					return "COMMON_CURRENCY", "The currency is not allowed"
				}
			}
		}
	}
	return s.checkServices(isFlexible)
}

// checkServices returns the rule that the services of a shipment break.
func (s shipment) checkServices(isFlexible bool) (code, message string) {
	has := func(name string) bool {
		return slices.ContainsFunc(s.Services, func(one shipmentService) bool { return one.Plain != nil && one.Plain.Name == name })
	}
	for _, service := range s.Services {
		switch plain := service.Plain; {
		case plain != nil && !slices.Contains(serviceNames, plain.Name):
			return "COMMON_SERVICE", "The service is not allowed"
		case plain != nil && plain.Name == flexDelivery && !isFlexible:
			return "COMMON_SERVICE", "The service " + flexDelivery + " is not available for the shipper"
		case plain != nil && s.Product != "EXPRESS" && timeOfDay.MatchString(plain.Name):
			return "COMMON_SERVICE", "The service is not allowed for the product"
		case service.Shop != nil && !strings.HasPrefix(service.Shop.ID, "276"):
			return "COMMON_PARCELSHOP", "The ParcelShopID is unknown"
		case service.Shop != nil && s.Consignee.Address.Email == "":
			return "CONSIGNEE_ADDRESS_EMAIL_MANDATORY", "The eMail of the consignee is mandatory"
		case service.Return != nil && (service.Return.Labels != 1 || len(s.Units) != 1):
			return "COMMON_SERVICE", "The NumberOfLabels is not valid"
		}
	}
	if has(flexDelivery) && has("service_signature") {
		return "COMMON_SERVICE", "The services cannot be combined"
	}
	return "", ""
}

// leavesCountry reports whether a parcel is for another country than that of the
// sender, who is in Germany unless the shipment says otherwise.
func (s shipment) leavesCountry() bool {
	return s.Consignee.Address.CountryCode != cmp.Or(s.Shipper.Printed.CountryCode, "DE")
}

// created returns a shipment with its labels, one document for all parcels.
func (k kept) created(sale emulator.Entry, asked printing) map[string]any {
	var parcels []any
	for i, id := range k.IDs {
		parcels = append(parcels, map[string]any{
			"TrackID":               id,
			"ParcelNumber":          k.Numbers[i],
			"ShipmentUnitReference": k.Shipment.Units[i].References,
			"Barcodes":              map[string]any{"Primary1D": k.Numbers[i]},
			"RoutingInfo": map[string]any{
				"Tour": "1234", "InboundSortingFlag": "0", "FinalLocationCode": "DE230", "HubLocation": "D01",
				"LastRoutingDate": sale.At.Format(time.RFC3339),
			},
		})
	}
	return map[string]any{"CreatedShipment": map[string]any{
		"ShipmentReference": []string{sale.Reference},
		"CustomerID":        "2760000000",
		"PickupLocation":    "DE 230",
		"ParcelData":        parcels,
		"PrintData":         []any{k.labels(sale, asked)},
	}}
}

func keptOf(sale emulator.Entry) (k kept) {
	if err := json.Unmarshal(sale.Kept, &k); err != nil {
		panic(err) // this package wrote the ledger entry
	}
	return k
}

// germany is where GLS's days are counted.
var germany = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return time.FixedZone("CET", 3600)
	}
	return zone
}()

// reprint answers POST /rs/shipments/reprintparcel: by our reference, or by one of
// GLS's numbers, among the parcels of a day.
func (s standIn) reprint(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reference string   `json:"ShipmentReference"`
		TrackID   string   `json:"TrackID"`
		Number    string   `json:"ParcelNumber"`
		Created   string   `json:"CreationDate"`
		Printing  printing `json:"PrintingOptions"`
	}
	if !read(w, r, "Reprint", &in) {
		return
	}

	var found []emulator.Entry
	if in.Reference != "" {
		found = s.Find(in.Reference)
	} else if sale, voided, ok := s.Ledger.Sold(in.TrackID + in.Number); ok && !voided {
		found = []emulator.Entry{sale}
	}
	found = slices.DeleteFunc(found, func(sale emulator.Entry) bool {
		return sale.At.In(germany).Format(time.DateOnly) != in.Created
	})
	if len(found) == 0 {
		refuse(w, http.StatusNotFound, "NO_DATA_FOUND", "No data found for the given reference")
		return
	}
	reply(w, mediaType, keptOf(found[0]).created(found[0], in.Printing))
}

// list answers POST /rs/tracking/parcels: the parcels of some days under a
// reference, also those that were cancelled.
func (s standIn) list(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reference string `json:"ShipmentReference"`
		From      string `json:"DateFrom"`
		To        string `json:"DateTo"`
	}
	if !read(w, r, "List", &in) {
		return
	}

	sales := s.Find(in.Reference)
	for _, entry := range s.Ledger.Entries() {
		if _, voided, _ := s.Ledger.Sold(entry.Number); voided && entry.Kind == "sold" && entry.Reference == in.Reference {
			sales = append(sales, entry)
		}
	}
	items := []any{}
	for _, sale := range sales {
		day := sale.At.In(germany).Format(time.DateOnly)
		if day < in.From || day > in.To {
			continue
		}
		k := keptOf(sale)
		for i, id := range k.IDs {
			status := "PREADVICE"
			if s.Ledger.VoidedPieces()[id] {
				status = "CANCELED"
			}
			items = append(items, map[string]any{
				"TrackID":           id,
				"ParcelNumber":      k.Numbers[i],
				"ShipmentReference": []string{sale.Reference},
				"InitialDate":       sale.At.Format(time.RFC3339),
				"Status":            status,
			})
		}
	}
	reply(w, mediaType, map[string]any{"UnitItems": items})
}

// cancel answers POST /rs/shipments/cancel/{id}, with 200 whatever happens.
func (s standIn) cancel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	sale, _, ok := s.Ledger.Sold(id)
	var ids []string
	if ok {
		ids = keptOf(sale).IDs
	}
	if ok && !s.Ledger.VoidedPieces()[id] && s.wasScanned(sale) {
		reply(w, mediaType, map[string]any{"TrackID": id, "Result": "SCANNED"})
		return
	}
	s.TakeBackPiece(w, r, id, ids, func(again, known bool) (int, string, []byte) {
		result := "CANCELLED"
		if !known || again {
			result = "ERROR"
		}
		return http.StatusOK, mediaType, encode(map[string]any{"TrackID": id, "Result": result})
	})
}

// allowedServices answers POST /rs/shipments/allowedservices.
func (s standIn) allowedServices(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ContactID string `json:"ContactID"`
	}
	if !read(w, r, "AllowedServices", &in) {
		return
	}
	if in.ContactID != ContactID {
		refuse(w, http.StatusBadRequest, "CONTACT_ID_UNKNOWN", "The ContactID is unknown")
		return
	}

	var list []any
	for _, product := range products {
		list = append(list, map[string]any{"ProductName": product})
	}
	for _, name := range serviceNames {
		if name == flexDelivery && s.Faults().Account != flexible {
			continue
		}
		list = append(list, map[string]any{"ServiceName": name})
	}
	reply(w, mediaType, map[string]any{"AllowedServices": list})
}

// parcelNumber returns a number of 11 digits and their check digit: weights 3 and
// 1 in turn, and one more.
func parcelNumber(serial int) string {
	digits := fmt.Sprintf("1234%07d", serial)
	sum := 1
	for i, digit := range digits {
		sum += int(digit-'0') * (3 - 2*(i%2))
	}
	return fmt.Sprintf("%s%d", digits, (10-sum%10)%10)
}

// trackID returns eight letters and digits.
func trackID(serial int) string {
	const alphabet = "0123456789ABCDEFGHJKLMNPQRSTVWXY"
	id := []byte("ZK000000")
	for i := len(id) - 1; serial > 0 && i > 1; i-- {
		id[i] = alphabet[serial%len(alphabet)]
		serial /= len(alphabet)
	}
	return string(id)
}
