// Package plugin knows the carriers whose drivers are programs of their own:
// operators register them, accounts connect them like any other carrier, and
// Verify finds out whether one keeps what it promises.
package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

const (
	// listLife is for how long the list is cached: what another process
	// registers shows after that.
	listLife = 10 * time.Second
	// listTimeout bounds how long a caller waits for a fresh list, and
	// firstListTimeout for the first: without it, the connections to plug-ins
	// would seem not to exist.
	listTimeout      = 2 * time.Second
	firstListTimeout = 15 * time.Second

	connectTimeout  = 5 * time.Second
	describeTimeout = 15 * time.Second
)

// Config is what a Service is made of.
type Config struct {
	Store    *store.Store
	Box      *seal.Box
	Policy   webhook.Policy // of the addresses that plug-ins may have
	Reserved []string       // names that other carriers have
	Log      *slog.Logger
}

// Service knows the registered plug-ins. It is safe for concurrent use.
type Service struct {
	store    *store.Store
	box      *seal.Box
	policy   webhook.Policy
	reserved []string
	log      *slog.Logger

	mu     sync.Mutex
	list   []Registered
	specs  []carrier.Spec
	readAt time.Time
	isRead bool // once, at least
}

// A Registered plug-in is one that an operator added.
type Registered struct {
	remote.Plugin
	UpdatedAt time.Time
}

// New returns a service.
func New(c Config) *Service {
	return &Service{
		store:    c.Store,
		box:      c.Box,
		policy:   c.Policy,
		reserved: c.Reserved,
		log:      c.Log,
	}
}

// secretBinding is what the secret of a plug-in is bound to.
func secretBinding(name string) []string { return []string{"carrier plug-in", name} }

// Add registers a plug-in, or registers it again after its address, its secret
// or what it can do has changed. The plug-in must answer.
func (s *Service) Add(ctx context.Context, name, address, secretText string) (Registered, error) {
	if err := remote.CheckName(name); err != nil {
		return Registered{}, err
	}
	if slices.Contains(s.reserved, name) {
		return Registered{}, ship.Errorf(ship.Conflict, "the name %s belongs to a carrier of Waybill itself: choose another, such as %s_plugin", name, name)
	}
	target, err := Open(s.policy, address, secretText)
	if err != nil {
		return Registered{}, err
	}
	description, err := target.Describe(ctx)
	if err != nil {
		return Registered{}, err
	}
	text, err := json.Marshal(description)
	if err != nil {
		return Registered{}, fmt.Errorf("describe the plug-in %s: %w", name, err)
	}

	err = s.store.SaveCarrierPlugin(ctx, store.CarrierPlugin{
		Name:        name,
		URL:         target.url,
		Secret:      s.box.Seal([]byte(target.secret.Reveal()), secretBinding(name)...),
		Description: text,
	})
	if err != nil {
		return Registered{}, err
	}
	s.forget()

	plugin := remote.Plugin{Name: name, URL: target.url, Secret: target.secret, Description: description}
	return Registered{Plugin: plugin, UpdatedAt: time.Now().UTC()}, nil
}

// Remove takes a plug-in out of use, unless accounts still use it. What was
// bought through it before can still be settled and voided.
func (s *Service) Remove(ctx context.Context, name string) error {
	err := s.store.RemoveCarrierPlugin(ctx, name)
	s.forget()
	return err
}

// List returns the registered plug-ins by name, without removed ones.
func (s *Service) List(ctx context.Context) ([]Registered, error) {
	list, err := s.read(ctx)
	return slices.DeleteFunc(list, func(r Registered) bool { return r.Retired }), err
}

// Specs returns the carriers of the plug-ins, removed ones too, which are marked
// as retired. A list that cannot be read is the last one that could.
func (s *Service) Specs() []carrier.Spec {
	_, specs := s.cached()
	return specs
}

// Dial returns what connects to a plug-in, within the policy; nil for a carrier
// that is no plug-in.
func (s *Service) Dial(name string) carrierkit.DialContext {
	if s.address(name) == "" {
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// Whether TLS follows is up to the plug-in's address, which may have
		// changed since the transport was made.
		withTLS := !strings.HasPrefix(s.address(name), "http://")
		return s.policy.Dialer(connectTimeout, withTLS)(ctx, network, address)
	}
}

