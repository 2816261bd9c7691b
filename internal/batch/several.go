package batch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// bar separates the values of several parcels, or of several customs items, in
// one cell.
const bar = "|"

// splitValues reads the fields of parcels or customs items: the bars of the
// first field say how many there are, each other field has one value for all or
// one for each. If there is only one, a bar is a character like any other.
func (l *line) splitValues(first string, others ...string) []map[string]string {
	n := strings.Count(l.values[first], bar) + 1
	list := make([]map[string]string, n)
	for i := range list {
		list[i] = map[string]string{}
	}

	for _, name := range append([]string{first}, others...) {
		parts := []string{l.values[name]}
		if n > 1 {
			parts = strings.Split(l.values[name], bar)
		}

		if len(parts) != 1 && len(parts) != n {
			l.add(name, fmt.Sprintf("has %d values, but %s has %d: enter one value for all, or one for each", len(parts), Title(first), n))
		}
		for i := range list {
			list[i][name] = strings.TrimSpace(parts[min(i, len(parts)-1)])
		}
	}
	return list
}

// memberPrefix names the one of several parcels or customs items of an order
// that a pointer points to; "" if there is only one.
func memberPrefix(pointer string, order ship.Order) string {
	parts := strings.Split(pointer, "/")
	for i := range len(parts) - 1 {
		n, err := strconv.Atoi(parts[i+1])
		switch {
		case err != nil:
		case parts[i] == "parcels" && len(order.Parcels) > 1:
			return fmt.Sprintf("parcel %d: ", n+1)
		case parts[i] == "items" && order.Customs != nil && len(order.Customs.Items) > 1:
			return fmt.Sprintf("item %d: ", n+1)
		}
	}
	return ""
}

// Examples are the lines of the template: an order of one parcel, and one of
// two.
func Examples() [][]string {
	one := make([]string, len(Fields))
	two := make([]string, len(Fields))
	for i, field := range Fields {
		one[i] = field.Example
		two[i] = field.Example
		switch field.Name {
		case "order":
			two[i] = "1002"
		case "weight":
			two[i] = "2.5 " + bar + " 4"
		case "length":
			two[i] = "12 " + bar + " 16"
		}
	}
	return [][]string{one, two}
}
