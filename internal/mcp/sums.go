package mcp

import (
	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
)

// A sum adds up what shipments cost.
type sum struct {
	labels, voided int
	total          ship.Money
}

func addTo(sums map[spendRow]*sum, row spendRow, found client.Shipment) {
	s := sums[row]
	if s == nil {
		s = &sum{total: ship.Money{Currency: row.Currency}}
		sums[row] = s
	}
	if found.LabelStatus == "voided" {
		s.voided++
		return
	}
	s.labels++
	if price, ok := ship.ParseMoney(found.Rate.Amount, found.Rate.Currency); ok {
		s.total.Minor += price.Minor
	}
}

func (s *sum) amount() string { return s.total.Amount() }
