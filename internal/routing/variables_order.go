package routing

import (
	"math"
	"strings"
	"time"

	"cel.dev/cel-go/common/types/ref"

	"github.com/waybillhq/waybill/internal/ship"
)

// The longest values that rules read, in characters: what an order may hold.
const (
	codeSize = 10
	lineSize = 100
	noteSize = 500
)

var placeVariables = []variable{
	text("destination.country", codeSize, "Destination country, as a two-letter code.", `destination.country == "US"`,
		func(s *scope) string { return s.in.Order.Destination.Country }).country(),
	text("destination.state", 50, "Destination state or province, as a code where the country's codes are known.", `destination.state in ["AK", "HI"]`,
		func(s *scope) string { return s.in.Order.Destination.State }),
	text("destination.city", lineSize, "Destination city, as the client wrote it.", `destination.city.lowerAscii() == "new york"`,
		func(s *scope) string { return s.in.Order.Destination.City }),
	text("destination.zip", 20, "Destination postal code, in the country's format.", `destination.zip.startsWith("99")`,
		func(s *scope) string { return s.in.Order.Destination.Zip }),
	boolean("destination.residential", "Whether the client marked the address as residential; false if not given.", `destination.residential`,
		func(s *scope) bool { r := s.in.Order.Destination.Residential; return r != nil && *r }),
	text("destination.company", lineSize, "Destination company, empty for a person.", `destination.company != ""`,
		func(s *scope) string { return s.in.Order.Destination.Company }),
	text("origin.country", codeSize, "Origin country, as a two-letter code.", `origin.country == "CA"`,
		func(s *scope) string { return s.in.Order.Origin.Country }).country(),
	text("origin.state", 50, "Origin state or province.", `origin.state == "NJ"`,
		func(s *scope) string { return s.in.Order.Origin.State }),
	text("origin.city", lineSize, "Origin city.", `origin.city == "Reno"`,
		func(s *scope) string { return s.in.Order.Origin.City }),
	text("origin.zip", 20, "Origin postal code.", `origin.zip == "89502"`,
		func(s *scope) string { return s.in.Order.Origin.Zip }),
	text("origin.location", lineSize, "Name of the location that it is sent from, empty for an address of its own.", `origin.location == "Reno warehouse"`,
		func(s *scope) string { return s.in.Order.Location.Name }),
}

var parcelVariables = []variable{
	integer("parcel.count", "Number of pieces.", `parcel.count > 1`,
		func(s *scope) int64 { return int64(len(s.in.Order.Parcels)) }),
	integer("parcel.weightGrams", "Total weight of all pieces, in grams.", `parcel.weightGrams < 450`,
		func(s *scope) int64 { return s.totals().grams }),
	number("parcel.weightKg", "Total weight of all pieces, in kilograms.", `parcel.weightKg > 20`,
		func(s *scope) float64 { return float64(s.totals().grams) / 1000 }),
	number("parcel.weightLb", "Total weight of all pieces, in pounds.", `parcel.weightLb > 50`,
		func(s *scope) float64 { return float64(s.totals().grams) / gramsPerPound }),
	number("parcel.weightOz", "Total weight of all pieces, in ounces.", `parcel.weightOz < 16`,
		func(s *scope) float64 { return float64(s.totals().grams) / gramsPerPound * 16 }),
	number("parcel.heaviestKg", "Weight of the heaviest piece, in kilograms.", `parcel.heaviestKg > 31.5`,
		func(s *scope) float64 { return float64(s.totals().heaviest) / 1000 }),
	number("parcel.longestCm", "Longest side of any piece, in centimetres; 0 if unknown.", `parcel.longestCm > 120`,
		func(s *scope) float64 { return float64(s.totals().longest) / 10 }),
	number("parcel.longestIn", "Longest side of any piece, in inches; 0 if unknown.", `parcel.longestIn > 48`,
		func(s *scope) float64 { return float64(s.totals().longest) / 25.4 }),
	number("parcel.girthCm", "Length plus girth of the largest piece (longest side plus twice the two others), in centimetres.", `parcel.girthCm > 300`,
		func(s *scope) float64 { return float64(s.totals().girth) / 10 }),
	number("parcel.girthIn", "Length plus girth of the largest piece (longest side plus twice the two others), in inches.", `parcel.girthIn > 130`,
		func(s *scope) float64 { return float64(s.totals().girth) / 25.4 }),
	number("parcel.volumeCm3", "Total volume of all pieces, in cubic centimetres.", `parcel.volumeCm3 > 60000`,
		func(s *scope) float64 { return s.totals().volume }),
	text("parcel.packaging", lineSize, "Carrier packaging of the first piece; empty for the client's own box.", `parcel.packaging == "flat_rate_envelope"`,
		func(s *scope) string {
			if len(s.in.Order.Parcels) == 0 {
				return ""
			}
			return s.in.Order.Parcels[0].Packaging
		}),
	boolean("parcel.hasDimensions", "Whether every piece has dimensions.", `!parcel.hasDimensions`,
		func(s *scope) bool { return s.totals().measured }),
}

