package usps

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// labelRequest is the part of a label request that the emulator reads.
type labelRequest struct {
	ImageInfo struct {
		ImageType string `json:"imageType"`
		LabelType string `json:"labelType"`
		Receipt   string `json:"receiptOption"`
	} `json:"imageInfo"`
	ToAddress          address            `json:"toAddress"`
	FromAddress        address            `json:"fromAddress"`
	PackageDescription packageDescription `json:"packageDescription"`
	CustomsForm        *customsForm       `json:"customsForm"`
}

type address struct {
	FirstName        string `json:"firstName,omitempty"`
	LastName         string `json:"lastName,omitempty"`
	Firm             string `json:"firm,omitempty"`
	StreetAddress    string `json:"streetAddress"`
	SecondaryAddress string `json:"secondaryAddress,omitempty"`
	City             string `json:"city"`
	State            string `json:"state,omitempty"`
	ZIPCode          string `json:"ZIPCode,omitempty"`
	Province         string `json:"province,omitempty"`
	PostalCode       string `json:"postalCode,omitempty"`
	Country          string `json:"country,omitempty"`
	CountryCode      string `json:"countryISOAlpha2Code,omitempty"`
	Phone            string `json:"phone,omitempty"`
	Email            string `json:"email,omitempty"`
	FacilityID       string `json:"facilityId,omitempty"`
	HoldForPickup    bool   `json:"holdForPickup,omitempty"`
	IsLocker         bool   `json:"parcelLockerDelivery,omitempty"`
}

type packageDescription struct {
	MailClass          string  `json:"mailClass"`
	RateIndicator      string  `json:"rateIndicator"`
	PackagingType      string  `json:"packagingType"`
	Shape              string  `json:"shape"`
	ProcessingCategory string  `json:"processingCategory"`
	EntryFacilityType  string  `json:"destinationEntryFacilityType"`
	WeightUOM          string  `json:"weightUOM"`
	Weight             float64 `json:"weight"`
	DimensionsUOM      string  `json:"dimensionsUOM"`
	Length             float64 `json:"length"`
	Width              float64 `json:"width"`
	Height             float64 `json:"height"`
	MailingDate        string  `json:"mailingDate"`
	ExtraServices      []int   `json:"extraServices"`
	PhysicalSignature  *bool   `json:"physicalSignatureRequired"`
	PackageOptions     struct {
		PackageValue      float64 `json:"packageValue"`
		ImmediateManifest bool    `json:"immediateManifest"`
		ContentType       string  `json:"contentType"`
		Endorsement       string  `json:"ancillaryServiceEndorsements"`
	} `json:"packageOptions"`
	CustomerReference []customerReference `json:"customerReference"`
}

type customerReference struct {
	ReferenceNumber string `json:"referenceNumber"`
	Print           bool   `json:"printReferenceNumber"`
}

type customsForm struct {
	ContentType string          `json:"customsContentType"`
	AESITN      string          `json:"AESITN"`
	Importer    json.RawMessage `json:"importersReference"`
	Exporter    json.RawMessage `json:"exportersReference"`
	Contents    []struct {
		Description   string  `json:"itemDescription"`
		Quantity      int     `json:"itemQuantity"`
		TotalValue    float64 `json:"itemTotalValue"`
		TotalWeight   float64 `json:"itemTotalWeight"`
		OriginCountry string  `json:"countryofOrigin"`
	} `json:"contents"`
}

var (
	phone = regexp.MustCompile(`^\+?[1-9][0-9]{7,14}$|^[0-9]{6,15}$`)
	zip5  = regexp.MustCompile(`^\d{5}$`)

	military = []string{"AA", "AE", "AP"}
	vague    = []string{"none", "not applicable", "n/a", "null", "gift", "merchandise"}

	// Words of USPS's published files. A member that they do not list is ignored
	// inside an object and refused at the top of a request, as the files say
	// (additionalProperties); see read.
	processing = []string{"LETTERS", "FLATS", "MACHINABLE", "IRREGULAR", "NON_MACHINABLE", "NONSTANDARD"}
	contents   = strings.Fields("HAZMAT CREMATED_REMAINS BEES DAY_OLD_POULTRY ADULT_BIRDS OTHER_LIVES PERISHABLE PHARMACEUTICALS MEDICAL_SUPPLIES FRUITS VEGETABLES LIVE_PLANTS")
	declared   = strings.Fields("MERCHANDISE GIFT DOCUMENT COMMERCIAL_SAMPLE RETURNED_GOODS OTHER HUMANITARIAN_DONATIONS DANGEROUS_GOODS CREMATED_REMAINS NON_NEGOTIABLE_DOCUMENT MEDICAL_SUPPLIES PHARMACEUTICALS")

	labelTypes    = []string{"", "4X6LABEL"}
	receipts      = []string{"", "NONE", "SAME_PAGE", "SEPARATE_PAGE"}
	imagesAtHome  = []string{"", "PDF", "PNG"}
	imagesCustoms = []string{"", "PDF"}
)

