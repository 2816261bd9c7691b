package carrier

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// Extras are the options of shipments that a carrier can do, each with the codes
// of the services that can. What is not listed, the carrier cannot do at all.
//
// A signature of the carrier's own kind, an adult signature, Saturday delivery
// and insurance are not listed: drivers refuse them where they must.
type Extras map[ship.Extra][]string

// EveryService stands for all services of a carrier.
var EveryService = []string{"*"}

// Except returns the codes of all services but some.
func Except(services []Service, codes ...string) []string {
	var list []string
	for _, service := range services {
		if !slices.Contains(codes, service.Code) {
			list = append(list, service.Code)
		}
	}
	return list
}

// can reports whether a service can do an extra.
func (e Extras) can(extra ship.Extra, service string) bool {
	able := e[extra]
	return slices.Contains(able, service) || len(able) > 0 && able[0] == EveryService[0]
}

// A Removal is an offer that was left out because its service cannot do what
// the order asks for.
type Removal struct {
	Carrier     string
	Service     string
	ServiceName string
	Extra       ship.Extra
}

// Message says why the offer was left out.
func (r Removal) Message() string { return r.ServiceName + " does not offer " + r.Extra.String() }

// CheckExtras returns why the carrier cannot take an order that asks for the
// extras, whatever the service; nil if a service may.
func (c *Carrier) CheckExtras(extras []ship.Extra) error {
	var invalid []ship.FieldError
	for _, extra := range extras {
		if len(c.spec.Extras[extra]) == 0 {
			invalid = append(invalid, c.lacks(c.spec.Title, extra))
		}
	}
	return c.explain(ship.InvalidFields(invalid), ship.Invalid)
}

// checkService is CheckExtras for one service.
func (c *Carrier) checkService(order *ship.Order, code string) error {
	extras := order.Options.Extras()
	if extras == nil {
		return nil
	}

	name := c.spec.Title
	if service, ok := c.spec.Service(code); ok {
		name = service.Name
	}
	var invalid []ship.FieldError
	for _, extra := range extras {
		if !c.spec.Extras.can(extra, code) {
			invalid = append(invalid, c.lacks(name, extra))
		}
	}
	return c.explain(ship.InvalidFields(invalid), ship.Invalid)
}

func (c *Carrier) lacks(name string, extra ship.Extra) ship.FieldError {
	return ship.FieldError{
		Pointer: extra.Pointer(),
		Code:    "unsupported",
		Detail:  name + " does not offer " + extra.String(),
	}
}

// RemoveUnable leaves out the rates of services that cannot do all extras.
func (c *Carrier) RemoveUnable(rates []ship.Rate, extras []ship.Extra) (able []ship.Rate, removed []Removal) {
	for _, rate := range rates {
		i := slices.IndexFunc(extras, func(extra ship.Extra) bool { return !c.spec.Extras.can(extra, rate.Service) })
		if i < 0 {
			able = append(able, rate)
			continue
		}
		removed = append(removed, Removal{
			Carrier:     c.spec.Name,
			Service:     rate.Service,
			ServiceName: rate.ServiceName,
			Extra:       extras[i],
		})
	}
	return able, removed
}
