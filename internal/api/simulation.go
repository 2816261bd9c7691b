package api

import (
	"fmt"
	"math"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// Simulation is the answer of POST /v1/routing/simulate, and what the command
// that does the same prints as JSON.
type Simulation struct {
	Shipments   int             `json:"shipments" doc:"Number of shipments considered."`
	Compared    int             `json:"compared" doc:"Number of these shipments that the figures cover."`
	Changed     int             `json:"changed" doc:"Number of these that would have used another carrier or service."`
	Named       int             `json:"named" doc:"Not compared: the client named the carrier or the rate, so no rule applies."`
	Unknown     int             `json:"unknown" doc:"Not compared: the offers at that time were not stored."`
	Foreign     int             `json:"foreign" doc:"Not compared: bought or offered in a currency other than the account's."`
	Refused     int             `json:"refused" doc:"Not compared: the rules would have bought nothing."`
	Requoted    int             `json:"requoted" doc:"Test shipments that the simulated carriers quoted again."`
	Approximate int             `json:"approximate" doc:"Compared at prices without the signature that the rules require, because it was not quoted at that time."`
	Currency    string          `json:"currency" example:"USD" doc:"ISO 4217 code of all amounts."`
	Was         simulatedSum    `json:"was" doc:"What was bought."`
	Is          simulatedSum    `json:"is" doc:"What the rules would have bought."`
	Saved       simulatedSaving `json:"saved" doc:"What the rules would have saved; negative for what they would have cost."`
	Carriers    []carrierPart   `json:"carriers" doc:"The same by carrier, ordered by name."`
	Zones       []zonePart      `json:"zones" doc:"The same by area of the destination, most shipments first."`
	Rules       []ruleCount     `json:"rules" doc:"Number of shipments that each rule would have decided, highest first."`
	Changes     []changeShown   `json:"changes" doc:"Shipments whose carrier or service would have changed, the newest 50."`
	Notes       []string        `json:"notes" doc:"Limits of the figures, as sentences."`
}

type simulatedSum struct {
	Shipments   int      `json:"shipments" doc:"Number of shipments."`
	Amount      string   `json:"amount" example:"1234.50" doc:"Their total cost, as a decimal amount."`
	AverageDays *float64 `json:"averageDays,omitempty" example:"2.8" doc:"Average days in transit of the shipments whose days are known for both choices; omitted if there are none."`
}

type simulatedSaving struct {
	Amount  string   `json:"amount" example:"98.70" doc:"Amount saved, as a decimal amount; negative if the rules cost more."`
	Percent float64  `json:"percent" example:"8" doc:"The same as a percentage of what was paid."`
	Days    *float64 `json:"days,omitempty" example:"-0.2" doc:"Average days saved per shipment; negative if the rules are slower. Omitted if no days are known."`
}

type carrierPart struct {
	Carrier string       `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Was     simulatedSum `json:"was" doc:"What was bought from the carrier."`
	Is      simulatedSum `json:"is" doc:"What the rules would have bought from the carrier."`
}

type zonePart struct {
	Zone  string          `json:"zone" example:"US-TX" doc:"Area of the destination."`
	Was   simulatedSum    `json:"was" doc:"What was bought for the area."`
	Is    simulatedSum    `json:"is" doc:"What the rules would have bought for the area."`
	Saved simulatedSaving `json:"saved" doc:"What the rules would have saved."`
}

type ruleCount struct {
	Rule      string `json:"rule,omitempty" example:"Heavy parcels by UPS" doc:"Name of the rule; omitted for the default."`
	Shipments int    `json:"shipments" doc:"Number of shipments that it would have decided."`
}

type changeShown struct {
	ShipmentID string     `json:"shipmentId" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The shipment."`
	OrderID    string     `json:"orderId" example:"ORD-1001" doc:"The client's order reference."`
	Was        wire.Offer `json:"was" doc:"What was bought."`
	Is         wire.Offer `json:"is" doc:"What the rules would have bought."`
	Saved      string     `json:"saved" example:"1.20" doc:"What that would have saved, as a decimal amount; negative if it costs more."`
	Rule       string     `json:"rule,omitempty" doc:"The rule that would have decided; omitted for the default."`
}

// SimulationOf returns a simulation as clients see it.
func SimulationOf(in rulebook.Simulation) Simulation {
	out := Simulation{
		Shipments:   in.Shipments,
		Compared:    in.Compared,
		Changed:     in.Changed,
		Named:       in.Named,
		Unknown:     in.Unknown,
		Foreign:     in.Foreign,
		Refused:     in.Refused,
		Requoted:    in.Requoted,
		Approximate: in.Approximate,
		Currency:    in.Currency,
		Was:         sumOf(in.Was, in.Currency),
		Is:          sumOf(in.Is, in.Currency),
		Saved:       savingOf(in.Was, in.Is, in.Currency),
		Carriers:    make([]carrierPart, len(in.Carriers)),
		Zones:       make([]zonePart, len(in.Zones)),
		Rules:       make([]ruleCount, len(in.Rules)),
		Changes:     make([]changeShown, len(in.Changes)),
		Notes:       notesOf(in),
	}

	for i, part := range in.Carriers {
		out.Carriers[i] = carrierPart{part.Name, sumOf(part.Was, in.Currency), sumOf(part.Is, in.Currency)}
	}
	for i, part := range in.Zones {
		out.Zones[i] = zonePart{
			Zone:  part.Name,
			Was:   sumOf(part.Was, in.Currency),
			Is:    sumOf(part.Is, in.Currency),
			Saved: savingOf(part.Was, part.Is, in.Currency),
		}
	}
	for i, count := range in.Rules {
		out.Rules[i] = ruleCount(count)
	}
	for i, change := range in.Changes {
		out.Changes[i] = changeOf(change)
	}
	return out
}

func sumOf(sum rulebook.Sum, currency string) simulatedSum {
	return simulatedSum{
		Shipments:   sum.Shipments,
		Amount:      ship.Money{Minor: sum.Minor, Currency: currency}.Amount(),
		AverageDays: averageOf(sum),
	}
}

// averageOf returns the days of an average shipment; nil if none are known.
func averageOf(sum rulebook.Sum) *float64 {
	if sum.Timed == 0 {
		return nil
	}
	return new(rounded(float64(sum.Days) / float64(sum.Timed)))
}

// rounded returns the value with two decimals.
func rounded(value float64) float64 { return math.Round(value*100) / 100 }

// savingOf compares sums of the same shipments.
func savingOf(was, is rulebook.Sum, currency string) simulatedSaving {
	saved := was.Minor - is.Minor
	out := simulatedSaving{Amount: ship.Money{Minor: saved, Currency: currency}.Amount()}
	if was.Minor != 0 {
		out.Percent = rounded(100 * float64(saved) / float64(was.Minor))
	}

	// Days compare only if both sums know them of equally many shipments.
	if was.Timed > 0 && was.Timed == is.Timed {
		out.Days = new(rounded(float64(was.Days-is.Days) / float64(was.Timed)))
	}
	return out
}

func changeOf(change rulebook.Change) changeShown {
	out := changeShown{
		ShipmentID: string(change.Shipment),
		OrderID:    change.OrderID,
		Was:        wire.OfferOf(change.Was),
		Is:         wire.OfferOf(change.Is),
		Saved:      ship.Money{Minor: change.Was.Price.Minor - change.Is.Price.Minor, Currency: change.Was.Price.Currency}.Amount(),
		Rule:       change.Rule,
	}

	// The source of a price is not stored with a purchase.
	out.Was.Source = ""
	out.Is.Source = ""
	return out
}

// notesOf states what limits the meaning of a simulation.
func notesOf(in rulebook.Simulation) []string {
	notes := []string{}
	if in.Shipments == 0 {
		return append(notes, "No shipments were bought in this period, so there is nothing to compare.")
	}

	add := func(count int, format string, args ...any) {
		if count > 0 {
			notes = append(notes, fmt.Sprintf(format, args...)+": "+shipmentCount(count)+".")
		}
	}
	add(in.Named, "Not compared, because the client named the carrier or the rate, so no rule applies")
	add(in.Unknown, "Not compared, because the offers at that time were not stored")
	add(in.Foreign, "Not compared, because they were or would be bought in a currency other than %s", in.Currency)
	add(in.Refused, "The rules would have bought nothing; not included in either total")
	add(in.Approximate, "Approximate: the rules require a signature that was not quoted at that time, so its price is not included in the totals")
	add(in.Requoted, "Quoted again by the simulated carriers, because the offers at that time were not stored or were for another signature")
	add(in.Compared-in.Was.Timed, "Not included in the average days, because they are not known for both choices")
	add(in.Changed-len(in.Changes), "Changed but not listed, because only the newest %d are shown", len(in.Changes))
	return notes
}

func shipmentCount(n int) string {
	if n == 1 {
		return "1 shipment"
	}
	return fmt.Sprintf("%d shipments", n)
}
