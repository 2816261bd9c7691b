package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/compat/easypost"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/mcp"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/wire"
)

// services are all services of the program, wired to one another.
type services struct {
	account   *account.Service
	quoting   *quoting.Service
	addresses *addresscheck.Service
	compat    *compat.Service
	inquiry   *inquiry.Service
	shipping  *shipping.Service
	tracking  *tracking.Service
	webhook   *webhook.Service
	rules     *rulebook.Service
	member    *member.Service
	journal   *journal.Service
	batch     *batch.Service
	bulk      *bulk.Service
	privacy   *privacy.Service
	handover  *handover.Service
	returns   *returns.Service
	box       *seal.Box
	traffic   *carrierkit.Traffic
	heavy     *budget.Budget
	uploads   *httpkit.Uploads
}

func openStore(ctx context.Context, cfg config.Config, tracer pgx.QueryTracer) (*store.Store, error) {
	return store.Open(ctx, store.Options{
		URL:         cfg.DatabaseURL,
		Connections: cfg.DatabaseConnections,
		Tracer:      tracer,
		Cell:        cfg.Cell,
		OpenKey:     func(sealed []byte) ([]byte, error) { return openSigningKey(cfg, sealed) },
		Quota: store.StorageQuota{
			Live:            cfg.StorageLive,
			Test:            cfg.StorageTest,
			KeepTestUploads: cfg.TestUploadsFor,
		},
	})
}

// newPrivacy wires what erases and exports personal data.
func newPrivacy(cfg config.Config, baseURL string, st *store.Store, box *seal.Box, records *journal.Service, log *slog.Logger) *privacy.Service {
	return privacy.New(privacy.Config{
		Store:       st,
		Box:         box,
		Log:         log,
		BaseURL:     baseURL,
		RedactCells: batch.RedactCells,
		Settle:      cfg.RequestTimeout + eraseMargin,
		Keep:        cfg.ShipmentsFor,
		IsKept:      isKept(cfg, st.Cell()),

		Exchanges: func(ctx context.Context, tenant ship.Tenant, id ship.ShipmentID) ([]privacy.ExportedExchange, error) {
			list, err := records.OfShipment(ctx, tenant, id)
			exported := make([]privacy.ExportedExchange, len(list))
			for i, exchange := range list {
				exported[i] = privacy.ExportedExchange{
					At:       wire.Time(exchange.At),
					Request:  exchange.Method + " " + exchange.URL + "\n\n" + exchange.Body,
					Response: exchange.Answered,
				}
			}
			return exported, err
		},
	})
}

// isKept returns the function that reports whether a partition is in the archive; nil
// if there is no archive.
func isKept(cfg config.Config, cell string) func(store.Partition) bool {
	if cfg.ArchiveDir == "" {
		return nil
	}
	return archive.Of(cfg.ArchiveDir, cell).Has
}

// eraseMargin is how much longer than a request an erasure waits before it looks
// for what requests have left: logs are written a moment later.
const eraseMargin = 5 * time.Second

