package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// A catalog knows carriers, their services and the account's connections by
// the names that people use.
type catalog []catalogCarrier

type catalogCarrier struct {
	Name, Title string
	Services    []carrier.Service
	Accounts    []account.Connection
}

// offers lists the carriers of the visit's mode and their services.
func (v *visit) offers() catalog {
	var c catalog
	for _, spec := range v.Rules.Carriers(v.live) {
		i := slices.IndexFunc(c, func(known catalogCarrier) bool { return known.Name == spec.Name })
		if i < 0 {
			i = len(c)
			c = append(c, catalogCarrier{Name: spec.Name, Title: carrierTitle(spec.Name)})
		}
		for _, s := range spec.Services {
			if !slices.ContainsFunc(c[i].Services, func(known carrier.Service) bool { return known.Code == s.Code }) {
				c[i].Services = append(c[i].Services, s)
			}
		}
	}
	slices.SortFunc(c, func(a, b catalogCarrier) int { return cmp.Compare(a.Title, b.Title) })
	return c
}

// catalog lists what rules and rate sheets can name in the visit's mode.
func (v *visit) catalog() (catalog, error) {
	c := v.offers()
	connections, err := v.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}
	for _, conn := range connections {
		for i := range c {
			if c[i].Name == conn.Carrier && conn.RemovedAt.IsZero() {
				c[i].Accounts = append(c[i].Accounts, conn)
			}
		}
	}
	return c, nil
}

// find is a carrier by its name, one without services if it is not there any
// more.
func (c catalog) find(name string) catalogCarrier {
	for _, known := range c {
		if known.Name == name {
			return known
		}
	}
	return catalogCarrier{Name: name, Title: carrierTitle(name)}
}

// offer is what the carrier calls a service, with its own name before it:
// "USPS Ground Advantage". A service that it does not have any more is called
// as it was told, or else by its code.
func (c catalogCarrier) offer(code, told string) string {
	name := or(told, plain(code))
	for _, s := range c.Services {
		if s.Code == code && s.Name != "" {
			name = s.Name
		}
	}
	first, _, _ := strings.Cut(c.Title, " ")
	if strings.HasPrefix(name, first+" ") {
		return name
	}
	if word, rest, many := strings.Cut(name, " "); many && strings.HasSuffix(c.Title, " "+word) {
		name = rest // DHL Express domestic, not Express twice
	}
	return c.Title + " " + name
}

// target is what a rule names, in words.
func (c catalog) target(t routing.Target) string {
	known := c.find(t.Carrier)
	words := known.Title
	if t.Service != "" {
		words = known.offer(t.Service, "")
	}
	if t.ConnectionID != "" {
		words += " over " + known.account(t.ConnectionID)
	}
	return words
}

func (c catalogCarrier) account(id ship.ConnectionID) string {
	for _, conn := range c.Accounts {
		if conn.ID == id {
			return or(conn.Name, short(string(id)))
		}
	}
	return short(string(id))
}

func (c catalog) targets(list []routing.Target, between string) string {
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = c.target(t)
	}
	return strings.Join(words, between)
}

// offer is an offer's carrier and service in words.
func (c catalog) offer(r ship.Rate) string {
	return c.find(r.Carrier).offer(r.Service, r.ServiceName)
}

// A choiceGroup is a part of a long select.
type choiceGroup struct {
	Title   string
	Choices []choice
}

// targetValue is a target as one value of a form.
func targetValue(t routing.Target) string {
	return t.Carrier + "/" + t.Service + "/" + string(t.ConnectionID)
}

// targetOf reads it back.
func targetOf(value string) routing.Target {
	parts := append(strings.SplitN(value, "/", 3), "", "", "")
	return routing.Target{Carrier: parts[0], Service: parts[1], ConnectionID: ship.ConnectionID(parts[2])}
}

// choices are all targets, by carrier, and the one that is chosen even if it
// is not there any more.
func (c catalog) choices(chosen string) []choiceGroup {
	found := chosen == ""
	var groups []choiceGroup
	for _, known := range c {
		g := choiceGroup{Title: known.Title}
		add := func(t routing.Target, title string) {
			value := targetValue(t)
			found = found || value == chosen
			g.Choices = append(g.Choices, choice{value, title})
		}
		accounts := []ship.ConnectionID{""}
		for _, conn := range known.Accounts {
			accounts = append(accounts, conn.ID)
		}
		for _, id := range accounts {
			over := ""
			if id != "" {
				over = " over " + known.account(id)
			}
			add(routing.Target{Carrier: known.Name, ConnectionID: id}, known.Title+", any service"+over)
			for _, s := range known.Services {
				add(routing.Target{Carrier: known.Name, Service: s.Code, ConnectionID: id}, known.offer(s.Code, "")+over)
			}
		}
		groups = append(groups, g)
	}
	if !found {
		groups = append(groups, choiceGroup{"Not there any more", []choice{{chosen, c.target(targetOf(chosen))}}})
	}
	return groups
}

// accountChoices are the carriers and their connections, for a rate sheet.
func (c catalog) accountChoices() []choice {
	var list []choice
	for _, known := range c {
		list = append(list, choice{targetValue(routing.Target{Carrier: known.Name}), known.Title + ", every account"})
		for _, conn := range known.Accounts {
			list = append(list, choice{targetValue(routing.Target{Carrier: known.Name, ConnectionID: conn.ID}), known.Title + " over " + known.account(conn.ID)})
		}
	}
	return list
}
