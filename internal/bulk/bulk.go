// Package bulk acts on many shipments that a person selected: it voids their
// labels, puts them on manifests, or buys their returns. Each shipment of an
// action is a row that is written before anything is done, with an idempotency key
// of its own, so an action continues after a crash and does nothing twice. The
// package is given the operations as functions: it calls no carrier itself.
package bulk

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The kinds of actions.
const (
	Void     = "void"
	Manifest = "manifest"
	Return   = "return"
)

// The states of an action.
const (
	Running = "running"
	Done    = "done"
)

// The states of a row.
const (
	RowWaiting = "waiting"
	RowPending = "pending" // a carrier was asked, and the outcome is not known yet
	RowDone    = "done"
	RowFailed  = "failed"
	RowSkipped = "skipped" // it could not be done from the beginning
)

// MaxShipments is how many shipments one action has at most.
const MaxShipments = 500

// A ReturnRequest is a return to buy.
type ReturnRequest struct {
	Tenant   ship.Tenant
	Account  ship.Account
	Shipment ship.ShipmentID // that comes back
	Person   ship.PersonID   // who buys; their daily limit applies
	Key      string          // idempotency key
}

// A ManifestRequest is labels of one carrier account and place to hand over.
type ManifestRequest struct {
	Tenant     ship.Tenant
	Account    ship.Account
	Carrier    string
	Connection ship.ConnectionID
	Address    ship.Address
	Shipments  []ship.ShipmentID
	Key        string // idempotency key
}

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Account returns the account that the shipments belong to, as it is in the mode.
	Account func(context.Context, ship.Tenant) (ship.Account, error)
	// Void takes a label back; asking twice is safe.
	Void func(context.Context, ship.Tenant, ship.ShipmentID) (ship.Shipment, error)
	// RefusedVoid returns why a carrier refused to void a label; "" if it did not.
	RefusedVoid func(context.Context, ship.Tenant, ship.ShipmentID) (string, error)
	// Return buys a return, once under its key.
	Return func(context.Context, ReturnRequest) (ship.Shipment, error)
	// Close hands labels over, once under its key.
	Close func(context.Context, ManifestRequest) (store.Manifest, error)

	Retention time.Duration // after this long finished actions are deleted
	Log       *slog.Logger
}

// Service starts actions and works on them.
type Service struct{ Config }

// New returns a service.
func New(c Config) *Service { return &Service{c} }

// An Action is an action and where its rows stand.
type Action struct {
	store.BulkAction
	Rows map[string]int // by state
}

// Total is how many shipments the action has.
func (a Action) Total() (n int) {
	for _, rows := range a.Rows {
		n += rows
	}
	return n
}

// Settled is how many of them have an outcome.
func (a Action) Settled() int { return a.Total() - a.Rows[RowWaiting] - a.Rows[RowPending] }

// A Planned shipment is one of a selection, and why the action leaves it out; ""
// if it does not.
type Planned struct {
	ship.Shipment
	Skip string
}

// Plan says what an action of the kind would do with shipments. IDs that do not
// exist are left out.
func (s *Service) Plan(ctx context.Context, t ship.Tenant, kind string, ids []ship.ShipmentID) ([]Planned, error) {
	if kind != Void && kind != Manifest && kind != Return {
		return nil, ship.Errorf(ship.Invalid, "the action must be %s, %s or %s", Void, Manifest, Return)
	}
	if len(ids) > MaxShipments {
		return nil, ship.Errorf(ship.Invalid, "an action can have at most %d shipments; %d are selected", MaxShipments, len(ids))
	}

	found, err := s.shipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	manifested, err := s.Store.ManifestsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}

	var list []Planned
	for _, id := range ids {
		shipment, ok := found[id]
		if !ok {
			continue
		}
		list = append(list, Planned{shipment, whyNot(kind, shipment, manifested[id])})
		delete(found, id) // an id that is named twice is one shipment
	}
	return list, nil
}

// shipmentsByID returns those of the shipments that were announced to the client.
func (s *Service) shipmentsByID(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]ship.Shipment, error) {
	list, err := s.Store.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[ship.ShipmentID]ship.Shipment, len(list))
	for _, shipment := range list {
		if shipment.Sequence > 0 {
			found[shipment.ID] = shipment
		}
	}
	return found, nil
}

// whyNot says why an action cannot be done with a shipment; "" if it can be tried.
func whyNot(kind string, shipment ship.Shipment, on ship.ManifestID) string {
	switch shipment.State {
	case ship.StatePurchased:
	case ship.StateVoided, ship.StateVoiding, ship.StateRefundPending:
		return "Its label was voided before."
	case ship.StateFailed:
		return "Its label was not bought."
	default:
		return "The purchase of its label has not finished."
	}

	isDelivered := shipment.Progress.Status == ship.Delivered
	switch {
	case kind == Void && isDelivered, kind == Manifest && isDelivered:
		return "It is delivered."
	case kind == Manifest && on != "":
		return "It is on manifest " + string(on) + "."
	case kind == Return && shipment.Order.IsReturn:
		return "It is a return itself."
	case kind == Return && shipment.IsErased:
		return "Its personal data was erased, so the addresses are not known."
	}
	return ""
}

// A StartInput asks for an action.
type StartInput struct {
	Tenant    ship.Tenant
	Kind      string
	Shipments []ship.ShipmentID
	Person    ship.PersonID // who starts it
	MadeBy    string        // their name
	Key       string        // of the form: a second click is the same action
}

