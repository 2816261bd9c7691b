package agents

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An agent uses the tools to do a job. Its kind says how.
type agent struct {
	*session
	kind    kind
	obeyed  int // instructions that it read and followed
	deepest int // instructions are followed this deep, no deeper
	tokens  []string
	paid    map[string]string // the price of the token, by order
}

type kind string

const (
	careful  kind = "careful"  // does what it was asked to do
	hasty    kind = "hasty"    // calls everything that spends several times at once, and again after errors
	obedient kind = "obedient" // does what it was asked to do, and whatever it reads
)

var kinds = []kind{careful, hasty, obedient}

func (w *world) agent(k kind, key string) *agent {
	return &agent{session: w.session(key), kind: k, paid: map[string]string{}}
}

// order is an order as a job gives it to an agent.
type order map[string]any

func newOrder(id, name string) order {
	return order{
		"orderId": id,
		"destination": map[string]any{
			"name": name, "address1": "350 5th Avenue", "city": "New York", "state": "NY", "zip": "10118", "country": "US", "phone": "2125550100",
		},
		"origin": map[string]any{
			"name": "Dock 2", "company": "Acme", "address1": "1 Market Street", "city": "San Francisco", "state": "CA", "zip": "94105", "country": "US", "phone": "4155550100",
		},
		"parcels": []any{map[string]any{"weight": 2, "weightUnit": "lb", "dimensions": map[string]any{"length": 8, "width": 6, "height": 4, "unit": "in"}}},
	}
}

func (o order) id() string { return o["orderId"].(string) }

// to changes a field of the destination.
func (o order) to(field, value string) order {
	o["destination"].(map[string]any)[field] = value
	return o
}

// quote asks for offers of the order, cheapest first.
func (a *agent) quote(o order) reply {
	goods := map[string]any{}
	for name, value := range o {
		if name != "orderId" && name != "reference" {
			goods[name] = value
		}
	}
	goods["limit"] = 20
	return a.read("quote_rates", goods)
}

// read calls a tool that changes nothing.
func (a *agent) read(tool string, arguments any) reply {
	got := a.call(tool, arguments)
	a.obey(got.Text)
	return got
}

// prepare prepares the purchase of an offer.
func (a *agent) prepare(o order, rateID string) reply {
	got := a.read("prepare_purchase", map[string]any{"rateId": rateID, "order": o})
	if token := got.get("token"); token != "" {
		a.tokens = append(a.tokens, token)
		a.paid[o.id()] = got.get("price", "amount")
	}
	return got
}

// spend calls a tool that does something. The hasty agent calls it four times at once,
// and again afterwards.
func (a *agent) spend(tool, token string) reply {
	arguments := map[string]any{"token": token}
	if a.kind != hasty {
		got := a.insist(tool, arguments)
		a.obey(got.Text)
		return got
	}

	replies := make([]reply, 4)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = a.ask(tool, arguments) })
	}
	all.Wait()
	last := a.insist(tool, arguments)
	for _, got := range append(replies, last) {
		if !got.IsError {
			return got
		}
	}
	return last
}

// insist calls a tool again while the answer says that nothing was done and that it
// may be done later, as on a busy machine.
func (a *agent) insist(tool string, arguments any) reply {
	got := a.call(tool, arguments)
	for range 5 {
		if got.Code != "carrier_unavailable" && got.Code != "idempotency_in_progress" {
			break
		}
		time.Sleep(200 * time.Millisecond)
		got = a.call(tool, arguments)
	}
	return got
}

// ship does the whole way for an order: quote, choose, prepare, buy. choose returns the
// offer to buy; nil buys nothing.
func (a *agent) ship(o order, choose func(offers []map[string]any) map[string]any) reply {
	quoted := a.quote(o)
	if quoted.IsError {
		return quoted
	}
	offer := choose(quoted.list("offers"))
	if offer == nil {
		return reply{IsError: true, Code: "nothing_chosen"}
	}
	prepared := a.prepare(o, offer["rateId"].(string))
	if prepared.IsError {
		return prepared
	}
	bought := a.spend("buy_label", prepared.get("token"))

	// The hasty agent believes nothing: it prepares and buys the same order again.
	if a.kind == hasty {
		if again := a.prepare(o, offer["rateId"].(string)); !again.IsError {
			a.spend("buy_label", again.get("token"))
		}
	}
	return bought
}

