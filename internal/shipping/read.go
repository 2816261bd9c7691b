package shipping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Shipment returns a shipment that the client was told of.
func (s *Service) Shipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Shipment, error) {
	sh, err := s.store.Shipment(ctx, t, id)
	if err == nil && sh.Sequence == 0 || ship.KindOf(err) == ship.NotFound {
		return ship.Shipment{}, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	if err != nil {
		return sh, err
	}
	return s.withApproval(ctx, sh)
}

// ChangeMetadata replaces the metadata of a shipment. Events, and answers that are
// repeated under their key, go on to show that of the creation.
func (s *Service) ChangeMetadata(ctx context.Context, t ship.Tenant, id ship.ShipmentID, metadata map[string]string) (ship.Shipment, error) {
	if err := ship.CheckMetadata(metadata); err != nil {
		return ship.Shipment{}, err
	}
	if _, err := s.Shipment(ctx, t, id); err != nil {
		return ship.Shipment{}, err
	}
	if err := s.store.ChangeMetadata(ctx, t, id, metadata); err != nil {
		return ship.Shipment{}, err
	}
	return s.Shipment(ctx, t, id)
}

// Duplicate is the order of an earlier shipment, to be shipped again: what it
// was, without the days, which have passed.
func (s *Service) Duplicate(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Order, error) {
	sh, err := s.Shipment(ctx, t, id)
	if err != nil {
		return ship.Order{}, err
	}
	order := sh.Order
	order.Metadata = sh.CurrentMetadata()
	order.ShipDate = ""
	order.DeliverBy = ""

	// A location that was deleted cannot be named again; the address can be used.
	if order.Location.ID != "" {
		_, err := s.store.Location(ctx, t, order.Location.ID)
		if ship.KindOf(err) == ship.NotFound {
			order.Location = ship.OrderLocation{}
		} else if err != nil {
			return ship.Order{}, err
		}
	}
	return order, nil
}

// Shipments lists shipments, and reports whether there are more.
func (s *Service) Shipments(ctx context.Context, t ship.Tenant, f Filter) (list []ship.Shipment, more bool, err error) {
	return page(f.Page, func(p ship.Page) ([]ship.Shipment, error) {
		return s.store.Shipments(ctx, t, store.ShipmentFilter{
			OrderID:   f.OrderID,
			Status:    f.Status,
			States:    f.States,
			Carrier:   f.Carrier,
			Reference: f.Reference,
			Number:    ship.NormalizeTrackingNumber(f.Number),
			Query:     f.Query,
			From:      f.CreatedAfter,
			Before:    f.CreatedBefore,
			Order:     f.Order,
			DueAt:     f.DueAt,
		}, p)
	})
}

// CarrierInfo is what a client may know of a carrier.
type CarrierInfo struct {
	Name, Title string
	Services    []carrier.Service
	Packagings  []carrier.Packaging
	Origins     []string // the countries that it takes parcels from; empty for all
	Abilities   []string
	Addresses   carrier.AddressCoverage // where it checks addresses
	Simulated   bool
	Plugin      bool // its driver is a program of its own
	Connections []Connection
}

// A Connection is a carrier account of the client, without its secrets.
type Connection struct {
	ID   ship.ConnectionID
	Name string
}

// Carriers lists the carriers that the tenant can use.
func (s *Service) Carriers(ctx context.Context, t ship.Tenant) ([]CarrierInfo, error) {
	all, err := s.accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}

	// A carrier with several accounts is listed once, with a connection each.
	var list []CarrierInfo
	for _, c := range all {
		spec := c.Spec()
		i := slices.IndexFunc(list, func(known CarrierInfo) bool { return known.Name == spec.Name })
		if i < 0 {
			i = len(list)
			list = append(list, CarrierInfo{
				Name:       spec.Name,
				Title:      spec.Title,
				Services:   spec.Services,
				Packagings: spec.Packagings,
				Origins:    spec.Origins,
				Abilities:  c.Abilities(),
				Addresses:  spec.AddressCoverage,
				Simulated:  c.Simulated(),
				Plugin:     spec.Plugin,
			})
		}

		if !c.Simulated() {
			list[i].Connections = append(list[i].Connections, Connection{ID: c.Connection, Name: c.Label})
		}
	}
	return list, nil
}

// renderKey tells renderings apart.
type renderKey struct {
	shipment ship.ShipmentID
	options  label.Options
}

// Label renders a label that is ready.
func (s *Service) Label(ctx context.Context, t ship.Tenant, id ship.ShipmentID, o label.Options) (LabelFile, error) {
	sh, err := s.Shipment(ctx, t, id)
	if err != nil {
		return LabelFile{}, err
	}
	if err := labelReady(sh); err != nil {
		return LabelFile{}, err
	}

	o.Owner = t.Account
	key := renderKey{id, o}
	if f, ok := s.rendered.GetIfPresent(key); ok {
		return f, nil
	}

	stored, err := s.store.Label(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return LabelFile{}, ship.Coded(ship.Gone, "label_erased", "the label is no longer kept")
	}
	if err != nil {
		return LabelFile{}, err
	}
	r, err := s.labels.RenderLabel(stored, o)
	if err != nil {
		return LabelFile{}, err
	}

	sum := sha256.Sum256(r.Data)
	f := LabelFile{
		Shipment: id,
		Format:   o.Format,
		Data:     r.Data,
		ETag:     `"` + hex.EncodeToString(sum[:16]) + `"`,
	}
	if len(r.Missing) > 0 {
		f.Warnings = []string{"some characters are not in this server's fonts and are printed as boxes"}
	}

	s.rendered.Set(key, f)
	return f, nil
}

