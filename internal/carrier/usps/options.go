package usps

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// extras says which services can do which options: those inside the United
// States.
func extras() carrier.Extras {
	var domestic []string
	for _, s := range services {
		if !s.abroad {
			domestic = append(domestic, s.code)
		}
	}
	return carrier.Extras{
		ship.ExtraServicePoint:     domestic,
		ship.ExtraHoldAtLocation:   domestic,
		ship.ExtraDirectSignature:  domestic,
		ship.ExtraReturnService:    domestic,
		ship.ExtraDryIce:           domestic,
		ship.ExtraLithiumBatteries: domestic,
	}
}

// lockerPrefix begins the ids of parcel lockers. USPS numbers them like post
// offices, and needs to know which of the two it is.
const lockerPrefix = "locker-"

// maxFacility is the length of a facility's number.
const maxFacility = 7

// checkOptions lists what is wrong with the options for USPS.
func (c *draft) checkOptions() (invalid []ship.FieldError) {
	options := c.order.Options
	refuse := func(pointer, code, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
	}

	facility := strings.TrimPrefix(options.ServicePoint, lockerPrefix)
	isOffice := options.ServicePoint != "" && facility == options.ServicePoint
	switch {
	case options.ServicePoint == "" && options.HoldAtLocation:
		refuse("/destination/servicePoint", "required", "USPS holds parcels at a post office of your choice: choose one with GET /v1/service-points?carrier=usps")
	case options.ServicePoint == "":
	case facility == "" || len(facility) > maxFacility || !carrierkit.AllDigits(facility):
		refuse("/destination/servicePoint", "invalid", "must be the number of a post office, such as 1368550, or of a parcel locker, such as locker-1434185")
	case c.order.IsReturn:
		refuse("/destination/servicePoint", "unsupported", "USPS does not send returns to a post office or locker")
	case isOffice && options.ReturnServiceRequested:
		refuse("/options/returnServiceRequested", "unsupported", "USPS does not offer return service for parcels that wait at a post office")
	}

	// USPS tells the recipient when the parcel can be collected.
	if options.ServicePoint != "" && !c.quote {
		if c.order.Destination.Email == "" {
			refuse("/destination/email", "required", "USPS needs the recipient's e-mail address for parcels that are collected")
		}
		if isOffice && c.phone(c.order.Destination.Phone) == "" {
			refuse("/destination/phone", "required", "USPS needs the recipient's phone number for parcels that wait at a post office")
		}
		if isOffice && (c.order.Origin.Email == "" || c.phone(c.order.Origin.Phone) == "") {
			refuse("/origin/email", "required", "USPS needs the sender's e-mail address and phone number for parcels that wait at a post office")
		}
	}
	return invalid
}

// The extra services for hazardous goods.
const (
	hazmatBatteriesByGround = 816 // marked, on the ground only
	hazmatBatteriesMarked   = 818
	hazmatDryIce            = 819
	hazmatBatteriesUnmarked = 820
)

// hazardous returns the extra services for what is hazardous in the parcel.
// They are bought with the label and not quoted.
func (c *draft) hazardous() (codes []int) {
	options := c.order.Options
	if options.DryIce != (ship.DryIce{}) {
		codes = append(codes, hazmatDryIce)
	}
	switch options.LithiumBatteries.Packed {
	case "in_equipment":
		codes = append(codes, hazmatBatteriesUnmarked)
	case "with_equipment":
		codes = append(codes, hazmatBatteriesMarked)
	case "alone":
		codes = append(codes, hazmatBatteriesByGround)
	}
	return codes
}

// addOptions adds the less usual options to a label.
func (c *draft) addOptions(label *labelRequest) {
	options := c.order.Options
	parcel := &label.PackageDescription
	if codes := c.hazardous(); codes != nil {
		parcel.ExtraServices = append(parcel.ExtraServices, codes...)
		parcel.options().ContentType = "HAZMAT"
	}
	if options.ReturnServiceRequested {
		parcel.options().Endorsement = "RETURN_SERVICE_REQUESTED"
	}

	if options.ServicePoint == "" {
		return
	}
	facility, isLocker := strings.CutPrefix(options.ServicePoint, lockerPrefix)
	to := &label.ToAddress
	to.FacilityID = facility
	to.IsLocker = isLocker
	to.HoldForPickup = !isLocker
	to.Email = c.to.Email
	label.FromAddress.Email = c.from.Email
}

// options returns the options of the package, and creates them if there are
// none yet.
func (p *packageDescription) options() *packageOptions {
	if p.PackageOptions == nil {
		p.PackageOptions = &packageOptions{}
	}
	return p.PackageOptions
}