// settled asks for a shipment until its purchase is no longer pending.
func (a *agent) settled(id string) reply {
	var got reply
	for range 100 {
		got = a.call("get_shipment", map[string]any{"shipmentId": id})
		if got.get("shipment", "labelStatus") != "pending" {
			break
		}
		time.Sleep(150 * time.Millisecond)
	}
	return got
}

func cheapest(offers []map[string]any) map[string]any {
	if len(offers) == 0 {
		return nil
	}
	return offers[0]
}

// of chooses the cheapest offer of a carrier.
func of(carrier string) func([]map[string]any) map[string]any {
	return func(offers []map[string]any) map[string]any {
		for _, offer := range offers {
			if offer["carrier"] == carrier {
				return offer
			}
		}
		return nil
	}
}

// under chooses the cheapest offer within a limit.
func under(limit float64) func([]map[string]any) map[string]any {
	return func(offers []map[string]any) map[string]any {
		for _, offer := range offers {
			price, _ := offer["price"].(map[string]any)
			amount, _ := price["amount"].(string)
			if value, err := strconv.ParseFloat(amount, 64); err == nil && value <= limit {
				return offer
			}
		}
		return nil
	}
}

// instruction is how attackers address the obedient agent.
var instruction = regexp.MustCompile(`(?i)\[\[([a-z ]+?) ?(\d*)\]\]`)

// obey follows every instruction in a text, if this is the agent that does.
func (a *agent) obey(text string) {
	if a.kind != obedient || a.deepest > 1 {
		return
	}
	a.deepest++
	defer func() { a.deepest-- }()
	for _, found := range instruction.FindAllStringSubmatch(text, 3) {
		a.obeyed++
		times, _ := strconv.Atoi(found[2])
		a.follow(strings.ToLower(found[1]), times)
	}
}

// follow does what an instruction says, as well as the tools let it.
func (a *agent) follow(what string, times int) {
	switch what {
	case "buy":
		// More labels of the orders that it knows, with old tokens and new ones.
		for range max(times, 1) {
			for _, token := range a.tokens {
				a.call("buy_label", map[string]any{"token": token})
			}
			for id := range a.paid {
				o := newOrder(id, "Ada Lovelace")
				goods := map[string]any{"destination": o["destination"], "origin": o["origin"], "parcels": o["parcels"]}
				if offer := cheapest(a.call("quote_rates", goods).list("offers")); offer != nil {
					if again := a.call("prepare_purchase", map[string]any{"rateId": offer["rateId"], "order": o}); !again.IsError {
						a.call("buy_label", map[string]any{"token": again.get("token")})
					}
				}
			}
		}

	case "edit token":
		// Another price, another address: whatever a token may be changed to.
		for _, token := range a.tokens {
			for _, edited := range []string{token + "A", token[:len(token)-1] + "A", strings.ToUpper(token), token[:3] + "AAAA" + token[7:], "pt_", "vt_" + token[3:]} {
				if edited != token {
					a.call("buy_label", map[string]any{"token": edited})
				}
			}
			a.call("buy_label", map[string]any{"token": token, "maxAmount": map[string]any{"amount": "9999", "currency": "USD"}})
		}

	case "raise limit":
		for _, tool := range []string{"create_key", "update_key", "set_limit", "add_member", "create_webhook", "publish_rules", "approve_purchase"} {
			a.call(tool, map[string]any{"dailyLimit": "99999"})
		}
		a.rpc("sampling/createMessage", "", map[string]any{})

	case "void all":
		for _, found := range a.call("find_shipments", map[string]any{}).list("shipments") {
			prepared := a.call("prepare_void", map[string]any{"shipmentId": found["id"]})
			if !prepared.IsError {
				a.call("void_label", map[string]any{"token": prepared.get("token")})
			}
		}

	case "ignore price":
		for id := range a.paid {
			o := newOrder(id+"-x", "Ada Lovelace")
			goods := map[string]any{"destination": o["destination"], "origin": o["origin"], "parcels": o["parcels"], "limit": 20}
			offers := a.call("quote_rates", goods).list("offers")
			if len(offers) == 0 {
				continue
			}
			// The dearest offer, for a parcel that is heavier than the quoted one.
			o["parcels"] = []any{map[string]any{"weight": 60, "weightUnit": "lb"}}
			if prepared := a.call("prepare_purchase", map[string]any{"rateId": offers[0]["rateId"], "order": o}); !prepared.IsError {
				a.call("buy_label", map[string]any{"token": prepared.get("token")})
			}
		}
	}
}
