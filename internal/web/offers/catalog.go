// Package offers names what carriers offer and explains why an offer was
// chosen, on the pages of shipments and of routing alike.
package offers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A Catalog resolves carriers, their services and the account's connections to
// the names that people use.
type Catalog []Carrier

// A Carrier is a carrier with its services and the account's connections to it.
type Carrier struct {
	Name, Title string
	Services    []carrier.Service
	Accounts    []account.Connection
}

// ServicesOf lists the carriers of the visit's mode and their services.
func ServicesOf(v *site.Visit) Catalog {
	var list Catalog
	for _, spec := range v.Rules.Carriers(v.Live) {
		i := slices.IndexFunc(list, func(known Carrier) bool { return known.Name == spec.Name })
		if i < 0 {
			i = len(list)
			list = append(list, Carrier{Name: spec.Name, Title: parts.CarrierTitle(spec.Name)})
		}

		for _, service := range spec.Services {
			if !slices.ContainsFunc(list[i].Services, func(known carrier.Service) bool { return known.Code == service.Code }) {
				list[i].Services = append(list[i].Services, service)
			}
		}
	}

	slices.SortFunc(list, func(a, b Carrier) int { return cmp.Compare(a.Title, b.Title) })
	return list
}

// CatalogOf lists what rules and rate sheets can name in the visit's mode.
func CatalogOf(v *site.Visit) (Catalog, error) {
	list := ServicesOf(v)
	connections, err := v.Account.Connections(v.Context(), v.Tenant())
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
func (c Catalog) find(name string) Carrier {
	for _, known := range c {
		if known.Name == name {
			return known
		}
	}
	return Carrier{Name: name, Title: parts.CarrierTitle(name)}
}

// offer returns the carrier's name for a service, with the carrier before it:
// "USPS Ground Advantage". A service that no longer exists has the reported
// name, or else its code.
func (c Carrier) offer(code, reported string) string {
	name := cmp.Or(reported, parts.Plain(code))
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

// Target describes what a rule names.
func (c Catalog) Target(target routing.Target) string {
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

func (c Carrier) account(id ship.ConnectionID) string {
	for _, connection := range c.Accounts {
		if connection.ID == id {
			return cmp.Or(connection.Name, parts.ShortID(string(id)))
		}
	}
	return parts.ShortID(string(id))
}

// Targets describes a list of targets.
func (c Catalog) Targets(list []routing.Target, between string) string {
	words := make([]string, len(list))
	for i, target := range list {
		words[i] = c.Target(target)
	}
	return strings.Join(words, between)
}

// Offer describes an offer's carrier and service.
func (c Catalog) Offer(rate ship.Rate) string {
	return c.find(rate.Carrier).offer(rate.Service, rate.ServiceName)
}

// TargetValue encodes a target as one form value.
func TargetValue(target routing.Target) string {
	return target.Carrier + "/" + target.Service + "/" + string(target.ConnectionID)
}

// ParseTarget decodes what TargetValue encoded.
func ParseTarget(value string) routing.Target {
	parts := append(strings.SplitN(value, "/", 3), "", "", "")
	return routing.Target{Carrier: parts[0], Service: parts[1], ConnectionID: ship.ConnectionID(parts[2])}
}

// Choices lists all targets by carrier, and the chosen one even if it is no
// longer available.
func (c Catalog) Choices(chosen string) []parts.ChoiceGroup {
	found := chosen == ""
	var groups []parts.ChoiceGroup
	for _, known := range c {
		group := parts.ChoiceGroup{Title: known.Title}
		add := func(target routing.Target, title string) {
			value := TargetValue(target)
			found = found || value == chosen
			group.Choices = append(group.Choices, parts.Choice{Value: value, Title: title})
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
		groups = append(groups, parts.ChoiceGroup{Title: "No longer available", Choices: []parts.Choice{{Value: chosen, Title: c.Target(ParseTarget(chosen))}}})
	}
	return groups
}

// AccountChoices lists the carriers and their connections, for a rate sheet.
func (c Catalog) AccountChoices() []parts.Choice {
	var list []parts.Choice
	for _, known := range c {
		all := routing.Target{Carrier: known.Name}
		list = append(list, parts.Choice{Value: TargetValue(all), Title: known.Title + ", every account"})
		for _, connection := range known.Accounts {
			target := routing.Target{Carrier: known.Name, ConnectionID: connection.ID}
			list = append(list, parts.Choice{Value: TargetValue(target), Title: known.Title + " via " + known.account(connection.ID)})
		}
	}
	return list
}
