package sandbox

import "github.com/waybillhq/waybill/internal/ship"

// The reasons of exceptions that the sandbox can report.
const (
	ReasonAddress = "address_not_found"
	ReasonWeather = "weather_delay"
	ReasonCustoms = "customs_hold"
	ReasonRefused = "refused"
	ReasonReturn  = "return_to_sender"
	ReasonDamaged = "damaged"
	ReasonLost    = "lost"
)

// Reasons lists them. After a refused, returned, damaged or lost parcel nothing
// follows; after the others the parcel moves on.
var Reasons = []string{ReasonAddress, ReasonWeather, ReasonCustoms, ReasonRefused, ReasonReturn, ReasonDamaged, ReasonLost}

// scanCode is a carrier's code with its text.
type scanCode struct{ code, text string }

// scanCodes are the codes of a simulated carrier. Those of the steps differ
// from each other.
type scanCodes struct {
	pickedUp, departed, arrived, cleared, out, delivered, unknown  scanCode
	address, weather, customs, refused, returning, damaged, missed scanCode
}

// exception returns the step of an exception; without a reason, or with one
// that the sandbox does not know, the address was not found.
func (m *model) exception(reason, place string) step {
	codes := &m.scans
	code := codes.address
	switch reason {
	case ReasonWeather:
		code = codes.weather
	case ReasonCustoms:
		code = codes.customs
	case ReasonRefused:
		code = codes.refused
	case ReasonReturn:
		code = codes.returning
	case ReasonDamaged:
		code = codes.damaged
	case ReasonLost:
		code = codes.missed
	default:
		reason = ReasonAddress
	}
	return step{code, ship.Exception, reason, place}
}

var upsScans = scanCodes{
	pickedUp:  scanCode{"OR", "Origin scan"},
	departed:  scanCode{"DP", "Departed from facility"},
	arrived:   scanCode{"AR", "Arrived at facility"},
	cleared:   scanCode{"IP", "Import processing completed"},
	out:       scanCode{"OT", "Out for delivery"},
	delivered: scanCode{"D", "Delivered"},
	unknown:   scanCode{"ZX", "Status 9Q"},
	address:   scanCode{"A1", "The address could not be found"},
	weather:   scanCode{"W1", "Severe weather has delayed delivery"},
	customs:   scanCode{"CH", "Held by customs"},
	refused:   scanCode{"RF", "The receiver refused the package"},
	returning: scanCode{"RS", "Returning to sender"},
	damaged:   scanCode{"DM", "The package is damaged"},
	missed:    scanCode{"LP", "The package is lost"},
}

var uspsScans = scanCodes{
	pickedUp:  scanCode{"03", "Accepted at USPS origin facility"},
	departed:  scanCode{"10", "Processed through USPS facility"},
	arrived:   scanCode{"07", "Arrived at USPS regional facility"},
	cleared:   scanCode{"62", "Processed through customs"},
	out:       scanCode{"OF", "Out for delivery"},
	delivered: scanCode{"01", "Delivered"},
	unknown:   scanCode{"9Q", "Event 9Q"},
	address:   scanCode{"22", "Insufficient address"},
	weather:   scanCode{"WX", "Delayed by weather"},
	customs:   scanCode{"63", "Held in customs"},
	refused:   scanCode{"04", "Refused"},
	returning: scanCode{"09", "Return to sender"},
	damaged:   scanCode{"DG", "Damaged in handling"},
	missed:    scanCode{"LS", "Lost in the mail"},
}

var fedexScans = scanCodes{
	pickedUp:  scanCode{"PU", "Picked up"},
	departed:  scanCode{"DP", "Left FedEx origin facility"},
	arrived:   scanCode{"AR", "Arrived at FedEx hub"},
	cleared:   scanCode{"CC", "International shipment release"},
	out:       scanCode{"OD", "On FedEx vehicle for delivery"},
	delivered: scanCode{"DL", "Delivered"},
	unknown:   scanCode{"QX", "Event QX"},
	address:   scanCode{"AD", "Incorrect address"},
	weather:   scanCode{"WD", "Delayed by weather"},
	customs:   scanCode{"CD", "Clearance delay"},
	refused:   scanCode{"RD", "Refused by recipient"},
	returning: scanCode{"RS", "Returning package to shipper"},
	damaged:   scanCode{"DG", "Damaged"},
	missed:    scanCode{"LO", "Package lost"},
}

var dhlScans = scanCodes{
	pickedUp:  scanCode{"PU", "Shipment picked up"},
	departed:  scanCode{"DF", "Departed facility"},
	arrived:   scanCode{"AF", "Arrived at facility"},
	cleared:   scanCode{"CR", "Clearance processing complete"},
	out:       scanCode{"WC", "With delivery courier"},
	delivered: scanCode{"OK", "Delivered"},
	unknown:   scanCode{"QQ", "Event QQ"},
	address:   scanCode{"BA", "Address incorrect"},
	weather:   scanCode{"WE", "Delayed by weather"},
	customs:   scanCode{"CD", "Clearance delay"},
	refused:   scanCode{"RD", "Recipient refused delivery"},
	returning: scanCode{"RT", "Returned to shipper"},
	damaged:   scanCode{"DM", "Shipment damaged"},
	missed:    scanCode{"LX", "Shipment lost"},
}
