package offers

import (
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// Why explains a choice from its trace. taken is the offer that was bought in
// the end.
func (c Catalog) Why(taken ship.Rate, routed ship.Routing) string {
	reason := routing.ReasonWords(routed)
	if reason == "" {
		return plainWhy(routed)
	}

	// The reason is about the first offer, which is not the one that was bought
	// if its carrier declined.
	first := taken
	declined := refusals(routed)
	if len(declined) > 0 {
		first = ship.Rate{Carrier: declined[0].Carrier, Service: declined[0].Service, Price: declined[0].Price}
	}
	text := chooser(routed) + c.priced(first, routed) + " " + reason
	if len(declined) > 0 {
		text += ". " + carrierNames(declined) + " declined"
		if last := declined[len(declined)-1]; last.Carrier != taken.Carrier || last.Service != taken.Service {
			text += ", so " + c.priced(taken, routed) + " was bought"
		}
	}

	if routed.RunnerUp != nil {
		text += "; next best is " + c.priced(*routed.RunnerUp, routed)
	}
	return parts.Sentence(text + routing.Notes(routed))
}

// plainWhy explains a choice whose trace has no reason: the order named it, or
// it was made before reasons were stored.
func plainWhy(routed ship.Routing) string {
	switch routed.Strategy {
	case "cheapest":
		return "The cheapest suitable offer was chosen."
	case "named":
		return "The order named the carrier or the service."
	case "rate":
		return "This rate was chosen in the request."
	case "rule":
		return "The rule “" + routed.Rule + "” chose it."
	case "default":
		return "No rule applied, so the default was used."
	}
	return ""
}

// chooser says who chose; the choice follows it.
func chooser(routed ship.Routing) string {
	switch routed.Strategy {
	case "rule":
		return "Rule “" + routed.Rule + "”: "
	case "default":
		return "No rule applied: "
	}
	return ""
}

// refusals returns the purchases that carriers declined, in their order. An
// entry without a service is a carrier that gave no offer.
func refusals(routed ship.Routing) []ship.FailedOffer {
	return slices.DeleteFunc(slices.Clone(routed.Failed), func(t ship.FailedOffer) bool { return t.Service == "" })
}

func carrierNames(attempts []ship.FailedOffer) string {
	var names []string
	for _, attempt := range attempts {
		if name := parts.CarrierTitle(attempt.Carrier); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return parts.JoinWords(names, "and")
}

// priced returns an offer and its price when the choice was made.
func (c Catalog) priced(offer ship.Rate, routed ship.Routing) string {
	price := offer.Price
	for _, seen := range routed.Seen {
		if seen.Carrier == offer.Carrier && seen.Service == offer.Service && seen.Connection == offer.Connection {
			price = seen.Price
		}
	}
	return c.Offer(offer) + " (" + parts.Money(price) + ")"
}

// RuleKey returns a rule's name as the ID of an element.
func RuleKey(name string) string {
	hash := fnv.New64a()
	hash.Write([]byte(name)) // never fails
	return strconv.FormatUint(hash.Sum64(), 36)
}
