// Package carriers has the pages of carrier connections: connecting an account,
// its health, and its limits.
package carriers

import (
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// carrierList is the page of carriers.
type carrierList struct {
	Connections []account.Connection
	Tools       site.ShortList
	Simulated   []shipping.CarrierInfo
	Specs       []carrier.Spec
	Health      map[ship.ConnectionID]*journal.Health
	Unmapped    []tracking.UnmappedCode
	Differences []account.Difference
	Limits      map[ship.ConnectionID]limit
	Lookups     map[ship.ConnectionID]store.ConnectionLookup
}

// listConnections handles GET /app/{account}/{mode}/carriers.
func listConnections(v *site.Visit) error {
	page := carrierList{
		Specs:  v.Account.Specs(),
		Limits: map[ship.ConnectionID]limit{},
	}

	connections, err := v.Account.Connections(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	page.Connections, page.Tools = site.Shorten(v, "carriers", connections, connectionStates, connectionLine)
	for _, connection := range page.Connections {
		page.Limits[connection.ID] = limitOf(v, connection.ID)
	}

	all, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	for _, info := range all {
		if info.Simulated {
			page.Simulated = append(page.Simulated, info)
		}
	}

	if page.Health, err = v.Journal.Health(v.Context(), v.Tenant()); err != nil {
		return err
	}
	page.Unmapped, err = v.Tracking.UnmappedOf(v.Context(), v.Tenant(), page.Specs, time.Now().Add(-unmappedFor))
	if err != nil {
		return err
	}
	if page.Lookups, err = v.Shipping.Lookups(v.Context(), v.Tenant()); err != nil {
		return err
	}
	if page.Differences, err = v.Account.Differences(v.Context(), v.Tenant()); err != nil {
		return err
	}
	return v.Show(http.StatusOK, carriersPage(v.Frame("Carriers", "carriers"), page))
}

// unmappedFor is how old a parcel may be for its unmapped codes to be listed.
const unmappedFor = 90 * 24 * time.Hour

// connectForm is a carrier account as it was filled in. Secrets are sent back
// encrypted, so that they need not be typed again when the form has an error.
type connectForm struct {
	Spec   carrier.Spec
	Name   string
	Values map[string]string
	Kept   map[string]string // secrets that were typed, encrypted
	Wrong  site.Problems
	Advice []account.Finding // advice of the connection's failed checks
}

// emptyConnectForm returns the form of the carrier that the address names.
func emptyConnectForm(v *site.Visit) (connectForm, error) {
	for _, spec := range v.Account.Specs() {
		if spec.Name == v.Request.PathValue("carrier") {
			return connectForm{Spec: spec, Values: map[string]string{}, Kept: map[string]string{}}, nil
		}
	}
	return connectForm{}, site.ErrNoPage
}

// getConnectForm handles GET /app/{account}/{mode}/connect/{carrier}.
func getConnectForm(v *site.Visit) error {
	page, err := emptyConnectForm(v)
	if err != nil {
		return err
	}

	// If the connection cannot be saved, the person should know before filling
	// in the form.
	page.Wrong, _ = site.ProblemsOf(v.Account.CanConnect(v.Tenant().Livemode))
	return v.Show(http.StatusOK, connectPageView(v.Frame("Connect "+page.Spec.Title, "carriers"), page))
}

// connect handles POST /app/{account}/{mode}/connect/{carrier}: the connection is
// checked at once, and stored unless the carrier refuses the credentials.
func connect(v *site.Visit) error {
	page, err := emptyConnectForm(v)
	if err != nil {
		return err
	}

	page.Name = v.Form("connection-name")
	credentials := carrier.Credentials{}
	for _, field := range page.Spec.Fields {
		value := v.Credential(field.Name)
		credentials[field.Name] = value

		// A secret never goes back to the browser in the clear.
		if field.Secret {
			page.Kept[field.Name] = v.KeepSecret(field.Name, value)
		} else {
			page.Values[field.Name] = value
		}
	}

	ctx := v.Audited("connection.made", "", map[string]string{"carrier": page.Spec.Name})
	added, findings, err := v.Account.AddChecked(ctx, account.AddConnectionInput{
		Tenant:      v.Tenant(),
		Carrier:     page.Spec.Name,
		Name:        page.Name,
		Credentials: credentials,
	})
	if invalid, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = invalid
		page.Advice = actionable(findings)
		return v.Show(http.StatusUnprocessableEntity, connectPageView(v.Frame("Connect "+page.Spec.Title, "carriers"), page))
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("carriers", string(added.ID)), "saved")
}

// connectionOf returns the connection that the address names, with its carrier.
func connectionOf(v *site.Visit) (account.Connection, carrier.Spec, error) {
	id, ok := ship.ParseConnectionID(v.Request.PathValue("id"))
	if !ok {
		return account.Connection{}, carrier.Spec{}, site.ErrNoPage
	}

	connections, err := v.Account.Connections(v.Context(), v.Tenant())
	if err != nil {
		return account.Connection{}, carrier.Spec{}, err
	}
	for _, connection := range connections {
		if connection.ID != id {
			continue
		}
		for _, spec := range v.Account.Specs() {
			if spec.Name == connection.Carrier {
				return connection, spec, nil
			}
		}

		// Without its carrier a connection can still be shown and removed.
		return connection, carrier.Spec{Name: connection.Carrier, Title: connection.Carrier}, nil
	}
	return account.Connection{}, carrier.Spec{}, ship.Errorf(ship.NotFound, "no such connection")
}

// connectionView is the page of one connection.
type connectionView struct {
	account.Connection
	Spec   carrier.Spec
	Health *journal.Health // nil if it made no recent call
	Limit  limit
	Lookup lookup
	Values map[string]string
	Kept   map[string]string // secrets that were typed, encrypted
	Wrong  site.Problems
	Advice []account.Finding // about credentials that were refused and not stored
}

// getConnection handles GET /app/{account}/{mode}/carriers/{id}.
func getConnection(v *site.Visit) error {
	connection, spec, err := connectionOf(v)
	if err != nil {
		return err
	}
	return showConnection(v, http.StatusOK, connectionView{Connection: connection, Spec: spec, Values: connection.Fields})
}

func showConnection(v *site.Visit, status int, page connectionView) error {
	health, err := v.Journal.Health(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	page.Health = health[page.ID]
	page.Limit = limitOf(v, page.ID)
	if page.Lookup, err = lookupOf(v, page.Connection, &page.Spec); err != nil {
		return err
	}
	return v.Show(status, connectionPage(v.Frame(page.Name, "carriers"), page))
}

// checkConnection handles POST /app/{account}/{mode}/carriers/{id}/check.
func checkConnection(v *site.Visit) error {
	connection, _, err := connectionOf(v)
	if err != nil {
		return err
	}
	if _, err := v.Account.CheckConnection(v.Context(), v.Tenant(), connection.ID); err != nil {
		return err
	}
	return v.Redirect(v.To("carriers", string(connection.ID)), "")
}

// changeConnection handles POST /app/{account}/{mode}/carriers/{id}: it stores
// new credentials, or removes the connection.
func changeConnection(v *site.Visit) error {
	connection, spec, err := connectionOf(v)
	if err != nil {
		return err
	}

	if v.Form("do") == "remove" {
		if err := v.Account.RemoveConnection(v.Audited("connection.removed", "", nil), v.Tenant(), connection.ID); err != nil {
			return err
		}
		return v.Redirect(v.To("carriers"), "removed")
	}

	page := connectionView{
		Connection: connection,
		Spec:       spec,
		Values:     map[string]string{},
		Kept:       map[string]string{},
	}
	credentials := carrier.Credentials{}
	for _, field := range spec.Fields {
		// A field that is left empty keeps its present value.
		value := v.Credential(field.Name)
		if value != "" {
			credentials[field.Name] = value
		}

		if field.Secret {
			page.Kept[field.Name] = v.KeepSecret(field.Name, value)
		} else {
			page.Values[field.Name] = value
		}
	}

	_, findings, err := v.Account.UpdateChecked(v.Audited("connection.changed", "", nil), account.UpdateConnectionInput{
		Tenant:      v.Tenant(),
		ID:          connection.ID,
		Name:        v.Form("connection-name"),
		Credentials: credentials,
	})
	if invalid, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = invalid
		page.Advice = actionable(findings)
		return showConnection(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("carriers", string(connection.ID)), "saved")
}

var connectionLine = site.Line[account.Connection]{
	ID: func(c account.Connection) string { return string(c.ID) },
	Text: func(c account.Connection) string {
		return c.Name + " " + parts.CarrierTitle(c.Carrier) + " " + string(c.ID)
	},
	State: func(c account.Connection) string {
		switch {
		case !c.Enabled:
			return "off"
		case c.Problem != "" || account.Failed(c.Findings):
			return "failing"
		}
		return "on"
	},
}

var connectionStates = []parts.Choice{
	{Value: "", Title: "All states"},
	{Value: "on", Title: "Working"},
	{Value: "failing", Title: "Failing"},
	{Value: "off", Title: "Off"},
}

// exportConnections handles GET /app/{account}/{mode}/carriers.csv.
func exportConnections(v *site.Visit) error {
	list, err := v.Account.Connections(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	out := v.ExportCSV("carriers", "id", "name", "carrier", "state", "problem", "made", "checked")
	for _, connection := range site.Matching(v, list, connectionLine) {
		out.Row(
			string(connection.ID),
			connection.Name,
			connection.Carrier,
			connectionLine.State(connection),
			connection.Problem,
			site.TimeCell(connection.CreatedAt),
			site.TimeCell(connection.CheckedAt),
		)
	}
	return nil
}
