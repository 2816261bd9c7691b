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

// A catalog resolves carriers, their services and the account's connections to
// the names that people use.
type catalog []catalogCarrier

type catalogCarrier struct {
	Name, Title string
	Services    []carrier.Service
	Accounts    []account.Connection
}

// offers lists the carriers of the visit's mode and their services.
func (v *visit) offers() catalog {
	var list catalog
	for _, spec := range v.Rules.Carriers(v.live) {
		i := slices.IndexFunc(list, func(known catalogCarrier) bool { return known.Name == spec.Name })
		if i < 0 {
			i = len(list)
			list = append(list, catalogCarrier{Name: spec.Name, Title: carrierTitle(spec.Name)})
		}

		for _, service := range spec.Services {
			if !slices.ContainsFunc(list[i].Services, func(known carrier.Service) bool { return known.Code == service.Code }) {
				list[i].Services = append(list[i].Services, service)
			}
		}
	}

	slices.SortFunc(list, func(a, b catalogCarrier) int { return cmp.Compare(a.Title, b.Title) })
	return list
}

// catalog lists what rules and rate sheets can name in the visit's mode.
func (v *visit) catalog() (catalog, error) {
	list := v.offers()
	connections, err := v.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}

	for _, connection := range connections {
		for i := range list {
			if list[i].Name == connection.Carrier && connection.RemovedAt.IsZero() {
				list[i].Accounts = append(list[i].Accounts, connection)
			}
		}
	}
	return list, nil
}

// find returns a carrier by its name, without services if it is no longer
// available.
func (c catalog) find(name string) catalogCarrier {
	for _, known := range c {
		if known.Name == name {
			return known
		}
	}
	return catalogCarrier{Name: name, Title: carrierTitle(name)}
}

// offer returns the carrier's name for a service, with the carrier before it:
// "USPS Ground Advantage". A service that no longer exists has the reported
// name, or else its code.
func (c catalogCarrier) offer(code, reported string) string {
	name := or(reported, plain(code))
	for _, service := range c.Services {
		if service.Code == code && service.Name != "" {
			name = service.Name
		}
	}

	// Some carriers put their own name, or a part of it, before the service's.
	first, _, _ := strings.Cut(c.Title, " ")
	if strings.HasPrefix(name, first+" ") {
		return name
	}
	if word, rest, many := strings.Cut(name, " "); many && strings.HasSuffix(c.Title, " "+word) {
		name = rest // "DHL Express domestic", not "DHL Express Express domestic"
	}
	return c.Title + " " + name
}

// target describes what a rule names.
func (c catalog) target(target routing.Target) string {
	known := c.find(target.Carrier)
	words := known.Title
	if target.Service != "" {
		words = known.offer(target.Service, "")
	}
	if target.ConnectionID != "" {
		words += " via " + known.account(target.ConnectionID)
	}
	return words
}

func (c catalogCarrier) account(id ship.ConnectionID) string {
	for _, connection := range c.Accounts {
		if connection.ID == id {
			return or(connection.Name, short(string(id)))
		}
	}
	return short(string(id))
}

func (c catalog) targets(list []routing.Target, between string) string {
	words := make([]string, len(list))
	for i, target := range list {
		words[i] = c.target(target)
	}
	return strings.Join(words, between)
}

// offer describes an offer's carrier and service.
func (c catalog) offer(rate ship.Rate) string {
	return c.find(rate.Carrier).offer(rate.Service, rate.ServiceName)
}

// A choiceGroup is a group of options in a long select.
type choiceGroup struct {
	Title   string
	Choices []choice
}

// targetValue encodes a target as one form value.
func targetValue(target routing.Target) string {
	return target.Carrier + "/" + target.Service + "/" + string(target.ConnectionID)
}

// targetOf decodes what targetValue encoded.
func targetOf(value string) routing.Target {
	parts := append(strings.SplitN(value, "/", 3), "", "", "")
	return routing.Target{Carrier: parts[0], Service: parts[1], ConnectionID: ship.ConnectionID(parts[2])}
}

// choices lists all targets by carrier, and the chosen one even if it is no
// longer available.
func (c catalog) choices(chosen string) []choiceGroup {
	found := chosen == ""
	var groups []choiceGroup
	for _, known := range c {
		group := choiceGroup{Title: known.Title}
		add := func(target routing.Target, title string) {
			value := targetValue(target)
			found = found || value == chosen
			group.Choices = append(group.Choices, choice{value, title})
		}

		// The empty connection stands for every account of the carrier.
		accounts := []ship.ConnectionID{""}
		for _, connection := range known.Accounts {
			accounts = append(accounts, connection.ID)
		}
		for _, id := range accounts {
			over := ""
			if id != "" {
				over = " via " + known.account(id)
			}

			add(routing.Target{Carrier: known.Name, ConnectionID: id}, known.Title+", any service"+over)
			for _, service := range known.Services {
				target := routing.Target{Carrier: known.Name, Service: service.Code, ConnectionID: id}
				add(target, known.offer(service.Code, "")+over)
			}
		}
		groups = append(groups, group)
	}

	// Without it, saving the form would silently replace the target by another.
	if !found {
		groups = append(groups, choiceGroup{"No longer available", []choice{{chosen, c.target(targetOf(chosen))}}})
	}
	return groups
}

// accountChoices lists the carriers and their connections, for a rate sheet.
func (c catalog) accountChoices() []choice {
	var list []choice
	for _, known := range c {
		all := routing.Target{Carrier: known.Name}
		list = append(list, choice{targetValue(all), known.Title + ", every account"})
		for _, connection := range known.Accounts {
			target := routing.Target{Carrier: known.Name, ConnectionID: connection.ID}
			list = append(list, choice{targetValue(target), known.Title + " via " + known.account(connection.ID)})
		}
	}
	return list
}
