package batch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Carrier is one that a line can name.
type Carrier struct {
	Name     string // as the API calls it: "dhl_express"
	Title    string
	Origins  []string // the countries that it takes parcels from; none for all
	Services []Offered
}

// An Offered is a service of a carrier.
type Offered struct{ Code, Name string }

// reader reads the lines of a tenant's file.
type reader struct {
	meaning  ColumnMapping
	tenant   ship.Tenant
	account  ship.Account
	carriers []Carrier // that a line can name; none if no column names one

	locations []ship.Location // likewise
}

func (s *Service) newReader(ctx context.Context, t ship.Tenant, meaning ColumnMapping) (reader, error) {
	account, err := s.Account(ctx, t)
	read := reader{meaning: meaning, tenant: t, account: account}
	if err != nil {
		return read, err
	}

	if meaning.has("carrier") || meaning.has("service") {
		if read.carriers, err = s.Carriers(ctx, t); err != nil {
			return read, err
		}
	}
	if meaning.has("location") {
		read.locations, err = s.Store.Locations(ctx, t)
	}
	return read, err
}

// request is the request of a line, validated as every order is, and the
// problems with it.
func (r reader) request(cells []string) (Request, []Problem) {
	line := line{values: r.meaning.Values(cells)}
	request := Request{
		Tenant:      r.tenant,
		Account:     r.account,
		Order:       line.order(r.account, r.locations),
		OnDuplicate: "reject",
	}
	request.OneParcel = len(request.Order.Parcels) == 1
	line.check(request.Order, ship.Normalizing{
		Tenant:    r.tenant,
		Account:   r.account,
		OneParcel: request.OneParcel,
		Now:       time.Now().UTC(),
	})
	request.Carrier, request.Service = line.carrierAndService(r.carriers, homeCountry(request.Order, r.account))
	return request, line.problems
}

// carrierAndService reads which carrier and service the line names, by code or
// by title; "" for what it leaves open. A service alone names its carrier too,
// if only one has it.
func (l *line) carrierAndService(carriers []Carrier, origin string) (carrier, service string) {
	carrierWord := fold(l.values["carrier"])
	serviceWord := fold(l.values["service"])

	if carrierWord != "" {
		carriers = matchingCarriers(carriers, carrierWord, origin)
		if len(carriers) != 1 {
			l.add("carrier", "is not one of your carriers: enter the name of a connected carrier, or leave it empty to let the rules choose")
			return "", ""
		}
		carrier = carriers[0].Name
	}
	if serviceWord == "" {
		return carrier, ""
	}

	for _, candidate := range carriers {
		code := candidate.serviceCode(serviceWord)
		switch {
		case code == "":
		case service != "":
			l.add("service", "is offered by several carriers: enter the carrier too")
			return "", ""
		default:
			carrier = candidate.Name
			service = code
		}
	}
	if service == "" {
		l.add("service", "is not a service of this carrier: enter its code or name, or leave it empty to use the cheapest")
	}
	return carrier, service
}

// leaveFrom has the order leave from the location that the line names, if it does.
func (l *line) leaveFrom(order *ship.Order, locations []ship.Location) {
	word := fold(l.values["location"])
	if word == "" {
		return
	}

	var names []string
	for _, location := range locations {
		if fold(location.Name) == word {
			order.LeaveFrom(location)
			return
		}
		names = append(names, location.Name)
	}

	detail := "is not one of your locations: enter the name of one, or leave it empty to use the default"
	if nearest := ship.Nearest(l.values["location"], names); nearest != "" {
		detail += "; did you mean " + nearest + "?"
	}
	l.add("location", detail)
}

// matchingCarriers are the carriers of a folded word: by name or title, else
// those whose title begins with it and that take parcels from the origin, as "DHL" is
// DHL Express outside Germany.
func matchingCarriers(carriers []Carrier, word, origin string) (byPrefix []Carrier) {
	for _, candidate := range carriers {
		if fold(candidate.Name) == word || fold(candidate.Title) == word {
			return []Carrier{candidate}
		}
		takes := len(candidate.Origins) == 0 || slices.Contains(candidate.Origins, origin)
		if takes && len(word) >= 3 && strings.HasPrefix(fold(candidate.Title), word) {
			byPrefix = append(byPrefix, candidate)
		}
	}
	return byPrefix
}

// serviceCode is the code of the service of a folded word: its code or name,
// with the carrier's own name before it or without; "" if there is none.
func (c Carrier) serviceCode(word string) string {
	title := fold(c.Title)
	bare := strings.TrimPrefix(word, title)
	for _, service := range c.Services {
		for _, known := range []string{fold(service.Code), fold(service.Name)} {
			if word == known || bare != "" && bare == strings.TrimPrefix(known, title) {
				return service.Code
			}
		}
	}
	return ""
}
