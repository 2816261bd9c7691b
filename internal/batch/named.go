package batch

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Carrier is one that a line can name.
type Carrier struct {
	Name     string // as the API calls it: "dhl_express"
	Title    string
	Services []Offered
}

// An Offered is a service of a carrier.
type Offered struct{ Code, Name string }

// reader reads the lines of a tenant's file.
type reader struct {
	meaning  Meaning
	tenant   ship.Tenant
	account  ship.Account
	carriers []Carrier // who can be named; none if no column names one
}

func (s *Service) reader(ctx context.Context, t ship.Tenant, m Meaning) (reader, error) {
	r := reader{meaning: m, tenant: t}
	var err error
	if r.account, err = s.Account(ctx, t.Account); err == nil && (m.has("carrier") || m.has("service")) {
		r.carriers, err = s.Carriers(ctx, t)
	}
	return r, err
}

// request is what a line asks for, checked as every order is, and what is
// wrong with it.
func (r reader) request(cells []string) (Request, []Wrong) {
	l := line{values: r.meaning.Values(cells)}
	in := Request{Tenant: r.tenant, Account: r.account, Order: l.order(r.account)}
	l.check(in.Order, ship.Normalizing{Tenant: r.tenant, Account: r.account, OneParcel: len(in.Order.Parcels) == 1, Now: time.Now().UTC()})
	in.Carrier, in.Service = l.named(r.carriers)
	return in, l.wrong
}

// named reads who shall sell the line, by code or by title; "" for what it
// leaves open. A service alone names its carrier too, if only one has it.
func (l *line) named(carriers []Carrier) (carrier, service string) {
	who, what := plain(l.values["carrier"]), plain(l.values["service"])
	if who != "" {
		carriers = matching(carriers, who)
		if len(carriers) != 1 {
			l.add("carrier", "is not a carrier that you can buy from: write its name, or leave it empty and the rules choose")
			return "", ""
		}
		carrier = carriers[0].Name
	}
	if what == "" {
		return carrier, ""
	}
	for _, c := range carriers {
		code := c.service(what)
		switch {
		case code == "":
		case service != "":
			l.add("service", "is a service of several carriers: name the carrier too")
			return "", ""
		default:
			carrier, service = c.Name, code
		}
	}
	if service == "" {
		l.add("service", "is not a service of the carrier: write its code or its name, or leave it empty and the cheapest is taken")
	}
	return carrier, service
}

// matching are the carriers of a folded word: by name or title, else those
// whose title begins so, as "DHL" is DHL Express.
func matching(carriers []Carrier, word string) (begin []Carrier) {
	for _, c := range carriers {
		if plain(c.Name) == word || plain(c.Title) == word {
			return []Carrier{c}
		}
		if len(word) >= 3 && strings.HasPrefix(plain(c.Title), word) {
			begin = append(begin, c)
		}
	}
	return begin
}

// service is the code of the service of a folded word: its code or name, with
// the carrier's own name before it or without; "" if there is none.
func (c Carrier) service(word string) string {
	bare := strings.TrimPrefix(word, plain(c.Title))
	for _, s := range c.Services {
		for _, known := range []string{plain(s.Code), plain(s.Name)} {
			if word == known || bare != "" && bare == strings.TrimPrefix(known, plain(c.Title)) {
				return s.Code
			}
		}
	}
	return ""
}
