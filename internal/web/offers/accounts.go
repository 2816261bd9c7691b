package offers

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// AccountNames are the names that the client gave its carrier accounts. They
// are kept only for carriers with which it has several accounts, because there
// the carrier's name does not say which account is meant.
type AccountNames map[ship.ConnectionID]string

// NameAccounts returns the names of the accounts of the carriers.
func NameAccounts(carriers []shipping.CarrierInfo) AccountNames {
	names := AccountNames{}
	for _, carrier := range carriers {
		if len(carrier.Connections) < 2 {
			continue
		}

		uses := map[string]int{}
		for _, connection := range carrier.Connections {
			uses[connection.Name]++
		}

		// Names need not be unique; the end of the ID distinguishes two
		// accounts with the same name.
		for _, connection := range carrier.Connections {
			name := cmp.Or(connection.Name, parts.ShortID(string(connection.ID)))
			if uses[connection.Name] > 1 && connection.Name != "" {
				name += " (" + parts.ShortID(string(connection.ID)) + ")"
			}
			names[connection.ID] = name
		}
	}
	return names
}

// ReadAccountNames reads the names of the tenant's carrier accounts.
func ReadAccountNames(v *site.Visit) (AccountNames, error) {
	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	return NameAccounts(carriers), err
}
