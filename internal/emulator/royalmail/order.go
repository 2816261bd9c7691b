package royalmail

import (
	_ "embed"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The parts of an order that Click & Drop looks at.
type (
	orders struct {
		Items []order `json:"items"`
	}
	order struct {
		OrderReference string    `json:"orderReference"`
		IsBusiness     *bool     `json:"isRecipientABusiness"`
		Recipient      recipient `json:"recipient"`
		Packages       []parcel  `json:"packages"`
		OrderDate      string    `json:"orderDate"`
		Subtotal       *float64  `json:"subtotal"`
		Shipping       *float64  `json:"shippingCostCharged"`
		Total          *float64  `json:"total"`
		Postage        struct {
			ServiceCode string `json:"serviceCode"`
			Register    string `json:"serviceRegisterCode"`
			NotifyTo    string `json:"sendNotificationsTo"`
			ByEmail     bool   `json:"receiveEmailNotification"`
			BySMS       bool   `json:"receiveSmsNotification"`
		} `json:"postageDetails"`
		Tags []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"tags"`
		Label struct {
			IncludeLabel bool `json:"includeLabelInResponse"`
			IncludeCN    bool `json:"includeCN"`
		} `json:"label"`
	}
	recipient struct {
		Address struct {
			FullName, CompanyName                    string
			AddressLine1, AddressLine2, AddressLine3 string
			City, Postcode, CountryCode              string
		} `json:"address"`
		Phone string `json:"phoneNumber"`
		Email string `json:"emailAddress"`
	}
	parcel struct {
		WeightInGrams int    `json:"weightInGrams"`
		Format        string `json:"packageFormatIdentifier"`
		Contents      []struct {
			Name         string   `json:"name"`
			Quantity     int      `json:"quantity"`
			UnitValue    *float64 `json:"unitValue"`
			UnitWeight   *int     `json:"unitWeightInGrams"`
			CustomsCode  string   `json:"customsCode"`
			Description  string   `json:"customsDescription"`
			Declared     string   `json:"customsDeclarationCategory"`
			OriginNation string   `json:"originCountryCode"`
		} `json:"contents"`
	}
)

// A problem is why an order fails.
type problem struct {
	code           int
	message, field string
}

// register is the only one of the account's services: a service that an account has
// once needs none.
const register = "01"

//go:embed services.tsv
var serviceText string

// A sold service is one of the account's.
type soldService struct {
	where     string // "inland", "abroad" or "return"
	isTracked bool
}

// services are those of the account, by Click & Drop's codes.
var services = func() map[string]soldService {
	list := map[string]soldService{}
	for line := range strings.Lines(serviceText) {
		if columns := strings.Fields(line); !strings.HasPrefix(line, "#") {
			list[columns[0]] = soldService{columns[1], columns[2] == "tracked"}
		}
	}
	return list
}()

var (
	formats = []string{"undefined", "letter", "largeLetter", "smallParcel", "mediumParcel", "largeParcel", "parcel", "documents"}

	postcode = regexp.MustCompile(`^[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}$`)
)

// check returns why Click & Drop does not create the order; nil if it does.
func (o *order) check() *problem {
	to := o.Recipient.Address
	_, err := time.Parse(time.RFC3339, o.OrderDate)
	switch {
	case err != nil:
		return &problem{2, "Order date is not valid", "OrderDate"}
	case o.Subtotal == nil || o.Shipping == nil || o.Total == nil:
		return &problem{3, "Subtotal, shipping cost charged and total are required", "Total"}
	case len(o.OrderReference) > 40:
		return &problem{4, "Order reference is longer than 40 characters", "OrderReference"}
	case to.FullName == "" && to.CompanyName == "":
		return &problem{5, "Full name or company name is required", "Recipient.Address.FullName"}
	case to.AddressLine1 == "" || strings.Contains(strings.ToUpper(to.AddressLine1), "NOWHERE"):
		return &problem{6, "Address line 1 is not valid", "Recipient.Address.AddressLine1"}
	case to.City == "":
		return &problem{7, "City is required", "Recipient.Address.City"}
	case to.CountryCode == "GB" && !postcode.MatchString(to.Postcode):
		return &problem{8, "Postcode is not valid", "Recipient.Address.Postcode"}
	case to.CountryCode == "GB" && strings.HasPrefix(to.Postcode, "BT") && o.IsBusiness == nil:
		// The emulated account is a business in Great Britain.
		return &problem{13, "Whether the recipient is a business is required for Northern Ireland", "IsRecipientABusiness"}
	case len(o.Packages) != 1:
		return &problem{9, "Only one package is supported by this service", "Packages"}
	}

	packed := o.Packages[0]
	switch {
	case packed.WeightInGrams < 1 || packed.WeightInGrams > 30000:
		return &problem{10, "Weight must be between 1 and 30000 grams", "Packages[0].WeightInGrams"}
	case !slices.Contains(formats, packed.Format):
		return &problem{11, "Package format identifier is not valid", "Packages[0].PackageFormatIdentifier"}
	}
	for i, line := range packed.Contents {
		// The least of a product without a SKU.
		if line.Quantity < 1 || line.UnitValue == nil || line.UnitWeight == nil {
			return &problem{12, "Quantity, unit value and unit weight are required", fmt.Sprintf("Packages[0].Contents[%d].UnitWeightInGrams", i)}
		}
	}
	return o.checkService()
}

// checkService returns why the service does not take the order.
func (o *order) checkService() *problem {
	code := o.Postage.ServiceCode
	sold, ok := services[code]
	isInland := slices.Contains([]string{"GB", "IM", "JE", "GG"}, o.Recipient.Address.CountryCode)
	switch {
	case code == "":
		return nil // it is only imported
	case !ok || sold.where == "return":
		return &problem{20, "Service code could not be found or it's not supported", "PostageDetails.ServiceCode"}
	case o.Postage.Register != "" && o.Postage.Register != register:
		return &problem{24, "Service register code is not valid for the service", "PostageDetails.ServiceRegisterCode"}
	case o.Postage.NotifyTo == "recipient" && (o.Postage.ByEmail && o.Recipient.Email == "" || o.Postage.BySMS && o.Recipient.Phone == ""):
		return &problem{25, "The recipient cannot be notified", "PostageDetails.SendNotificationsTo"}
	case (sold.where == "inland") != isInland:
		return &problem{21, "Service is not available for the destination", "PostageDetails.ServiceCode"}
	case isInland:
		return nil
	case len(o.Packages[0].Contents) == 0:
		return &problem{22, "Contents are required for international orders", "Packages[0].Contents"}
	}
	for i, line := range o.Packages[0].Contents {
		if line.Description == "" || len(line.Description) > 50 {
			return &problem{23, "Customs description is not valid", fmt.Sprintf("Packages[0].Contents[%d].CustomsDescription", i)}
		}
	}
	return nil
}

// createOrders creates one order. The real API takes many; the driver sends one.
func (s *standIn) createOrders(w http.ResponseWriter, r *http.Request) {
	var request orders
	if !read(w, r, "Orders", &request) {
		return
	}
	if len(request.Items) != 1 {
		refuse(w, http.StatusBadRequest, "ValidationError", "The request is not valid.")
		return
	}
	item := request.Items[0]
	bad := item.check()
	if s.Refuses() {
		bad = &problem{99, "The order was declined", "PostageDetails.ServiceCode"}
	}
	if bad != nil {
		reply(w, http.StatusOK, object{
			"successCount":  0,
			"errorsCount":   1,
			"createdOrders": []object{},
			"failedOrders": []object{{"errors": []object{{
				"errorCode":    bad.code,
				"errorMessage": bad.message,
				"fields":       []object{{"fieldName": bad.field, "value": ""}},
			}}}},
		})
		return
	}

	serial := s.Ledger.Next()
	sale := emulator.Entry{
		Number:    trackingNumber(serial),
		ID:        strconv.Itoa(1000 + serial),
		Reference: item.OrderReference,
		Service:   item.Postage.ServiceCode,
		Kept:      encode(item),
	}
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		created := s.describe(sold)
		created["labelErrors"] = []object{}
		created["generatedDocuments"] = []string{}
		switch account := s.Faults().Account; {
		case !item.Label.IncludeLabel:
		case account == noOBA:
			created["labelErrors"] = []object{{"code": "Forbidden", "message": "Feature available for OBA accounts only"}}
		case account == noPostage:
			created["labelErrors"] = []object{{"code": "BadRequest", "message": withoutPostage}}
		case account == lateLabel || account == noLabel:
			created["labelErrors"] = []object{{"code": "LabelGenerationFailed", "message": "The label could not be generated"}}
		default:
			withForm := item.Label.IncludeCN && !s.keepsForms()
			created["label"] = labelOf(sold, item, withForm)
			created["generatedDocuments"] = []string{"postageLabel"}
			if withForm && needsForm(sold, item) {
				created["generatedDocuments"] = []string{"postageLabel", "CN22"}
			}
		}
		return http.StatusOK, "application/json", encode(object{
			"successCount":  1,
			"errorsCount":   0,
			"createdOrders": []object{created},
			"failedOrders":  []object{},
		})
	})
}

// trackingNumber returns an S10 number of the United Kingdom.
func trackingNumber(serial int) string {
	digits := fmt.Sprintf("%08d", serial)
	sum := 0
	for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
		sum += int(digits[i]-'0') * weight
	}
	check := 11 - sum%11
	switch check {
	case 10:
		check = 0
	case 11:
		check = 5
	}
	return fmt.Sprintf("TT%s%dGB", digits, check)
}

// describe returns an order as Click & Drop shows it.
func (s *standIn) describe(sale emulator.Entry) object {
	id, _ := strconv.Atoi(sale.ID)
	shown := object{
		"orderIdentifier": id,
		"orderReference":  sale.Reference,
		"createdOn":       sale.At.Format(time.RFC3339),
		"orderDate":       sale.At.Format(time.RFC3339),
	}
	if account := s.Faults().Account; services[sale.Service].isTracked && account != noOBA && account != noPostage {
		shown["trackingNumber"] = sale.Number
		shown["packages"] = []object{{"packageNumber": 1, "trackingNumber": sale.Number}}
	}
	if closed, ok := s.manifestOf(sale); ok {
		shown["manifestedOn"] = closed.At.Format(time.RFC3339)
	}
	return shown
}

// listOrders shows the newest orders.
func (s *standIn) listOrders(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if err != nil {
		size = 25
	}
	list := []object{}
	entries := s.Ledger.Entries()
	slices.Reverse(entries)
	for _, entry := range entries {
		if _, voided, _ := s.Ledger.Sold(entry.ID); entry.Kind == "sold" && !voided && len(list) < size && services[entry.Service].where != "return" {
			list = append(list, s.describe(entry))
		}
	}
	reply(w, http.StatusOK, object{"orders": list})
}

// ordersOf returns the orders that a path names: by number, or by reference in
// double quotes. Those that are deleted, or that a look-up cannot see yet, are not
// there.
func (s *standIn) ordersOf(path string) []emulator.Entry {
	var list []emulator.Entry
	for name := range strings.SplitSeq(path, ";") {
		if reference, isReference := strings.CutPrefix(name, `"`); isReference {
			for _, sale := range s.Find(strings.TrimSuffix(reference, `"`)) {
				if services[sale.Service].where != "return" {
					list = append(list, sale)
				}
			}
			continue
		}
		if sale, voided, ok := s.Ledger.Sold(name); ok && !voided && sale.ID == name {
			list = append(list, sale)
		}
	}
	return list
}