// shapes are the words of a box: the two label APIs have different ones.
func shapes(abroad bool) []string {
	if abroad {
		return []string{"RECTANGLE"}
	}
	return []string{"RECTANGULAR", "NON_RECTANGULAR"}
}

// check checks a request as the carrier does; the zero problem accepts it.
func (in labelRequest) check(api labelAPI, now time.Time) problem {
	if p := in.FromAddress.check("fromAddress", false); p.detail != "" {
		return p
	}
	if p := in.ToAddress.check("toAddress", api.abroad); p.detail != "" {
		return p
	}
	if p := in.checkFacility(api.abroad); p.detail != "" {
		return p
	}
	if p := in.PackageDescription.check(api.abroad, now); p.detail != "" {
		return p
	}

	images := imagesAtHome
	if in.CustomsForm != nil || api.abroad {
		images = imagesCustoms
	}
	switch {
	case !slices.Contains(images, in.ImageInfo.ImageType):
		return problem{"160024", "imageInfo.imageType", "the emulator draws " + strings.Join(images[1:], " and ")}
	case !slices.Contains(labelTypes, in.ImageInfo.LabelType):
		return problem{"160004", "imageInfo.labelType", "the emulator draws 4X6LABEL"}
	case !slices.Contains(receipts, in.ImageInfo.Receipt):
		return problem{"", "imageInfo.receiptOption", "OASValidation: receiptOption is not valid"}
	}
	return in.checkCustoms(api.abroad)
}

// checkFacility checks a parcel that is collected at a post office or a locker.
func (in labelRequest) checkFacility(abroad bool) problem {
	to := in.ToAddress
	from := in.FromAddress
	isCollected := to.HoldForPickup || to.IsLocker
	switch {
	case !isCollected:
		return problem{}
	case abroad || to.HoldForPickup && to.IsLocker:
		return problem{"160390", "toAddress", "Hold for Pickup and parcel lockers exclude each other, and are domestic"}
	case to.FacilityID == "" || len(to.FacilityID) > 7 || to.Email == "":
		return problem{"160391", "toAddress.facilityId", "facilityId and email are required"}
	case to.HoldForPickup && (to.Phone == "" || from.Email == "" || from.Phone == ""):
		return problem{"160392", "fromAddress", "email and phone of both addresses are required with holdForPickup"}
	case to.HoldForPickup && in.PackageDescription.PackageOptions.Endorsement != "":
		return problem{"160393", "packageOptions", "ancillaryServiceEndorsements are not supported with holdForPickup"}
	}
	return problem{}
}

// isHazardous reports whether an extra service declares hazardous goods.
func isHazardous(code int) bool { return code >= 810 && code <= 832 }

func (a address) check(name string, abroad bool) problem {
	switch {
	case a.Firm == "" && (a.FirstName == "" || a.LastName == ""):
		return problem{"160051", name, "firstName and lastName or firm are required"}
	case a.StreetAddress == "" || len(a.StreetAddress) > 50 || len(a.SecondaryAddress) > 50:
		return problem{"160307", name + ".streetAddress", "Primary Address Number missing"}
	case a.City == "" || len(a.City) > 28:
		return problem{"", name + ".city", "OASValidation: city has 1 to 28 characters"}
	case len(a.FirstName) > 50 || len(a.LastName) > 50 || len(a.Firm) > 50:
		return problem{"", name, "OASValidation: a name has at most 50 characters"}
	case a.Phone != "" && !phone.MatchString(a.Phone):
		return problem{"", name + ".phone", "OASValidation: phone does not match"}
	case !abroad && !emulator.IsState("US", a.State):
		return problem{"", name + ".state", "OASValidation: state does not match"}
	case !abroad && !zip5.MatchString(a.ZIPCode):
		return problem{"160119", name + ".ZIPCode", "ZIP Code is not valid"}
	case abroad && (a.Country == "" || !emulator.IsCountry(a.CountryCode)):
		return problem{"", name + ".countryISOAlpha2Code", "OASValidation: country and countryISOAlpha2Code are required"}
	}
	return problem{}
}