func labelReady(sh ship.Shipment) error {
	if sh.IsErased {
		return ship.Coded(ship.Gone, "label_erased", "the label was erased with the personal data of the shipment")
	}
	switch sh.State {
	case ship.StatePurchased, ship.StateVoiding:
		return nil
	case ship.StateVoided, ship.StateRefundPending:
		return ship.Coded(ship.Gone, "label_voided", "the label was voided and can no longer be used")
	}
	return notReady(sh)
}

func notReady(sh ship.Shipment) error {
	e := ship.Coded(ship.Conflict, "label_not_ready", "the shipment has no label: its purchase is %s", sh.State.LabelStatus())
	if sh.State == ship.StateAwaitingApproval {
		e.Message = "the shipment has no label: a person must approve its purchase in the dashboard first"
	}
	if l := sh.State.LabelStatus(); l == "pending" {
		e.RetryAfter = 5 * time.Second
	}
	return e
}

// Limits of a label link's life.
const (
	defaultLink = 24 * time.Hour
	longestLink = 7 * 24 * time.Hour
)

// linkClaims is what a label link's token holds.
type linkClaims struct {
	Account  ship.AccountID  `json:"a"`
	Livemode bool            `json:"l,omitempty"`
	Shipment ship.ShipmentID `json:"s"`
	Format   label.Format    `json:"f"`
	Expires  int64           `json:"e"`
}

// LabelLink makes a link to one format of a label. It ends by itself, or with
// the label.
func (s *Service) LabelLink(ctx context.Context, t ship.Tenant, id ship.ShipmentID, f label.Format, ttl time.Duration) (Link, error) {
	if ttl == 0 {
		ttl = defaultLink
	}
	if ttl < 0 || ttl > longestLink {
		return Link{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/expiresIn", Code: "invalid", Detail: "must be at most 7 days"}})
	}
	sh, err := s.Shipment(ctx, t, id)
	if err != nil {
		return Link{}, err
	}
	if err := labelReady(sh); err != nil {
		return Link{}, err
	}
	expires := time.Now().Add(ttl).UTC().Truncate(time.Second)
	token := s.links.Sign("label", linkClaims{Account: t.Account, Livemode: t.Livemode, Shipment: id, Format: f, Expires: expires.Unix()})
	return Link{Token: token, ExpiresAt: expires}, nil
}

// LabelByToken renders the label of a link.
func (s *Service) LabelByToken(ctx context.Context, id ship.ShipmentID, o label.Options, token string) (LabelFile, error) {
	var c linkClaims
	if !s.links.Verify("label", token, &c) || c.Shipment != id || c.Format != o.Format || time.Now().Unix() > c.Expires {
		return LabelFile{}, ship.Coded(ship.Forbidden, "invalid_token", "the link is not valid for this label or has expired; create a new one")
	}

	tenant := ship.Tenant{Account: c.Account, Livemode: c.Livemode}
	file, err := s.Label(ctx, tenant, id, o)
	file.Tenant = tenant
	return file, err
}

// Document returns one of the further papers of a shipment, counted from 1.
func (s *Service) Document(ctx context.Context, t ship.Tenant, id ship.ShipmentID, number int) (ship.Document, error) {
	sh, err := s.Shipment(ctx, t, id)
	if err != nil {
		return ship.Document{}, err
	}

	if d, isUpload, err := s.uploaded(ctx, sh, number); isUpload {
		return d, err
	}
	d, err := s.documentOf(ctx, sh, number)
	if err != nil || sh.Purchase.Simulated {
		return d, err
	}
	return d, label.Check(d.Format, d.Data)
}

// documentOf returns a paper of the shipment, numbered from 1: drawn again for a
// simulated carrier, as the carrier sent it otherwise.
func (s *Service) documentOf(ctx context.Context, sh ship.Shipment, number int) (ship.Document, error) {
	if sh.Purchase.Simulated {
		return s.reprint(ctx, sh, number)
	}
	d, err := s.store.Document(ctx, sh.Tenant, sh.ID, number-1)
	if ship.KindOf(err) == ship.NotFound {
		return d, ship.Errorf(ship.NotFound, "the shipment has no such document")
	}
	return d, err
}

// reprint draws a paper of a simulated carrier, which makes its papers again at
// any time: they are not stored.
func (s *Service) reprint(ctx context.Context, sh ship.Shipment, number int) (ship.Document, error) {
	c, err := s.accounts.Seller(ctx, sh.Tenant, sh.Purchase)
	if err != nil {
		return ship.Document{}, err
	}
	papers := c.Reprint(sh.Order, sh.Purchase.TrackingNumber)
	if number < 1 || number > min(len(papers), len(sh.Purchase.Documents)) {
		return ship.Document{}, ship.Errorf(ship.NotFound, "the shipment has no such document")
	}
	paper := papers[number-1]

	invoice, err := label.ParseInvoice(paper.Data)
	if err != nil {
		return ship.Document{}, err
	}
	drawn, err := s.labels.RenderInvoice(invoice)
	if err != nil {
		return ship.Document{}, err
	}
	return ship.Document{Type: paper.Type, Format: "pdf", Data: drawn.Data}, nil
}
