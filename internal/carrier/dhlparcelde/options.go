package dhlparcelde

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// pointID is how a Packstation or a post office is named: both have numbers of
// three digits, so the kind stands before it.
var pointID = regexp.MustCompile(`^(packstation|filiale)-([1-9][0-9]{2})$`)

// postNumber is the number under which DHL knows a person who collects parcels.
var postNumber = regexp.MustCompile(`^[0-9]{6,10}$`)

// services returns the value added services of an order, and refuses what DHL
// does not offer.
func (c *checker) services(order ship.Order, chosen service) *valueAdded {
	options := order.Options
	var list valueAdded

	switch options.Signature {
	case "":
	case "adult":
		list.VisualCheckOfAge = "A18"
	case "direct":
		list.SignedForByRecipient = true
		list.NoNeighbourDelivery = true
	default:
		list.SignedForByRecipient = true
	}
	if options.Signature != "" && chosen.product != paket {
		c.refuse("/options/signature", "unsupported", chosen.name+" does not offer signatures; DHL Paket does")
	}
	if options.SaturdayDelivery && !chosen.domestic {
		c.refuse("/options/saturdayDelivery", "unsupported", "DHL Parcel DE does not offer Saturday delivery abroad")
	}

	if value := options.InsuredValue; value.Minor > 0 {
		list.AdditionalInsurance = &amount{Currency: value.Currency, Value: json.Number(value.Amount())}
		if value.Currency != "EUR" {
			c.refuse("/options/insuredValue/currency", "invalid", "must be EUR for DHL Parcel DE")
		}
		if chosen.product != paket && chosen.product != paketInternational {
			c.refuse("/options/insuredValue", "unsupported", chosen.name+" does not offer insurance; DHL Paket and DHL Paket International do")
		}
	}

	list.GoGreenPlus = options.CarbonNeutral
	if !chosen.domestic {
		// Without an instruction, DHL warns about each label.
		list.Endorsement = "RETURN"
		if chosen.product != europaket {
			list.Premium = &chosen.premium
		}
		if order.Customs != nil && order.Customs.Incoterm == "DDP" && chosen.product != europaket {
			list.PostalDeliveryDutyPaid = true
		}
	}
	if list == (valueAdded{}) {
		return nil
	}
	return &list
}

// consignee returns who receives the parcel: at an address, at a Packstation, or
// at a post office.
func (c *checker) consignee(order ship.Order, fitted carrierkit.FittedAddress) any {
	if order.Options.ServicePoint == "" {
		return c.contact(order.Destination, fitted, "/destination")
	}

	point := pointID.FindStringSubmatch(strings.ToLower(order.Options.ServicePoint))
	if point == nil {
		c.refuse("/destination/servicePoint", "invalid", "must be packstation- or filiale- and the three digits of the place, such as packstation-118")
		return nil
	}
	number, _ := strconv.Atoi(point[2]) // three digits

	given := []string{order.Destination.Company, order.Destination.Address1, order.Destination.Address2, order.Destination.Address3}
	i := slices.IndexFunc(given, func(text string) bool { return postNumber.MatchString(strings.TrimSpace(text)) })
	post := ""
	if i >= 0 {
		post = strings.TrimSpace(given[i])
	}

	place := dropPoint{
		Name:       cmp.Or(fitted.Name, fitted.Company),
		PostNumber: post,
		City:       fitted.City,
		PostalCode: fitted.Zip,
		Country:    countryOf(carrierkit.PlaceOf(order.Destination)),
	}
	if point[1] == "packstation" {
		place.LockerID = number
		if post == "" {
			c.refuse("/destination/company", "required", "DHL Parcel DE needs the recipient's post number (6 to 10 digits) for a Packstation; give it as company or second address line")
		}
		return place
	}

	place.RetailID = number
	if number < 401 {
		c.refuse("/destination/servicePoint", "invalid", "must be the number of a post office between 401 and 999, such as filiale-502")
	}
	if post == "" {
		place.Email = fitted.Email
	}
	if post == "" && fitted.Email == "" {
		c.refuse("/destination/email", "required", "DHL Parcel DE needs the recipient's post number or e-mail address for a post office")
	}
	return place
}
