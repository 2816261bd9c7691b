package postnl

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A product is what the contract has.
type product struct {
	country string
	options []string // each a list of alternatives
	needs   []string
	lengths []string
}

//go:embed products.tsv
var productText string

var contract = readProducts(productText)

func readProducts(text string) map[string]product {
	list := map[string]product{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(strings.TrimSpace(line), "\t")
		list[columns[0]] = product{
			country: columns[1],
			options: strings.Fields(strings.Trim(columns[2], "-")),
			needs:   strings.Fields(strings.Trim(columns[3], "-")),
			lengths: strings.Fields(columns[4]),
		}
	}
	return list
}

// union are the other countries that PostNL's products for the European Union go
// to (firstred/postnl-api-php, PostNL.php, threeSCountries).
var union = strings.Fields("AT BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT PL PT RO SE SI SK")

var (
	dutchZip   = regexp.MustCompile(`^[1-9][0-9]{3}[A-Z]{2}$`)
	fourDigits = regexp.MustCompile(`^[0-9]{4}$`)
	houseDigit = regexp.MustCompile(`^[0-9]{1,5}$`)
	twoDigits  = regexp.MustCompile(`^[0-9]{2}$`)
	sixDigits  = regexp.MustCompile(`^[0-9]{6}$`)
	dayAndTime = regexp.MustCompile(`^[0-3]\d-[01]\d-[12]\d{3}\s[0-2]\d:[0-5]\d:[0-5]\d$`)
	printer    = regexp.MustCompile(`^(?:GraphicFile\|(?:PDF|(?:GIF|JPG) [236]00 dpi)|Zebra\|Generic ZPL II [236]00 dpi)$`)
)

// A problem is why PostNL makes no label.
type problem struct{ code, description string }

// check returns why PostNL makes no label for the request; nil if it does.
func (s *standIn) check(in labelRequest) *problem {
	switch {
	case !isAccount(in.Customer.CustomerCode, in.Customer.CustomerNumber):
		return &problem{"1280001", "Customer code or customer number is invalid"}
	case in.Customer.CollectionLocation != "" && !sixDigits.MatchString(in.Customer.CollectionLocation):
		return &problem{"1280010", "CollectionLocation must have 6 digits"}
	case !dayAndTime.MatchString(in.Message.MessageTimeStamp) || in.Message.MessageID == "" || len(in.Message.MessageID) > 12:
		return &problem{"1280002", "Message is invalid"}
	case !printer.MatchString(in.Message.Printertype):
		return &problem{"1280011", "Printertype is not supported"}
	case len(in.Shipments) != 1:
		return &problem{"1280003", "Exactly one shipment is expected"}
	case utf8.RuneCountInString(in.Customer.Name) > 35:
		return &problem{"1280013", "Name of the customer has more than 35 characters"}
	}
	if bad := in.checkSender(); bad != nil {
		return bad
	}

	sent := in.Shipments[0]
	size := sent.Dimension
	switch {
	case !s.wasDrawn(sent.Barcode):
		return &problem{"1280004", "Barcode is not known"}
	case size.Weight < 1:
		return &problem{"1280005", "Weight is required"}
	case size.Length < size.Width || size.Width < size.Height:
		return &problem{"1280006", "Dimension must be given from the longest to the shortest side"}
	case utf8.RuneCountInString(sent.Reference) > 35 || utf8.RuneCountInString(sent.CustomerOrderNumber) > 35:
		return &problem{"1280007", "Reference is too long"}
	}
	for _, contact := range sent.Contacts {
		for _, number := range []string{contact.TelNr, contact.SMSNr} {
			if n := len(number); n > 0 && (n < 10 || n > 17) {
				return &problem{"1280008", "TelNr must have 10 to 17 characters"}
			}
		}
		if !twoDigits.MatchString(contact.ContactType) || utf8.RuneCountInString(contact.Email) > 50 {
			return &problem{"1280012", "Contact is invalid"}
		}
	}
	for _, a := range sent.Addresses {
		if bad := a.check(); bad != nil {
			return bad
		}
	}
	return sent.checkProduct()
}

// checkSender returns what is wrong with the sender, which is mandatory in the customer
// or in the shipment (PostNL SDK for PHP, doc/models/customer-address.md).
func (in labelRequest) checkSender() *problem {
	given := in.Customer.Address
	if given == (address{}) {
		if _, ok := in.Shipments[0].addressOf("02"); !ok {
			return &problem{"1280014", "Address type 02 is required, of the customer or of the shipment"}
		}
		return nil
	}
	if given.AddressType != "02" {
		return &problem{"1280015", "The address of the customer must have the type 02"}
	}
	return given.check()
}

