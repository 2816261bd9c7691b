package web

import (
	"slices"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// why is a choice in words, made of what its trace says. The offer is the one
// that was taken in the end.
func (c catalog) why(taken ship.Rate, r ship.Routing) string {
	reason := routing.ReasonWords(r)
	if reason == "" {
		return plainWhy(r)
	}
	first, no := taken, refusals(r)
	if len(no) > 0 {
		first = ship.Rate{Carrier: no[0].Carrier, Service: no[0].Service, Price: no[0].Price}
	}
	text := chooser(r) + c.priced(first, r) + " " + reason
	if len(no) > 0 {
		text += ". " + noSellers(no) + " did not sell"
		if last := no[len(no)-1]; last.Carrier != taken.Carrier || last.Service != taken.Service {
			text += ", so " + c.priced(taken, r) + " was taken"
		}
	}
	if r.RunnerUp != nil {
		text += "; next is " + c.priced(*r.RunnerUp, r)
	}
	return sentence(text + routing.Notes(r))
}

// plainWhy is a choice whose trace has no reason: the order named it, or it was
// made before reasons were stored.
func plainWhy(r ship.Routing) string {
	switch r.Strategy {
	case "cheapest":
		return "The cheapest offer that fits was taken."
	case "named":
		return "The order named the carrier or the service."
	case "rate":
		return "This rate was chosen in the request."
	case "rule":
		return "The rule “" + r.Rule + "” chose it."
	case "default":
		return "No rule decided, so what the rules say for the rest did."
	}
	return ""
}

// chooser is who chose, before what was chosen.
func chooser(r ship.Routing) string {
	switch r.Strategy {
	case "rule":
		return "Rule “" + r.Rule + "”: "
	case "default":
		return "No rule decides: "
	}
	return ""
}

// refusals are the carriers that were asked to sell and did not, in their
// order.
func refusals(r ship.Routing) []ship.Tried {
	return slices.DeleteFunc(slices.Clone(r.Failed), func(t ship.Tried) bool { return t.Service == "" })
}

func noSellers(list []ship.Tried) string {
	var names []string
	for _, t := range list {
		if name := carrierTitle(t.Carrier); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return joinWords(names, "and")
}

// priced is an offer and what it was to cost when the choice was made.
func (c catalog) priced(o ship.Rate, r ship.Routing) string {
	price := o.Price
	for _, seen := range r.Seen {
		if seen.Carrier == o.Carrier && seen.Service == o.Service && seen.Connection == o.Connection {
			price = seen.Price
		}
	}
	return c.offer(o) + " (" + money(price) + ")"
}
