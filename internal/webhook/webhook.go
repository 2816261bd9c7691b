// Package webhook notifies clients of changes: it owns their endpoints, the
// reading of the event log, and the delivery of signed events to addresses that
// the policy allows. Nothing else in the service connects to an address that a
// client chooses.
package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Service reads the log and keeps the endpoints.
type Service struct {
	store   *store.Store
	box     *seal.Box
	sender  *Sender
	baseURL string
	log     *slog.Logger
	mail    func(ctx context.Context, to []string, subject, text string) error
	people  func(context.Context, ship.AccountID) ([]string, error)
	formats map[string]Format

	mu     sync.Mutex
	tested map[ship.EndpointID]time.Time
}

// Config is what a Service needs.
type Config struct {
	Store   *store.Store
	Box     *seal.Box // seals the endpoints' secrets
	Sender  *Sender
	BaseURL string // of the service, in the bodies of test events
	Log     *slog.Logger

	// Mail sends a message, and People returns the addresses of an account's
	// people; nil sends no mail.
	Mail   func(ctx context.Context, to []string, subject, text string) error
	People func(context.Context, ship.AccountID) ([]string, error)

	// Formats are how clients of other APIs get their events, by name.
	Formats map[string]Format
}

// New returns a service.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{
		store:   c.Store,
		box:     c.Box,
		sender:  c.Sender,
		baseURL: c.BaseURL,
		log:     c.Log,
		mail:    c.Mail,
		people:  c.People,
		formats: c.Formats,
		tested:  map[ship.EndpointID]time.Time{},
	}
}

// An Entry is a log event with what it is about, as it was at the event.
type Entry struct {
	Event    ship.Event
	Shipment ship.Shipment // when Event.Shipment is set
	Tracker  ship.Tracker  // when Event.Tracker is set
}

// Events is a part of the log, oldest first, and the cursor that continues it.
type Events struct {
	Entries []Entry
	Next    string // never empty
}