// absentRow is what Click & Drop says about an order that is not there, where it
// does not answer 404.
var absentRow = object{"code": "OrderNotFound", "message": "The order was not found"}

func (s *standIn) showOrders(w http.ResponseWriter, r *http.Request) {
	found := s.ordersOf(r.PathValue("ids"))
	if len(found) == 0 && s.Faults().Account == absentRows {
		reply(w, http.StatusOK, []object{absentRow})
		return
	}
	if len(found) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	list := make([]object, len(found))
	for i, sale := range found {
		list[i] = s.describe(sale)
	}
	reply(w, http.StatusOK, list)
}

// deleteOrders deletes an order that is not on a manifest.
func (s *standIn) deleteOrders(w http.ResponseWriter, r *http.Request) {
	found := s.ordersOf(r.PathValue("ids"))
	if len(found) == 0 && s.Faults().Account == absentRows {
		reply(w, http.StatusOK, object{"deletedOrders": []object{}, "errors": []object{absentRow}})
		return
	}
	if len(found) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}

	sale := found[0]
	id, _ := strconv.Atoi(sale.ID)
	if _, isClosed := s.manifestOf(sale); isClosed {
		reply(w, http.StatusOK, object{"deletedOrders": []object{}, "errors": []object{{
			"orderIdentifier": id,
			"orderReference":  sale.Reference,
			"code":            "OrderManifested",
			"message":         "The order has been manifested and cannot be deleted",
		}}})
		return
	}
	s.TakeBack(w, r, sale.ID, func(_, known bool) (int, string, []byte) {
		if !known {
			return http.StatusNotFound, "application/json", nil
		}
		return http.StatusOK, "application/json", encode(object{
			"deletedOrders": []object{{"orderIdentifier": id, "orderReference": sale.Reference, "orderInfo": "Deleted"}},
			"errors":        []object{},
		})
	})
}