var orderVariables = []variable{
	text("order.id", lineSize, "The client's order ID.", `order.id.startsWith("B2B-")`,
		func(s *scope) string { return s.in.Order.OrderID }),
	text("order.reference", lineSize, "The client's reference.", `order.reference.contains("SAMPLE")`,
		func(s *scope) string { return s.in.Order.Reference }),
	boolean("order.international", "Whether the shipment crosses a border.", `order.international`,
		func(s *scope) bool { return s.in.Order.Origin.Country != s.in.Order.Destination.Country }),
	boolean("order.isReturn", "Whether the shipment is a return.", `order.isReturn`,
		func(s *scope) bool { return s.in.Order.IsReturn }),
	text("order.signature", codeSize, "Signature option requested.", `order.signature == "adult"`,
		func(s *scope) string { return s.in.Order.Options.Signature }).oneOf(signatures),
	boolean("order.saturdayDelivery", "Whether Saturday delivery is requested.", `order.saturdayDelivery`,
		func(s *scope) bool { return s.in.Order.Options.SaturdayDelivery }),
	number("order.insuredValue", "Insured value, in its own currency; 0 if none.", `order.insuredValue >= 500`,
		func(s *scope) float64 { return major(s.in.Order.Options.InsuredValue) }),
	text("order.insuredCurrency", codeSize, "Currency of the insured value.", `order.insuredCurrency == "EUR"`,
		func(s *scope) string { return s.in.Order.Options.InsuredValue.Currency }),
	text("order.deliverBy", codeSize, "Day by which it must arrive, empty if none.", `order.deliverBy == ""`,
		func(s *scope) string { return string(s.in.Order.DeliverBy) }),
	text("order.shipDate", codeSize, "Day it is handed to the carrier.", `order.shipDate >= "2026-12-20"`,
		func(s *scope) string { return string(s.shipDate) }),
	integer("order.daysToDeliver", "Days from the ship date to deliverBy, -1 if there is none.", `order.daysToDeliver >= 0 && order.daysToDeliver <= 2`,
		func(s *scope) int64 {
			if s.in.Order.DeliverBy == "" {
				return -1
			}
			return dayOf(s.in.Order.DeliverBy) - s.shipDay
		}),
	number("order.customsValue", "Value of the goods in the customs declaration, 0 without one.", `order.customsValue > 800`,
		func(s *scope) float64 { return customsValue(s.in.Order.Customs) }),
	text("order.contents", lineSize, "Contents type in the customs declaration, such as merchandise.", `order.contents == "documents"`,
		func(s *scope) string {
			if s.in.Order.Customs == nil {
				return ""
			}
			return s.in.Order.Customs.ContentsType
		}),
	text("order.billing", 20, "Who pays the carrier.", `order.billing == "third_party"`,
		func(s *scope) string {
			if s.in.Order.Billing == nil || s.in.Order.Billing.Type == "" {
				return billings[0]
			}
			return s.in.Order.Billing.Type
		}).oneOf(billings),
	{
		Variable: Variable{
			Name: "metadata", Type: mapType, Example: `metadata["tier"] == "gold"`,
			Doc: "The client's metadata of the order; a missing key reads as empty text.",
		},
		size: ship.MaxMetadata,
		read: func(s *scope) ref.Val { return metadata(s.in.Order.Metadata) },
	},
}

var timeVariables = []variable{
	text("time.weekday", codeSize, "Current day of the week, in UTC.", `time.weekday in ["saturday", "sunday"]`,
		func(s *scope) string { return weekday(s.in.Now.UTC().Weekday()) }).oneOf(weekdays),
	integer("time.hour", "Current hour, 0 to 23, in UTC.", `time.hour >= 16`,
		func(s *scope) int64 { return int64(s.in.Now.UTC().Hour()) }),
	text("time.date", codeSize, "Current date, in UTC.", `time.date >= "2026-12-18"`,
		func(s *scope) string {
			if s.today == "" {
				s.today = string(ship.DateOf(s.in.Now))
			}
			return s.today
		}),
	integer("time.month", "Current month, 1 to 12, in UTC.", `time.month == 12`,
		func(s *scope) int64 { return int64(s.in.Now.UTC().Month()) }),
	text("ship.weekday", codeSize, "Day of the week of the ship date.", `ship.weekday == "friday"`,
		func(s *scope) string { return weekday(s.shipDate.Time().Weekday()) }).oneOf(weekdays),
}

const gramsPerPound = 453.59237

func weekday(day time.Weekday) string { return weekdays[(int(day)+6)%7] }

// major returns an amount in whole units of its currency, as conditions read it.
func major(amount ship.Money) float64 {
	return float64(amount.Minor) / math.Pow10(ship.Exponent(amount.Currency))
}

func customsValue(declared *ship.Customs) float64 {
	if declared == nil {
		return 0
	}

	var sum ship.Money
	for _, item := range declared.Items {
		sum.Minor += item.Value.Minor * int64(item.Quantity)
		sum.Currency = item.Value.Currency
	}
	return major(sum)
}

// cutName splits a variable's name into its group and the rest.
func cutName(name string) (group, rest string, ok bool) { return strings.Cut(name, ".") }
