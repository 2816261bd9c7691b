package royalmail

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A service is a way to send a parcel.
type service struct {
	code, name string
	own        string // its usual code in Click & Drop; empty if none is known
	abroad     bool
	flat       bool  // goes through a letterbox: priced as a large letter
	signature  int   // one of the constants below
	cover      int64 // pounds that a lost parcel is covered for; 0 if that is not a choice
	maxGrams   int64
	collect    bool // can be collected at a post office
	untracked  bool // Royal Mail gives the parcel no number to track it by
	isReturn   bool // brings a parcel back, and nothing else does
}

// What a service does about signatures.
const (
	neverSigned    = iota
	signedOnDemand // if the sender asks for it
	alwaysSigned
	ageChecked // signed by an adult
)

const (
	kilogram = 1000

	maxAtHome  = 20 * kilogram
	maxFlat    = 1 * kilogram
	maxAbroad  = 2 * kilogram
	maxHeavier = 30 * kilogram
)

// services have the codes of Click & Drop for an Online Business Account, which are
// not those of Royal Mail's Shipping API (TPN, TPS). An account may have others: they
// are a setting of the connection. Where no public list of Click & Drop has a code,
// the setting is required.
var services = []service{
	// fact: service-codes-tracked, service-codes-high-volume
	{code: "tracked_24", name: "Royal Mail Tracked 24", own: "TPN24", signature: signedOnDemand, maxGrams: maxAtHome, collect: true},
	{code: "tracked_48", name: "Royal Mail Tracked 48", own: "TPS48", signature: signedOnDemand, maxGrams: maxAtHome, collect: true},
	{code: "tracked_24_large_letter", name: "Royal Mail Tracked 24 Large Letter", own: "TRN24", flat: true, signature: signedOnDemand, maxGrams: maxFlat},
	{code: "tracked_48_large_letter", name: "Royal Mail Tracked 48 Large Letter", own: "TRS48", flat: true, signature: signedOnDemand, maxGrams: maxFlat},
	{code: "tracked_24_high_volume", name: "Royal Mail Tracked 24 High Volume", own: "TPM24HV", signature: signedOnDemand, maxGrams: maxAtHome, collect: true},
	{code: "tracked_48_high_volume", name: "Royal Mail Tracked 48 High Volume", own: "TPL48HV", signature: signedOnDemand, maxGrams: maxAtHome, collect: true},
	{code: "tracked_24_high_volume_large_letter", name: "Royal Mail Tracked 24 High Volume Large Letter", own: "TRM24HV", flat: true, signature: signedOnDemand, maxGrams: maxFlat},
	{code: "tracked_48_high_volume_large_letter", name: "Royal Mail Tracked 48 High Volume Large Letter", own: "TRL48HV", flat: true, signature: signedOnDemand, maxGrams: maxFlat},
	{code: "tracked_24_age_verified", name: "Royal Mail Tracked 24 with Age Verification", signature: ageChecked, maxGrams: maxAtHome},
	{code: "tracked_48_age_verified", name: "Royal Mail Tracked 48 with Age Verification", signature: ageChecked, maxGrams: maxAtHome},
	// fact: service-codes-untracked
	{code: "royal_mail_24", name: "Royal Mail 24", own: "CRL24", maxGrams: maxAtHome, untracked: true},
	{code: "royal_mail_48", name: "Royal Mail 48", own: "CRL48", maxGrams: maxAtHome, untracked: true},
	{code: "first_class", name: "Royal Mail 1st Class", own: "BPL1", maxGrams: maxAtHome, untracked: true},
	{code: "second_class", name: "Royal Mail 2nd Class", own: "BPL2", maxGrams: maxAtHome, untracked: true},
	{code: "first_class_account_mail", name: "Royal Mail 1st Class Account Mail", own: "STL1", maxGrams: maxAtHome, untracked: true},
	{code: "second_class_account_mail", name: "Royal Mail 2nd Class Account Mail", own: "STL2", maxGrams: maxAtHome, untracked: true},

	// fact: service-codes-signed, service-codes-special-delivery
	{code: "first_class_signed", name: "Royal Mail Signed For 1st Class", own: "BPR1", signature: alwaysSigned, maxGrams: maxAtHome},
	{code: "second_class_signed", name: "Royal Mail Signed For 2nd Class", own: "BPR2", signature: alwaysSigned, maxGrams: maxAtHome},
	{code: "special_delivery_1pm_750", name: "Royal Mail Special Delivery Guaranteed by 1pm (750 GBP)", own: "SD1", signature: alwaysSigned, cover: 750, maxGrams: maxAtHome, collect: true},
	{code: "special_delivery_1pm_1000", name: "Royal Mail Special Delivery Guaranteed by 1pm (1000 GBP)", own: "SD2", signature: alwaysSigned, cover: 1000, maxGrams: maxAtHome, collect: true},
	{code: "special_delivery_1pm_2500", name: "Royal Mail Special Delivery Guaranteed by 1pm (2500 GBP)", own: "SD3", signature: alwaysSigned, cover: 2500, maxGrams: maxAtHome, collect: true},
	{code: "special_delivery_9am_750", name: "Royal Mail Special Delivery Guaranteed by 9am (750 GBP)", own: "SD4", signature: alwaysSigned, cover: 750, maxGrams: 2 * kilogram},
	{code: "special_delivery_9am_1000", name: "Royal Mail Special Delivery Guaranteed by 9am (1000 GBP)", own: "SD5", signature: alwaysSigned, cover: 1000, maxGrams: 2 * kilogram},
	{code: "special_delivery_9am_2500", name: "Royal Mail Special Delivery Guaranteed by 9am (2500 GBP)", own: "SD6", signature: alwaysSigned, cover: 2500, maxGrams: 2 * kilogram},
	{code: "special_delivery_1pm_750_age_verified", name: "Royal Mail Special Delivery by 1pm with Age Verification (750 GBP)", own: "SDH", signature: ageChecked, cover: 750, maxGrams: maxAtHome},
	{code: "special_delivery_1pm_1000_age_verified", name: "Royal Mail Special Delivery by 1pm with Age Verification (1000 GBP)", own: "SDJ", signature: ageChecked, cover: 1000, maxGrams: maxAtHome},
	{code: "special_delivery_1pm_2500_age_verified", name: "Royal Mail Special Delivery by 1pm with Age Verification (2500 GBP)", own: "SDK", signature: ageChecked, cover: 2500, maxGrams: maxAtHome},

	// fact: service-codes-abroad
	{code: "international_tracked", name: "Royal Mail International Tracked", own: "OTA", abroad: true, maxGrams: maxAbroad},
	{code: "international_tracked_signed", name: "Royal Mail International Tracked & Signed", own: "OTC", abroad: true, signature: alwaysSigned, maxGrams: maxAbroad},
	{code: "international_signed", name: "Royal Mail International Signed", own: "OSA", abroad: true, signature: alwaysSigned, maxGrams: maxAbroad},
	{code: "international_tracked_heavier", name: "Royal Mail International Tracked Heavier", abroad: true, maxGrams: maxHeavier},
	{code: "international_business_parcels_tracked", name: "Royal Mail International Business Parcels Tracked", own: "MP7", abroad: true, maxGrams: maxAbroad},
	{code: "international_business_parcels_signed", name: "Royal Mail International Business Parcels Signed", own: "MP9", abroad: true, signature: alwaysSigned, maxGrams: maxAbroad},
	{code: "international_business_parcels_tracked_signed", name: "Royal Mail International Business Parcels Tracked & Signed", own: "MTE", abroad: true, signature: alwaysSigned, maxGrams: maxAbroad},
	{code: "international_business_parcels_tracked_boxable", name: "Royal Mail International Business Parcels Tracked Boxable", abroad: true, maxGrams: maxAbroad},

	// fact: service-codes-returns
	{code: "tracked_returns_24", name: "Royal Mail Tracked Returns 24", own: "TSN", maxGrams: maxAtHome, isReturn: true},
	{code: "tracked_returns_48", name: "Royal Mail Tracked Returns 48", own: "TSS", maxGrams: maxAtHome, isReturn: true},
}

