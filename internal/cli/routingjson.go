package cli

import (
	"math"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// shownSimulation has the members of POST /v1/routing/simulate's answer.
type shownSimulation struct {
	Shipments   int           `json:"shipments"`
	Compared    int           `json:"compared"`
	Changed     int           `json:"changed"`
	Named       int           `json:"named"`
	Unknown     int           `json:"unknown"`
	Foreign     int           `json:"foreign"`
	Refused     int           `json:"refused"`
	Requoted    int           `json:"requoted"`
	Approximate int           `json:"approximate"`
	Currency    string        `json:"currency"`
	Was         shownSum      `json:"was"`
	Is          shownSum      `json:"is"`
	Saved       shownSaving   `json:"saved"`
	Carriers    []shownPart   `json:"carriers"`
	Zones       []shownPart   `json:"zones"`
	Rules       []shownRule   `json:"rules"`
	Changes     []shownChange `json:"changes"`
	Notes       []string      `json:"notes"`
}

type shownSum struct {
	Shipments   int      `json:"shipments"`
	Amount      string   `json:"amount"`
	AverageDays *float64 `json:"averageDays,omitempty"`
}

type shownSaving struct {
	Amount  string   `json:"amount"`
	Percent float64  `json:"percent"`
	Days    *float64 `json:"days,omitempty"`
}

type shownPart struct {
	Carrier string       `json:"carrier,omitempty"`
	Zone    string       `json:"zone,omitempty"`
	Was     shownSum     `json:"was"`
	Is      shownSum     `json:"is"`
	Saved   *shownSaving `json:"saved,omitempty"` // of a zone
}

type shownRule struct {
	Rule      string `json:"rule,omitempty"`
	Shipments int    `json:"shipments"`
}

type shownChange struct {
	ShipmentID ship.ShipmentID `json:"shipmentId"`
	OrderID    string          `json:"orderId"`
	Was        wire.Offer      `json:"was"`
	Is         wire.Offer      `json:"is"`
	Saved      string          `json:"saved"`
	Rule       string          `json:"rule,omitempty"`
}

func shownSimulationOf(in rulebook.Simulation) shownSimulation {
	r := report{Simulation: in}
	out := shownSimulation{
		Shipments: in.Shipments, Compared: in.Compared, Changed: in.Changed, Named: in.Named, Unknown: in.Unknown, Foreign: in.Foreign, Refused: in.Refused,
		Requoted: in.Requoted, Approximate: in.Approximate, Currency: in.Currency, Was: r.sum(in.Was), Is: r.sum(in.Is), Saved: r.saving(in.Was, in.Is),
		Carriers: []shownPart{}, Zones: []shownPart{}, Rules: []shownRule{}, Changes: []shownChange{}, Notes: r.notes(),
	}
	for _, p := range in.Carriers {
		out.Carriers = append(out.Carriers, shownPart{Carrier: p.Name, Was: r.sum(p.Was), Is: r.sum(p.Is)})
	}
	for _, p := range in.Zones {
		out.Zones = append(out.Zones, shownPart{Zone: p.Name, Was: r.sum(p.Was), Is: r.sum(p.Is), Saved: new(r.saving(p.Was, p.Is))})
	}
	for _, rule := range in.Rules {
		out.Rules = append(out.Rules, shownRule(rule))
	}
	for _, c := range in.Changes {
		was, is := wire.OfferOf(c.Was), wire.OfferOf(c.Is)
		was.Source, is.Source = "", "" // of a purchase it is not kept
		out.Changes = append(out.Changes, shownChange{c.Shipment, c.OrderID, was, is, r.amount(c.Was.Price.Minor - c.Is.Price.Minor), c.Rule})
	}
	return out
}

func (r report) sum(s rulebook.Sum) shownSum {
	out := shownSum{Shipments: s.Shipments, Amount: r.amount(s.Minor)}
	if s.Timed > 0 {
		out.AverageDays = new(hundredths(float64(s.Days) / float64(s.Timed)))
	}
	return out
}

func (r report) saving(was, is rulebook.Sum) shownSaving {
	out := shownSaving{Amount: r.amount(was.Minor - is.Minor)}
	if was.Minor != 0 {
		out.Percent = hundredths(100 * float64(was.Minor-is.Minor) / float64(was.Minor))
	}
	if was.Timed > 0 {
		out.Days = new(hundredths(float64(was.Days-is.Days) / float64(was.Timed)))
	}
	return out
}

func hundredths(f float64) float64 { return math.Round(f*100) / 100 }
