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

// carriers handles GET /app/{mode}/carriers.
func (s *Web) carriers(v *visit) error {
	p := carrierList{Specs: s.Account.Specs()}
	var err error
	if p.Connections, err = s.Account.Connections(v.ctx(), v.tenant()); err != nil {
		return err
	}
	p.Connections, p.Tools = shorten(v, "carriers", p.Connections, connectionStates, connectionLine)
	all, err := s.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Simulated {
			p.Simulated = append(p.Simulated, c)
		}
	}
	if p.Health, err = s.Journal.Health(v.ctx(), v.tenant()); err != nil {
		return err
	}
	if p.Unmapped, err = s.Tracking.UnmappedOf(v.ctx(), v.tenant(), p.Specs, time.Now().Add(-unmappedFor)); err != nil {
		return err
	}
	p.Limits = map[ship.ConnectionID]limit{}
	for _, c := range p.Connections {
		p.Limits[c.ID] = v.limitOf(c.ID)
	}
	return v.show(http.StatusOK, carriersPage(v.frame("Carriers", "carriers"), p))
}

// unmappedFor is how old a parcel may be whose codes are listed.
const unmappedFor = 90 * 24 * time.Hour

// connectForm is a carrier account as it was filled in. Secrets are given back
// encrypted, so that a form with an error need not be typed again.
type connectForm struct {
	Spec   carrier.Spec
	Name   string
	Values map[string]string
	Kept   map[string]string // secrets that were typed, encrypted
	Wrong  problems
	Advice []account.Finding // of the doctor, about what is wrong
}

// specOf is the carrier of the address.
func (v *visit) specOf() (connectForm, error) {
	for _, spec := range v.Account.Specs() {
		if spec.Name == v.r.PathValue("carrier") {
			return connectForm{Spec: spec, Values: map[string]string{}, Kept: map[string]string{}}, nil
		}
	}
	return connectForm{}, errNoPage
}

// connectPage handles GET /app/{mode}/connect/{carrier}.
func (s *Web) connectPage(v *visit) error {
	p, err := v.specOf()
	if err != nil {
		return err
	}
	// Whoever reads the form should know before filling it in that it cannot be
	// saved.
	p.Wrong, _ = problemsOf(s.Account.CanConnect(v.tenant().Livemode))
	return v.show(http.StatusOK, connectPageView(v.frame("Connect "+p.Spec.Title, "carriers"), p))
}

// connect handles POST /app/{mode}/connect/{carrier}: the connection is checked
// on the spot, and made unless the carrier refuses the credentials.
func (s *Web) connect(v *visit) error {
	p, err := v.specOf()
	if err != nil {
		return err
	}
	given := carrier.Credentials{}
	p.Name = v.form("connection-name")
	for _, f := range p.Spec.Fields {
		given[f.Name] = v.credential(f.Name)
		if f.Secret {
			p.Kept[f.Name] = v.keepSecret(f.Name, given[f.Name])
		} else {
			p.Values[f.Name] = given[f.Name]
		}
	}
	c, findings, err := s.Account.AddChecked(v.audited("connection.made", "", map[string]string{"carrier": p.Spec.Name}), account.AddConnectionInput{Tenant: v.tenant(), Carrier: p.Spec.Name, Name: p.Name, Credentials: given})
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong, p.Advice = wrong, amiss(findings)
		return v.show(http.StatusUnprocessableEntity, connectPageView(v.frame("Connect "+p.Spec.Title, "carriers"), p))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(c.ID)), "saved")
}

// connectionOf is the connection of the address, with its carrier.
func (v *visit) connectionOf() (c account.Connection, spec carrier.Spec, err error) {
	id, ok := ship.ParseConnectionID(v.r.PathValue("id"))
	if !ok {
		return c, spec, errNoPage
	}
	list, err := v.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return c, spec, err
	}
	for _, c = range list {
		if c.ID != id {
			continue
		}
		for _, spec = range v.Account.Specs() {
			if spec.Name == c.Carrier {
				return c, spec, nil
			}
		}
		return c, carrier.Spec{Name: c.Carrier, Title: c.Carrier}, nil
	}
	return c, spec, ship.Errorf(ship.NotFound, "no such connection")
}

// connectionView is the page of one connection.
type connectionView struct {
	account.Connection
	Spec   carrier.Spec
	Health *journal.Health // nil if it made no call lately
	Limit  limit
	Values map[string]string
	Kept   map[string]string // secrets that were typed, encrypted
	Wrong  problems
	Advice []account.Finding // about credentials that were refused and not stored
}

// connection handles GET /app/{mode}/carriers/{id}.
func (s *Web) connection(v *visit) error {
	c, spec, err := v.connectionOf()
	if err != nil {
		return err
	}
	return v.showConnection(http.StatusOK, connectionView{Connection: c, Spec: spec, Values: c.Fields})
}

func (v *visit) showConnection(status int, p connectionView) error {
	health, err := v.Journal.Health(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	p.Health = health[p.ID]
	p.Limit = v.limitOf(p.ID)
	return v.show(status, connectionPage(v.frame(p.Name, "carriers"), p))
}

// checkConnection handles POST /app/{mode}/carriers/{id}/check.
func (s *Web) checkConnection(v *visit) error {
	c, _, err := v.connectionOf()
	if err != nil {
		return err
	}
	if _, err := s.Account.CheckConnection(v.ctx(), v.tenant(), c.ID); err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(c.ID)), "")
}

// changeConnection handles POST /app/{mode}/carriers/{id}: new credentials, or
// its end.
func (s *Web) changeConnection(v *visit) error {
	c, spec, err := v.connectionOf()
	if err != nil {
		return err
	}
	if v.form("do") == "remove" {
		if err := s.Account.RemoveConnection(v.audited("connection.removed", "", nil), v.tenant(), c.ID); err != nil {
			return err
		}
		return v.redirect(v.to("carriers"), "removed")
	}
	p := connectionView{Connection: c, Spec: spec, Values: map[string]string{}, Kept: map[string]string{}}
	given := carrier.Credentials{}
	for _, f := range spec.Fields {
		if value := v.credential(f.Name); value != "" {
			given[f.Name] = value
		}
		if f.Secret {
			p.Kept[f.Name] = v.keepSecret(f.Name, given[f.Name])
		} else {
			p.Values[f.Name] = given[f.Name]
		}
	}
	_, findings, err := s.Account.UpdateChecked(v.audited("connection.changed", "", nil), account.UpdateConnectionInput{Tenant: v.tenant(), ID: c.ID, Name: v.form("connection-name"), Credentials: given})
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong, p.Advice = wrong, amiss(findings)
		return v.showConnection(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("carriers", string(c.ID)), "saved")
}