func serviceByCode(code string) (service, bool) {
	for _, s := range services {
		if s.code == code {
			return s, true
		}
	}
	return service{}, false
}

// An accountCode is how Click & Drop knows a service in one account.
type accountCode struct {
	service  string
	register string // of two digits, for an account that has the service more than once
}

const (
	maxServiceCode = 10
	registerLength = 2
)

// readCodes reads the codes of an account: "tracked_24=TPN24/02, royal_mail_48=CRL48".
func readCodes(text string) (codes map[string]accountCode, ok bool) {
	codes = map[string]accountCode{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		own, register, hasRegister := strings.Cut(strings.TrimSpace(value), "/")
		_, isService := serviceByCode(strings.TrimSpace(name))
		switch {
		case !isService, own == "", len(own) > maxServiceCode, hasRegister && len(register) != registerLength:
			return nil, false
		}
		codes[strings.TrimSpace(name)] = accountCode{own, register}
	}
	return codes, true
}

// codeOf returns how the account knows a service; no code if that is not known.
func (d driver) codeOf(chosen service) accountCode {
	if code, ok := d.codes[chosen.code]; ok {
		return code
	}
	return accountCode{service: chosen.own}
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// A format is a class of sizes, by which Royal Mail sets its prices.
type format struct {
	code, name string
	own        string // Royal Mail's word
	maxGrams   int64
	sides      [3]int64 // millimetres, the longest first
}

var formats = []format{ // fact: package-formats
	{"letter", "Letter", "letter", 100, [3]int64{240, 165, 5}},
	{"large_letter", "Large Letter", "largeLetter", 1 * kilogram, [3]int64{353, 250, 25}},
	{"small_parcel", "Small Parcel", "smallParcel", 2 * kilogram, [3]int64{450, 350, 160}},
	{"medium_parcel", "Medium Parcel", "mediumParcel", 20 * kilogram, [3]int64{610, 460, 460}},
}

// parcelAbroad is the one format of parcels that go abroad: 900 mm in all, and
// no side longer than 600 mm.
const parcelAbroad = "parcel"

func formatByCode(code string) (format, bool) {
	for _, f := range formats {
		if f.code == code {
			return f, true
		}
	}
	return format{}, false
}

func specPackagings() []carrier.Packaging {
	list := make([]carrier.Packaging, len(formats))
	for i, f := range formats {
		list[i] = carrier.Packaging{Code: f.code, Name: f.name}
	}
	return list
}
