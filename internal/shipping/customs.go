package shipping

import (
	"github.com/waybillhq/waybill/internal/customs"
	"github.com/waybillhq/waybill/internal/ship"
)

// customsWarnings say what customs would object to in the order's declaration,
// each beginning with the pointer to its field.
func customsWarnings(order ship.Order) []string {
	var list []string
	for _, found := range customs.Check(order) {
		list = append(list, found.Pointer+" "+found.Detail)
	}
	return list
}
