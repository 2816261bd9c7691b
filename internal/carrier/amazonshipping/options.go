package amazonshipping

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options. Amazon leaves offers
// that do not go to an access point out of its quote.
var extraServices = carrier.Extras{ship.ExtraServicePoint: carrier.EveryService}