// check returns what is wrong with an address.
func (a address) check() *problem {
	for _, field := range []struct {
		name, value string
		limit       int
	}{
		{"Name", a.Name, 35},
		{"CompanyName", a.CompanyName, 35},
		{"Street", a.Street, 95},
		{"HouseNr", a.HouseNr, 35},
		{"HouseNrExt", a.HouseNrExt, 35},
		{"Buildingname", a.Buildingname, 35},
		{"Zipcode", a.Zipcode, 17},
		{"City", a.City, 35},
		{"Region", a.Region, 35},
	} {
		if utf8.RuneCountInString(field.value) > field.limit {
			return &problem{"1280205", fmt.Sprintf("%s of address type %s has more than %d characters", field.name, a.AddressType, field.limit)}
		}
	}

	isBenelux := slices.Contains([]string{"NL", "BE", "LU"}, a.Countrycode)
	switch {
	case !slices.Contains([]string{"01", "02", "08", "09"}, a.AddressType):
		return &problem{"1280206", "AddressType is not known"}
	case len(a.Countrycode) != 2 || a.Countrycode != strings.ToUpper(a.Countrycode):
		return &problem{"1280207", "Countrycode of address type " + a.AddressType + " is invalid"}
	case a.Name == "" && a.CompanyName == "", a.AddressType == "09" && a.CompanyName == "":
		return &problem{"1280208", "Name or CompanyName of address type " + a.AddressType + " is required"}
	case a.City == "" || a.Street == "" && a.StreetHouseNrExt == "":
		return &problem{"1280209", "Street and city of address type " + a.AddressType + " are required"}
	case a.Countrycode == "NL" && !dutchZip.MatchString(a.Zipcode),
		(a.Countrycode == "BE" || a.Countrycode == "LU") && !fourDigits.MatchString(a.Zipcode):
		return &problem{"1280203", "Zipcode of address type " + a.AddressType + " is invalid"}
	case isBenelux && (a.Street == "" || !houseDigit.MatchString(a.HouseNr)):
		return &problem{"1280204", "HouseNr of address type " + a.AddressType + " is required"}
	}
	return nil
}

// checkProduct returns why the product does not take the parcel.
func (s shipment) checkProduct() *problem {
	to, hasReceiver := s.addressOf("01")
	bought, known := contract[s.ProductCodeDelivery]
	switch {
	case !hasReceiver:
		return &problem{"1280201", "Address type Receiver is required"}
	case strings.Contains(strings.ToUpper(to.Street+to.StreetHouseNrExt), "NOWHERE"):
		return &problem{"1280202", "Incorrect address specified in address type Receiver"}
	case !known:
		return &problem{"1280301", "Product code is not part of the contract"}
	case !bought.goesTo(to.Countrycode):
		return &problem{"1280302", "Product code is not available for the country of the receiver"}
	case !slices.Contains(bought.lengths, fmt.Sprint(len(s.Barcode))):
		return &problem{"1280304", "Barcode has the wrong length for the product"}
	}

	var given []string
	for _, option := range s.ProductOptions {
		given = append(given, option.Characteristic+"/"+option.Option)
	}
	for _, alternatives := range bought.options {
		isGiven := slices.ContainsFunc(strings.Split(alternatives, "|"), func(option string) bool { return slices.Contains(given, option) })
		if !isGiven {
			return &problem{"1280305", "Product code " + s.ProductCodeDelivery + " requires product option " + alternatives}
		}
	}
	for _, need := range bought.needs {
		if bad := s.checkNeed(need); bad != nil {
			return bad
		}
	}
	return nil
}

func (p product) goesTo(country string) bool {
	if p.country == "EU" {
		return slices.Contains(union, country)
	}
	return p.country == country
}

// checkNeed returns whether something that a product requires is missing.
func (s shipment) checkNeed(need string) *problem {
	switch need {
	case "amount":
		for _, amount := range s.Amounts {
			if amount.AmountType == "02" && slices.Contains([]string{"EUR", "GBP", "USD", "CNY"}, amount.Currency) {
				return nil
			}
		}
		return &problem{"1280303", "Amount type 02 is required for the product"}
	case "point":
		if at, ok := s.addressOf("09"); !ok || !at.isPoint() {
			return &problem{"1280306", "Address type 09 is required for the product, with a pickup point"}
		}
	case "sender":
		if _, ok := s.addressOf("02"); !ok {
			return &problem{"1280309", "Address type 02 is required for the product"}
		}
	case "date":
		day, err := time.ParseInLocation("02-01-2006 15:04:05", s.DeliveryDate, dutch)
		if err != nil || day.Weekday() == time.Sunday || day.Format(time.DateOnly) < time.Now().In(dutch).Format(time.DateOnly) {
			return &problem{"1280307", "DeliveryDate is required for the product and must not be in the past"}
		}
		if size := s.Dimension; size.Weight > 2000 || size.Length > 380 || size.Width > 265 || size.Height > 32 {
			return &problem{"1280310", "Dimension is too large for a mailbox parcel"}
		}
	case "email":
		for _, contact := range s.Contacts {
			if contact.Email != "" {
				return nil
			}
		}
		return &problem{"1280308", "Email of a contact is required for the product"}
	}
	return nil
}