func (d packageDescription) check(abroad bool, now time.Time) problem {
	class, known := classOf(d.MailClass)
	_, isFlat := class.flat[d.PackagingType]
	days := 45
	if abroad {
		days = 7
	}

	// The date at the origin counts, but its time zone is not known here, so a
	// date that is current in any time zone is accepted.
	day, err := time.Parse(time.DateOnly, d.MailingDate)
	earliest := now.UTC().Add(-36 * time.Hour)
	latest := now.UTC().Add(12*time.Hour).AddDate(0, 0, days)

	switch {
	case !known || class.abroad != abroad:
		return problem{"", "packageDescription.mailClass", "OASValidation: mailClass is not valid"}
	case d.RateIndicator != "" && d.PackagingType != "":
		return problem{"160287", "rateIndicator, packagingType", "cannot include packagingType with rateIndicator"}
	case d.RateIndicator == "" && d.PackagingType == "":
		return problem{"160286", "rateIndicator, packagingType", "either rateIndicator or packagingType is required"}
	case d.PackagingType != "" && d.PackagingType != "VARIABLE" && !isFlat:
		return problem{"160013", "packageDescription.packagingType", "packagingType does not match " + d.MailClass}
	case d.PackagingType != "" && !abroad && d.Shape == "":
		return problem{"160285", "rateIndicator, packagingType", "either rateIndicator or shape and packagingType are required"}
	case d.ProcessingCategory == "" || d.EntryFacilityType == "":
		return problem{"", "packageDescription", "OASValidation: processingCategory and destinationEntryFacilityType are required"}
	case d.EntryFacilityType != "NONE":
		return problem{"160015", "destinationEntryFacilityType", "this Destination Entry Facility Type cannot be used as drop off location"}
	case d.WeightUOM != "" && d.WeightUOM != "lb" || d.DimensionsUOM != "" && d.DimensionsUOM != "in":
		return problem{"", "packageDescription", "OASValidation: units are lb and in"}
	case d.Weight <= 0 || d.Weight > 70:
		return problem{"030002", "packageDescription.weight", "Could not find working sku from SSF ingredients"}
	case d.Length <= 0 || d.Width <= 0 || d.Height <= 0:
		return problem{"160294", "packageDescription.length", "length, width, and height must either be all zero or greater than zero"}
	case d.Length+2*(d.Width+d.Height) > 130:
		return problem{"030008", "length, height, width, mailClass", "Package size exceeds maximum allowed for mail class"}
	case class.name != groundAdvantage && d.Length+2*(d.Width+d.Height) > 108:
		return problem{"030008", "length, height, width, mailClass", "Package size exceeds maximum allowed for mail class"}
	case !slices.Contains(processing, d.ProcessingCategory):
		return problem{"", "packageDescription.processingCategory", "OASValidation: processingCategory is not valid"}
	case d.PackageOptions.ContentType != "" && !slices.Contains(contents, d.PackageOptions.ContentType):
		return problem{"", "packageOptions.contentType", "OASValidation: contentType is not valid"}
	case d.Shape != "" && !slices.Contains(shapes(abroad), d.Shape):
		return problem{"", "packageDescription.shape", "OASValidation: shape is not valid"}
	case err != nil || day.Before(earliest) || day.After(latest):
		return problem{"160001", "packageDescription.mailingDate", "cannot be in the past or more than " + strconv.Itoa(days) + " days in the future"}
	case d.RateIndicator != "" && !d.pricedBy(class):
		return problem{"160013", "packageDescription.rateIndicator", "rateIndicator does not match the package of " + d.MailClass}
	}
	return d.checkExtras(class, abroad)
}

// pricedBy reports whether the class has a price for the package under its rate
// indicator.
func (d packageDescription) pricedBy(class mailClass) bool {
	for _, flat := range class.flat {
		if flat.indicator == d.RateIndicator {
			return true
		}
	}
	parcel := load{
		pounds: d.Weight,
		length: d.Length,
		width:  d.Width,
		height: d.Height,
		zone:   1,
	}
	_, ok := class.priced(parcel, d.RateIndicator)
	return ok
}