// newServices builds all services. recorded is called when one of them has
// recorded an event.
func newServices(ctx context.Context, cfg config.Config, baseURL string, st *store.Store, reg prometheus.Registerer, log *slog.Logger, recorded func()) (services, error) {
	keys, err := signingKeys(ctx, cfg, st)
	if err != nil {
		return services{}, err
	}
	box, err := newBox(ctx, cfg, st)
	if err != nil {
		return services{}, err
	}
	diskBox, err := newDiskBox(ctx, cfg, st)
	if err != nil {
		return services{}, err
	}

	calls, err := newCarrierMetrics(reg)
	if err != nil {
		return services{}, err
	}
	simulated, err := openSimulated(calls)
	if err != nil {
		return services{}, err
	}

	// The journal, the traffic and the accounts need one another, so each
	// reaches the next through a variable that is set before it is first used.
	var accounts *account.Service
	var live carriers
	records, err := newJournal(cfg, st, reg, func() *carrierkit.Traffic { return live.traffic })
	if err != nil {
		return services{}, err
	}
	plugins := newPlugins(cfg, st, box, log)
	parts.UsePlugins(plugins.Specs)
	live = carriers{
		specs:   withQuotas(cfg, all.Specs),
		plugins: pluginSpecs(cfg, plugins),
		observe: observeCalls(calls, records),
		traffic: carrierkit.NewTraffic(carrierkit.TrafficOptions{
			UserAgent: userAgent(),

			Wrap:  carrierkit.Recorder,
			Dial:  plugins.Dial,
			Probe: func(_, connection string) { accounts.Probe(context.WithoutCancel(ctx), ship.ConnectionID(connection)) },
		}),
		pushSecret: func(id ship.ConnectionID) string { return tracking.PushSecret(keys[0], id) },
		oldSecrets: func(id ship.ConnectionID) (secrets []string) {
			for _, key := range keys[1:] {
				secrets = append(secrets, tracking.PushSecret(key, id))
			}
			return secrets
		},
	}
	if accounts, err = newAccounts(cfg, st, box, live, log); err != nil {
		return services{}, err
	}
	if err := accounts.RequireLocalCarriers(ctx); err != nil {
		return services{}, err
	}
	if err := reg.Register(trafficStats{live.traffic}); err != nil {
		return services{}, fmt.Errorf("carrier metrics: %w", err)
	}

	heavy, forLabels, err := newBudgets(cfg, reg)
	if err != nil {
		return services{}, err
	}
	uploads, err := newUploads(cfg)
	if err != nil {
		return services{}, err
	}
	rules, err := newRules(st, accounts, simulated, heavy)
	if err != nil {
		return services{}, err
	}
	sellers := carrier.Accounts{
		Simulated:  simulated,
		Connected:  accounts.Carriers,
		Connection: accounts.Carrier,
	}
	quotes := quoting.New(quoting.Config{
		Accounts:       sellers,
		SigningKey:     keys[0],
		OldSigningKeys: keys[1:],
		SoftDeadline:   cfg.QuoteTimeout,
		QuoteLife:      cfg.QuoteCache,
		QuoteLifeToBuy: cfg.QuoteCacheToBuy,
		Policy:         routingPolicy(rules),
		Location:       accounts.Location,
	})
	addresses := addresscheck.New(addresscheck.Config{
		Store:    st,
		Accounts: sellers,
		Key:      keys[0],
		Wait: func(id ship.ConnectionID) time.Duration {
			return live.traffic.Waits(string(id))[carrier.OpCheckAddress]
		},
		Log: log,
	})
	renderer, err := newRenderer(cfg, forLabels)
	if err != nil {
		return services{}, err
	}
	buying, err := newShipping(ctx, cfg, diskBox, reg, shipping.Config{
		Store:          st,
		Accounts:       sellers,
		Labels:         renderer,
		Quoting:        quotes,
		Addresses:      addresses,
		SigningKey:     keys[0],
		OldSigningKeys: keys[1:],
		BaseURL:        baseURL,
		EventsRecorded: recorded,
		Log:            log,
		Exchanged:      records.NoteExchange,
	})
	if err != nil {
		return services{}, err
	}

	handovers, err := newHandover(cfg, reg, handover.Config{Store: st, Accounts: sellers, Labels: renderer, Log: log}, records)
	if err != nil {
		return services{}, err
	}

	out := services{
		account:   accounts,
		handover:  handovers,
		quoting:   quotes,
		addresses: addresses,
		compat:    compat.New(st),
		inquiry:   inquiry.New(sellers, quotes.Locate),
		shipping:  buying,
		rules:     rules,
		journal:   records,
		bulk:      newBulk(cfg, st, accounts, buying, handovers, log),
		batch:     newBatches(cfg, st, accounts, addresses, quotes, buying, live.traffic, log),
		privacy:   newPrivacy(cfg, baseURL, st, box, records, log),
		box:       box,
		traffic:   live.traffic,
		heavy:     heavy,
		uploads:   uploads,
		tracking: tracking.New(tracking.Config{
			Store:          st,
			BaseURL:        baseURL,
			SandboxStep:    cfg.SandboxStep,
			EventsRecorded: recorded,
			Log:            log,
			Key:            keys[0],
			OldKeys:        keys[1:],
			PagesFor:       cfg.TrackingPagesFor,
			PushBase:       pushBase(cfg),
			Unmapped:       calls.unmapped,
			Connection:     accounts.Carrier,
			Connected:      accounts.Carriers,
			TenantOf:       accounts.TenantOf,
			Specs:          all.Specs,
			Plugins:        plugins.Specs,
		}),
	}
	if out.returns, err = newReturns(cfg, baseURL, st, accounts, buying, out.tracking, log, reg); err != nil {
		return services{}, err
	}
	if out.member, err = newMembers(cfg, baseURL, st, box, log); err != nil {
		return services{}, err
	}
	out.webhook = newWebhook(cfg, out.member, webhook.Config{
		Store:   st,
		Box:     box,
		Sender:  newSender(cfg, log),
		BaseURL: baseURL,
		Log:     log,
		Formats: map[string]webhook.Format{easypost.FormatName: easypost.Format(out.tracking.PagePath)},
	})

	// Whether the database was restored should be known before the first purchase. A log
	// that takes longer to compare does not hold the start up: until it is compared,
	// nothing is sent to a carrier.
	looking, cancel := context.WithTimeout(ctx, lookAtStart)
	defer cancel()
	if err := out.shipping.NoticeRestore(looking); err != nil {
		log.ErrorContext(ctx, "the database is not compared with the recovery log yet; live purchases wait for it", "error", err)
	}
	return out, nil
}

