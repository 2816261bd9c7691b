package web

import (
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
)

// carrierList is the page of carriers.
type carrierList struct {
	Connections []account.Connection
	Tools       shortList
	Simulated   []shipping.CarrierInfo
	Specs       []carrier.Spec
	Health      map[ship.ConnectionID]*journal.Health
	Unmapped    []tracking.UnmappedCode
	Limits      map[ship.ConnectionID]limit
}

// carriers handles GET /app/{account}/{mode}/carriers.
func (s *Web) carriers(v *visit) error {
	page := carrierList{
		Specs:  s.Account.Specs(),
		Limits: map[ship.ConnectionID]limit{},
	}

	connections, err := s.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	page.Connections, page.Tools = shorten(v, "carriers", connections, connectionStates, connectionLine)
	for _, connection := range page.Connections {
		page.Limits[connection.ID] = v.limitOf(connection.ID)
	}

	all, err := s.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	for _, info := range all {
		if info.Simulated {
			page.Simulated = append(page.Simulated, info)
		}
	}

	if page.Health, err = s.Journal.Health(v.ctx(), v.tenant()); err != nil {
		return err
	}
	page.Unmapped, err = s.Tracking.UnmappedOf(v.ctx(), v.tenant(), page.Specs, time.Now().Add(-unmappedFor))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, carriersPage(v.frame("Carriers", "carriers"), page))
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
	Wrong  problems
	Advice []account.Finding // of the connection's checks, about what is wrong
}

// emptyConnectForm is the form of the carrier that the address names.
func (v *visit) emptyConnectForm() (connectForm, error) {
	for _, spec := range v.Account.Specs() {
		if spec.Name == v.r.PathValue("carrier") {
			return connectForm{Spec: spec, Values: map[string]string{}, Kept: map[string]string{}}, nil
		}
	}
	return connectForm{}, errNoPage
}

// connectPage handles GET /app/{account}/{mode}/connect/{carrier}.
func (s *Web) connectPage(v *visit) error {
	page, err := v.emptyConnectForm()
	if err != nil {
		return err
	}

	// If the connection cannot be saved, the person should know before filling
	// in the form.
	page.Wrong, _ = problemsOf(s.Account.CanConnect(v.tenant().Livemode))
	return v.show(http.StatusOK, connectPageView(v.frame("Connect "+page.Spec.Title, "carriers"), page))
}

// connect handles POST /app/{account}/{mode}/connect/{carrier}: the connection is
// checked at once, and stored unless the carrier refuses the credentials.
func (s *Web) connect(v *visit) error {
	page, err := v.emptyConnectForm()
	if err != nil {
		return err
	}

	page.Name = v.form("connection-name")
	credentials := carrier.Credentials{}
	for _, field := range page.Spec.Fields {
		value := v.credential(field.Name)
		credentials[field.Name] = value

		// A secret never goes back to the browser in the clear.
		if field.Secret {
			page.Kept[field.Name] = v.keepSecret(field.Name, value)
		} else {
			page.Values[field.Name] = value
		}
	}

	ctx := v.audited("connection.made", "", map[string]string{"carrier": page.Spec.Name})
	added, findings, err := s.Account.AddChecked(ctx, account.AddConnectionInput{
		Tenant:      v.tenant(),
		Carrier:     page.Spec.Name,
		Name:        page.Name,
		Credentials: credentials,
	})
	if invalid, fixable := problemsOf(err); fixable {
		page.Wrong = invalid
		page.Advice = actionable(findings)
		return v.show(http.StatusUnprocessableEntity, connectPageView(v.frame("Connect "+page.Spec.Title, "carriers"), page))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(added.ID)), "saved")
}

// connectionOf is the connection that the address names, with its carrier.
func (v *visit) connectionOf() (account.Connection, carrier.Spec, error) {
	id, ok := ship.ParseConnectionID(v.r.PathValue("id"))
	if !ok {
		return account.Connection{}, carrier.Spec{}, errNoPage
	}

	connections, err := v.Account.Connections(v.ctx(), v.tenant())
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
	Values map[string]string
	Kept   map[string]string // secrets that were typed, encrypted
	Wrong  problems
	Advice []account.Finding // about credentials that were refused and not stored
}

// connection handles GET /app/{account}/{mode}/carriers/{id}.
func (s *Web) connection(v *visit) error {
	connection, spec, err := v.connectionOf()
	if err != nil {
		return err
	}
	return v.showConnection(http.StatusOK, connectionView{Connection: connection, Spec: spec, Values: connection.Fields})
}

func (v *visit) showConnection(status int, page connectionView) error {
	health, err := v.Journal.Health(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	page.Health = health[page.ID]
	page.Limit = v.limitOf(page.ID)
	return v.show(status, connectionPage(v.frame(page.Name, "carriers"), page))
}

// checkConnection handles POST /app/{account}/{mode}/carriers/{id}/check.
func (s *Web) checkConnection(v *visit) error {
	connection, _, err := v.connectionOf()
	if err != nil {
		return err
	}
	if _, err := s.Account.CheckConnection(v.ctx(), v.tenant(), connection.ID); err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(connection.ID)), "")
}

// changeConnection handles POST /app/{account}/{mode}/carriers/{id}: it stores
// new credentials, or removes the connection.
func (s *Web) changeConnection(v *visit) error {
	connection, spec, err := v.connectionOf()
	if err != nil {
		return err
	}

	if v.form("do") == "remove" {
		if err := s.Account.RemoveConnection(v.audited("connection.removed", "", nil), v.tenant(), connection.ID); err != nil {
			return err
		}
		return v.redirect(v.to("carriers"), "removed")
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
		value := v.credential(field.Name)
		if value != "" {
			credentials[field.Name] = value
		}

		if field.Secret {
			page.Kept[field.Name] = v.keepSecret(field.Name, value)
		} else {
			page.Values[field.Name] = value
		}
	}

	_, findings, err := s.Account.UpdateChecked(v.audited("connection.changed", "", nil), account.UpdateConnectionInput{
		Tenant:      v.tenant(),
		ID:          connection.ID,
		Name:        v.form("connection-name"),
		Credentials: credentials,
	})
	if invalid, fixable := problemsOf(err); fixable {
		page.Wrong = invalid
		page.Advice = actionable(findings)
		return v.showConnection(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(connection.ID)), "saved")
}