// Start writes an action down with a row for each shipment, and the job that does
// it. An action that was started under the key before is returned instead.
func (s *Service) Start(ctx context.Context, in StartInput) (ship.BulkActionID, error) {
	if in.Key == "" || len(in.Key) > 100 {
		return "", ship.Errorf(ship.Invalid, "the form is incomplete; select the shipments again")
	}
	planned, err := s.Plan(ctx, in.Tenant, in.Kind, in.Shipments)
	if err != nil {
		return "", err
	}

	action := store.BulkAction{
		ID:     ship.NewBulkActionID(in.Tenant.Shard(), time.Now()),
		Tenant: in.Tenant,
		Kind:   in.Kind,
		Key:    in.Key,
		Person: in.Person,
		MadeBy: in.MadeBy,
	}
	rows, waiting := rowsOf(action, planned)

	isNew := false
	err = s.Store.InTx(ctx, in.Tenant, func(tx *store.Store) error {
		// An action that exists is found even if nothing is left to do by now.
		if waiting == 0 {
			return nil
		}
		if isNew, err = tx.AddBulkAction(ctx, action, rows); err != nil || !isNew {
			return err
		}
		if err := tx.Enqueue(ctx, jobOf(action), 0); err != nil {
			return err
		}
		entry := store.EntryOf(in.Tenant, "bulk.started", string(action.ID))
		return tx.AuditChange(ctx, entry)
	})
	if err != nil || isNew {
		return action.ID, err
	}

	existing, err := s.Store.BulkActionOfKey(ctx, in.Tenant, in.Key)
	if ship.KindOf(err) == ship.NotFound {
		return "", ship.Coded(ship.Conflict, "nothing_to_do", "the action cannot be done with any of the selected shipments")
	}
	return existing.ID, err
}

func jobOf(action store.BulkAction) job.WorkBulkAction {
	return job.WorkBulkAction{
		Account:  action.Tenant.Account,
		Livemode: action.Tenant.Livemode,
		Action:   action.ID,
	}
}

// rowsOf returns the rows of an action, and how many are to be worked on. Each has
// a key of its own, except that the labels of one manifest are handed over
// together, under the key of the first.
func rowsOf(action store.BulkAction, planned []Planned) (rows []store.BulkRow, waiting int) {
	keys := map[string]string{}
	for i, shipment := range planned {
		row := store.BulkRow{
			Position: i + 1,
			Shipment: shipment.ID,
			State:    RowWaiting,
			Key:      ship.ServiceKey(ship.KeyOfBulkRow, string(action.ID), strconv.Itoa(i+1)),
		}
		switch {
		case shipment.Skip != "":
			row.State = RowSkipped
			row.Message = shipment.Skip

		case action.Kind == Manifest:
			group := groupOf(shipment.Shipment)
			if key, ok := keys[group]; ok {
				row.Key = key
			}
			keys[group] = row.Key
			waiting++

		default:
			waiting++
		}
		rows = append(rows, row)
	}
	return rows, waiting
}

// groupOf returns what the labels of one manifest have in common: the carrier
// account that sold them, and the place that they leave from.
func groupOf(shipment ship.Shipment) string {
	from := shipment.Order.Origin
	fields := []string{
		shipment.Purchase.Carrier, string(shipment.Purchase.Connection),
		from.Country, from.Zip, from.State, from.City, from.Address1, from.Address2, from.Address3,
	}
	return strings.ToUpper(strings.Join(fields, "\n"))
}

// Action returns an action and where it stands.
func (s *Service) Action(ctx context.Context, t ship.Tenant, id ship.BulkActionID) (Action, error) {
	stored, err := s.Store.BulkAction(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return Action{}, ship.Coded(ship.NotFound, "bulk_action_not_found", "no such bulk action")
	}
	if err != nil {
		return Action{}, err
	}
	list, err := s.withTallies(ctx, t, []store.BulkAction{stored})
	if err != nil {
		return Action{}, err
	}
	return list[0], nil
}

// Actions lists actions, newest first, and reports whether there are more.
func (s *Service) Actions(ctx context.Context, t ship.Tenant, page ship.Page) ([]Action, bool, error) {
	// One row more than a page says whether there are more.
	stored, err := s.Store.BulkActions(ctx, t, ship.Page{Limit: page.Limit + 1, Before: page.Before})
	if err != nil {
		return nil, false, err
	}
	more := len(stored) > page.Limit
	if more {
		stored = stored[:page.Limit]
	}
	list, err := s.withTallies(ctx, t, stored)
	return list, more, err
}

func (s *Service) withTallies(ctx context.Context, t ship.Tenant, stored []store.BulkAction) ([]Action, error) {
	list := make([]Action, len(stored))
	ids := make([]ship.BulkActionID, len(stored))
	index := map[ship.BulkActionID]int{}
	for i, action := range stored {
		list[i] = Action{BulkAction: action, Rows: map[string]int{}}
		ids[i] = action.ID
		index[action.ID] = i
	}
	if len(ids) == 0 {
		return list, nil
	}

	tallies, err := s.Store.BulkTallies(ctx, t, ids)
	for _, tally := range tallies {
		list[index[tally.Action]].Rows[tally.State] = tally.Rows
	}
	return list, err
}

// Rows lists the rows of an action that are in one of the states, in their order.
func (s *Service) Rows(ctx context.Context, t ship.Tenant, id ship.BulkActionID, states ...string) ([]store.BulkRow, error) {
	return s.Store.BulkRows(ctx, t, id, 0, MaxShipments, states...)
}

// DeleteOld deletes finished actions of all tenants that are kept no longer.
func (s *Service) DeleteOld(ctx context.Context, now time.Time) error {
	for {
		if n, err := s.Store.DeleteOldBulkActions(ctx, now.Add(-s.Retention)); err != nil || n == 0 {
			return err
		}
	}
}