// lookAtStart is how long the start waits for the recovery log to be compared.
const lookAtStart = 2500 * time.Millisecond

// withQuotas returns the carriers with the quotas of the settings.
func withQuotas(cfg config.Config, specs []carrier.Spec) []carrier.Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		if quota, set := cfg.CarrierQuotas[specs[i].Name]; set {
			specs[i].Quota = carrier.Quota{Calls: quota.Calls, Per: quota.Per}
		}
	}
	return specs
}

// newWebhook wires the webhooks, and the mail about endpoints that fail.
func newWebhook(cfg config.Config, members *member.Service, c webhook.Config) *webhook.Service {
	if cfg.SMTPURL != nil {
		c.Mail = webhook.NewMailer(cfg.SMTPURL, cfg.MailFrom).Send
		c.People = members.Developers
	}
	return webhook.New(c)
}

// newSender returns what sends events. It never connects to the database or to
// the operator's listener, whatever networks the operator allows.
func newSender(cfg config.Config, log *slog.Logger) *webhook.Sender {
	policy := webhook.Policy{
		Networks: cfg.WebhookNetworks,
		Loopback: cfg.WebhookLoopback,
		Deny:     ownAddresses(cfg),
	}
	return webhook.NewSender(webhook.SenderOptions{Policy: policy, UserAgent: userAgent(), Log: log})
}

// ownAddresses returns the addresses of the service itself, which nothing that
// clients or operators name may be sent to.
func ownAddresses(cfg config.Config) (list []netip.AddrPort) {
	hosts := []string{cfg.MetricsListen}
	if database, err := pgx.ParseConfig(cfg.DatabaseURL); err == nil {
		hosts = append(hosts, net.JoinHostPort(database.Host, strconv.Itoa(int(database.Port))))
		for _, other := range database.Fallbacks { // a standby, which may be the primary by now
			hosts = append(hosts, net.JoinHostPort(other.Host, strconv.Itoa(int(other.Port))))
		}
	}
	for _, host := range hosts {
		list = append(list, lookupAddresses(host)...)
	}
	return list
}

// lookupAddresses returns the addresses of a host and port; none if they cannot
// be resolved.
func lookupAddresses(hostPort string) (list []netip.AddrPort) {
	host, portText, err := net.SplitHostPort(hostPort)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil {
		return nil
	}

	found, err := net.LookupIP(host)
	if err != nil {
		return nil
	}

	// A listener on every address is reached under each of this host's own.
	if slices.ContainsFunc(found, net.IP.IsUnspecified) {
		own, _ := net.InterfaceAddrs()
		for _, address := range own {
			if network, ok := address.(*net.IPNet); ok {
				found = append(found, network.IP)
			}
		}
	}

	for _, ip := range found {
		if address, ok := netip.AddrFromSlice(ip); ok {
			list = append(list, netip.AddrPortFrom(address.Unmap(), uint16(port)))
		}
	}
	return list
}

// openSimulated opens the carriers of the sandbox. They run in this process,
// without a network.
func openSimulated(calls *carrierMetrics) ([]*carrier.Carrier, error) {
	var list []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			return nil, fmt.Errorf("simulated carrier %s: %w", spec.Name, err)
		}
		c.Observe = calls.observe(spec.Name)
		list = append(list, c)
	}
	return list, nil
}