// checkTaxReference checks a tax number of a customs form: plain text for
// domestic forms, text with a type for international ones.
func checkTaxReference(name string, raw json.RawMessage, abroad bool) problem {
	if len(raw) == 0 {
		return problem{}
	}

	invalid := problem{"", "customsForm." + name, "OASValidation: " + name + " is not valid"}
	if !abroad {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" || len(text) > 40 {
			return invalid
		}
		return problem{}
	}

	var typed struct {
		Type      string `json:"referenceType"`
		Reference string `json:"reference"`
	}
	if json.Unmarshal(raw, &typed) != nil || typed.Reference == "" || len(typed.Reference) > 28 ||
		!slices.Contains([]string{"TAX_CODE", "VAT_NUMBER", "IMPORTER_CODE"}, typed.Type) {
		return invalid
	}
	return problem{}
}

func (d packageDescription) checkExtras(class mailClass, abroad bool) problem {
	for _, code := range d.ExtraServices {
		if isHazardous(code) {
			if d.PackageOptions.ContentType != "HAZMAT" || abroad {
				return problem{"160394", "packageDescription.extraServices", "hazardous goods need the content type HAZMAT, and are domestic"}
			}
			continue
		}
		_, ok := class.extra(code, 0)
		isSigned := code == 921 || code == 922 || code == 931 || code == 925 || code == 981
		isInsured := code == 930 || code == 931 || code == 925
		switch {
		case !ok:
			return problem{"160010", "packageDescription.extraServices", "Mailclass : " + class.name + " with ExtraServices: [" + strconv.Itoa(code) + "] is an unsupported combination."}
		case isInsured && d.PackageOptions.PackageValue <= 0:
			return problem{"160017", "packageDescription/packageOptions", "packageValue is required with insurance(extraService = 930)"}
		case isSigned && !abroad && d.PhysicalSignature == nil && !(code == 925 && d.PackageOptions.PackageValue <= 500):
			return problem{"", "packageDescription.physicalSignatureRequired", "OASValidation: physicalSignatureRequired is required"}
		}
	}

	for i, reference := range d.CustomerReference {
		if n := len(reference.ReferenceNumber); n < 1 || n > 30 || i > 3 || abroad && i > 1 {
			return problem{"160314", "packageDescription.customerReference", "customer references have 1 to 30 characters"}
		}
	}
	return problem{}
}

func (in labelRequest) checkCustoms(abroad bool) problem {
	form := in.CustomsForm
	isMilitary := slices.Contains(military, in.ToAddress.State) || slices.Contains(military, in.FromAddress.State)
	switch {
	case form == nil && abroad:
		return problem{"160133", "customsForm", "must not be null"}
	case form == nil && isMilitary:
		return problem{"160120", "toAddress", "Military ZIP Code requires a customs form"}
	case form == nil:
		return problem{}
	case in.FromAddress.Firm == "":
		return problem{"160023", "firm", "firm is required in From Address for labels with customs form."}
	case len(in.PackageDescription.CustomerReference) > 2:
		return problem{"160315", "packageDescription.customerReference", "customer reference #3 cannot be used with a customs form"}
	case form.ContentType != "" && !slices.Contains(declared, form.ContentType):
		return problem{"", "customsForm.customsContentType", "OASValidation: customsContentType is not valid"}
	case form.ContentType == "" || len(form.Contents) == 0 || len(form.Contents) > 30 || abroad && form.AESITN == "":
		return problem{"", "customsForm", "OASValidation: customsContentType, contents and AESITN are required"}
	}

	if p := checkTaxReference("importersReference", form.Importer, abroad); p.detail != "" {
		return p
	}
	if p := checkTaxReference("exportersReference", form.Exporter, abroad); p.detail != "" {
		return p
	}

	weight := 0.0
	value := 0.0
	for _, item := range form.Contents {
		weight += item.TotalWeight
		value += item.TotalValue
		switch {
		case item.Description == "" || len(item.Description) > 30 || slices.Contains(vague, strings.ToLower(item.Description)):
			return problem{"", "itemDescription", "OASValidation: itemDescription is not valid"}
		case item.Quantity < 1 || item.TotalValue < 0.01 || item.TotalWeight <= 0:
			return problem{"", "contents", "OASValidation: itemQuantity, itemTotalValue and itemTotalWeight are required"}
		case abroad && !emulator.IsCountry(item.OriginCountry):
			return problem{"160141", "countryOfOrigin", item.OriginCountry + " is not a valid Country Code"}
		}
	}

	if first := "FIRST-CLASS_PACKAGE_INTERNATIONAL_SERVICE"; in.PackageDescription.MailClass == first && value > 400 {
		return problem{"160201", "packageOptions.packageValue", "cannot exceed $400 for " + first}
	}
	if weight > in.PackageDescription.Weight {
		return problem{"160021", "packageDescription.weight", "total weight of all of the content items cannot be more than the total weight of the package"}
	}
	return problem{}
}