// address returns the address of a plug-in; empty if there is none of the name.
func (s *Service) address(name string) string {
	list, _ := s.cached()
	for _, registered := range list {
		if registered.Name == name {
			return registered.URL
		}
	}
	return ""
}

// cached returns the plug-ins and their carriers, read anew if they are old. The
// lists are shared: they must not be changed.
func (s *Service) cached() ([]Registered, []carrier.Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.readAt) < listLife {
		return s.list, s.specs
	}

	// A database that does not answer is asked again after the same time, or at
	// once if there is no list yet.
	timeout := firstListTimeout
	if s.isRead {
		timeout = listTimeout
		s.readAt = time.Now()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	list, err := s.read(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "carrier plug-ins could not be read", "error", err)
		return s.list, s.specs
	}

	s.isRead = true
	s.readAt = time.Now()
	s.list = list
	s.specs = nil
	for _, registered := range list {
		s.specs = append(s.specs, registered.Spec())
	}
	return s.list, s.specs
}

func (s *Service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Time{}
}

// read reads the registered plug-ins. One that cannot be used is left out, and
// logged: it does not stop the others.
func (s *Service) read(ctx context.Context) ([]Registered, error) {
	rows, err := s.store.CarrierPlugins(ctx)
	if err != nil {
		return nil, err
	}

	var list []Registered
	for _, row := range rows {
		plugin, err := s.open(row)
		if err != nil {
			s.log.WarnContext(ctx, "carrier plug-in skipped", "carrier", row.Name, "error", err)
			continue
		}
		list = append(list, Registered{Plugin: plugin, UpdatedAt: row.UpdatedAt})
	}
	return list, nil
}

func (s *Service) open(row store.CarrierPlugin) (remote.Plugin, error) {
	plugin := remote.Plugin{
		Name:     row.Name,
		URL:      row.URL,
		Revision: row.Revision,
		Retired:  !row.RemovedAt.IsZero(),
	}
	text, err := s.box.Open(row.Secret, secretBinding(row.Name)...)
	if err != nil {
		return plugin, err
	}
	if plugin.Secret, err = remote.ParseSecret(string(text)); err != nil {
		return plugin, err
	}
	if err := json.Unmarshal(row.Description, &plugin.Description); err != nil {
		return plugin, fmt.Errorf("its description: %w", err)
	}

	// A description of an earlier version of the program is checked by the rules
	// of this one.
	return plugin, plugin.Description.Check()
}

// A Target is a plug-in that can be called, registered or not.
type Target struct {
	url    string
	secret remote.Secret
	via    carrier.Doer
}

// Open returns the plug-in at an address that the policy allows.
func Open(policy webhook.Policy, address, secretText string) (Target, error) {
	checked, err := policy.CheckURL(address)
	if err != nil {
		return Target{}, err
	}
	parsed, err := url.Parse(checked)
	if err != nil || parsed.RawQuery != "" || parsed.ForceQuery {
		return Target{}, ship.Errorf(ship.Invalid, "the URL must not have a query: Waybill adds the paths of the operations to it")
	}
	secret, err := remote.ParseSecret(secretText)
	if err != nil {
		return Target{}, err
	}

	// There is no account yet whose calls would be paced, and verifying would
	// open every breaker.
	options := conformance.Patient()
	dial := policy.Dialer(connectTimeout, parsed.Scheme == "https")
	options.Dial = func(string) carrierkit.DialContext { return dial }
	return Target{
		url:    strings.TrimRight(checked, "/"),
		secret: secret,
		via:    carrierkit.NewTraffic(options).Doer(carrier.Spec{}, ""),
	}, nil
}

// Describe asks the plug-in what it can do.
func (t Target) Describe(ctx context.Context) (remote.Description, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	description, err := remote.Describe(ctx, t.via, t.url, t.secret)
	if kind := ship.KindOf(err); kind == ship.Unavailable {
		return description, ship.Errorf(kind, "the plug-in at %s does not answer as a plug-in does: %w; its cause: %v", t.url, err, ship.ErrorOf(err).Err)
	}
	return description, err
}

// ResealSecrets brings the secrets of plug-ins under the present key of the box.
// report is called for each one, with an error for one that cannot be decrypted.
func ResealSecrets(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedPlugins, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		resealed, err := box.ResealEach(row.Secrets, func(int) []string { return secretBinding(row.Key) })
		if err != nil {
			err = fmt.Errorf("secret of the carrier plug-in %s: %w", row.Key, err)
		}
		report(err)
		return resealed
	})
}