// newAPI returns the handler of the public listener: the API, and the dashboard
// beside it.
func (a *App) newAPI() (http.Handler, error) {
	metrics, err := httpkit.NewMetrics(a.registry)
	if err != nil {
		return nil, fmt.Errorf("request metrics: %w", err)
	}

	// Zero switches the limit off in the settings. To the API zero means its
	// default, and a negative number no limit.
	limit := a.cfg.RateLimit
	if limit == 0 {
		limit = -1
	}

	limiter := httpkit.NewLimiter(api.Limits{RequestsPerSec: limit, Burst: a.cfg.RateBurst}.KeyLimit())

	handler := api.New(api.Config{
		Limiter:        limiter,
		Account:        a.services.account,
		Quoting:        a.services.quoting,
		Shipping:       a.services.shipping,
		Tracking:       a.services.tracking,
		Webhook:        a.services.webhook,
		Rules:          a.services.rules,
		Privacy:        a.services.privacy,
		Handover:       a.services.handover,
		Returns:        a.services.returns,
		Addresses:      a.services.addresses,
		Inquiry:        a.services.inquiry,
		Journal:        a.services.journal,
		Batch:          a.services.batch,
		Box:            a.services.box,
		Heavy:          a.services.heavy,
		Uploads:        a.services.uploads,
		BaseURL:        a.baseURL,
		TrustedProxies: a.cfg.TrustedProxies,
		Log:            a.log,
		Metrics:        metrics,
		Ready:          a.ready,
		Answered:       a.services.shipping.Answered,
		Finished:       noteRequest(a.services.journal),
		Note:           a.services.member.Note,
		NoteRefusal:    a.services.member.NoteRefusal,
		Limits: api.Limits{
			Body:           a.cfg.MaxBodyBytes,
			Timeout:        a.cfg.RequestTimeout,
			RequestsPerSec: limit,
			Burst:          a.cfg.RateBurst,
		},
	})
	moved := easypost.New(easypost.Config{
		Account:        a.services.account,
		Quoting:        a.services.quoting,
		Shipping:       a.services.shipping,
		Tracking:       a.services.tracking,
		Webhook:        a.services.webhook,
		Handover:       a.services.handover,
		Addresses:      a.services.addresses,
		Compat:         a.services.compat,
		BaseURL:        a.baseURL,
		MaxBody:        a.cfg.MaxBodyBytes,
		Timeout:        a.cfg.RequestTimeout,
		Limiter:        limiter,
		TrustedProxies: a.cfg.TrustedProxies,
		Log:            a.log,
		Metrics:        metrics,
		Note:           a.services.member.Note,
		NoteRefusal:    a.services.member.NoteRefusal,
		Finished:       noteRequest(a.services.journal),
	})

	assistants := a.newMCP(handler, limiter, metrics)

	return a.withWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case easypost.Owns(r.URL.Path):
			moved.ServeHTTP(w, r)
		case assistants != nil && mcp.Owns(r.URL.Path):
			assistants.ServeHTTP(w, r)
		default:
			handler.ServeHTTP(w, r)
		}
	}), metrics), nil
}

// newMCP returns the edge for assistants and agents, which calls the API; nil if the
// settings switch it off.
func (a *App) newMCP(api http.Handler, limiter *httpkit.Limiter, metrics *httpkit.Metrics) http.Handler {
	if !a.cfg.MCP {
		return nil
	}
	return mcp.New(mcp.Config{
		API:            api,
		Account:        a.services.account,
		Box:            a.services.box,
		QuotedRate:     a.services.quoting.QuotedRate,
		SpentToday:     a.services.shipping.SpentToday,
		Version:        Version(),
		BaseURL:        a.baseURL,
		MaxBody:        a.cfg.MaxBodyBytes,
		Timeout:        a.cfg.RequestTimeout,
		Limiter:        limiter,
		TrustedProxies: a.cfg.TrustedProxies,
		Log:            a.log,
		Metrics:        metrics,
		NoteRefusal:    a.services.member.NoteRefusal,
		Finished:       noteRequest(a.services.journal),
	})
}

// OpenAccounts wires what operators' commands need: the accounts, and a
// function that releases them. The database must be migrated.
func OpenAccounts(ctx context.Context, cfg config.Config) (*account.Service, func(), error) {
	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return nil, nil, err
	}

	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return nil, nil, err
	}
	return account.New(st), st.Close, nil
}

// NewLogger returns a logger with the level and format of the settings. No line
// contains a name, an address or a key: ids, routes and codes alone.
func NewLogger(cfg config.Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: nameError}
	var handler slog.Handler = slog.NewJSONHandler(w, options)
	if cfg.LogFormat == "text" {
		handler = slog.NewTextHandler(w, options)
	}
	if cfg.TraceEndpoint != "" {
		handler = tracedLines{handler}
	}
	return slog.New(handler)
}

// nameError has errors under one name, also in the lines of the job queue's library.
func nameError(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == "err" {
		a.Key = "error"
	}
	return a
}
