// Package config holds the settings of the service: one struct, read once from
// the environment. It reads nothing else and opens nothing.
package config

import (
	"errors"
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"time"
)

// Config is every setting, checked.
type Config struct {
	DatabaseURL         string
	DatabaseConnections int32

	Listen         string // host:port; port 0 takes a free one
	MetricsListen  string // host:port; empty is no second listener
	BaseURL        string // without a trailing slash; empty means the listening address
	TrustedProxies []netip.Prefix

	LogLevel      slog.Level
	LogFormat     string // "json" or "text"
	TraceEndpoint string // empty sends no traces
	Profiling     bool

	RateLimit       int // requests per second and key; 0 sets no limit
	RateBurst       int
	MaxBodyBytes    int64
	MaxHeaderBytes  int
	RequestTimeout  time.Duration
	HeaderTimeout   time.Duration
	IdleTimeout     time.Duration
	ShutdownTimeout time.Duration

	QuoteTimeout    time.Duration
	QuoteCache      time.Duration // 0 asks the carriers every time
	QuoteCacheToBuy bool
	PurchaseTimeout time.Duration
	BuyTimeout      time.Duration
	SettleAfter     time.Duration
	LookEvery       time.Duration
	LookupLag       time.Duration
	RebuyFor        time.Duration
	ReviewAfter     time.Duration
	SweepEvery      time.Duration
	LateSweepEvery  time.Duration
	JobRescueAfter  time.Duration
	JobRetryAfter   time.Duration
	SpoolDir        string
	SandboxStep     time.Duration // 0 moves simulated parcels only on demand

	FontDir    string
	SigningKey []byte   // nil means the installation's own
	SecretKeys [][]byte // the first encrypts, all decrypt; none means the installation's own
	SecretKMS  []string // addresses of keys in key services, or LocalKeys; the first wraps, all unwrap

	OIDCIssuer       string // empty is no identity provider
	OIDCClientID     string
	OIDCClientSecret string

	SMTPURL       *url.URL // nil sends no mail
	MailFrom      *mail.Address
	RequestLogFor time.Duration // 0 keeps no requests
	ExchangesFor  time.Duration // 0 keeps no exchanges with carriers
	BatchesFor    time.Duration

	CarrierURLs   map[string]string // by carrier, instead of its own
	CarrierQuotas map[string]Quota  // by carrier, instead of the usual one of an account

	WebhookNetworks []netip.Prefix // private networks that events may be sent to
	WebhookLoopback bool           // events may be sent to this machine
}

// LocalKeys stands for SECRET_KEY among the addresses of SECRET_KMS.
const LocalKeys = "local"

// A Quota is how many calls may be made in each period; 0 calls set no limit.
type Quota struct {
	Calls int
	Per   time.Duration
}

// A Setting is the public description of one setting.
type Setting struct {
	Name    string
	Default string // empty if there is none
	Help    string
}

// Load reads the settings through lookup, usually os.LookupEnv, and reports
// everything that is wrong with them at once.
func Load(lookup func(string) (string, bool)) (Config, error) {
	source := env{lookup: lookup}
	settings := read(&source)

	// A setting that could not be parsed is zero, and would seem to conflict
	// with others.
	if len(source.errs) == 0 {
		source.errs = settings.conflicts()
	}
	return settings, errors.Join(source.errs...)
}

// Settings lists what Load reads, in its order.
func Settings() []Setting {
	source := env{lookup: func(string) (string, bool) { return "", false }}
	read(&source)
	return source.settings
}

// read reads all settings. It is the table of their names, defaults, parsers and
// help.
func read(e *env) Config {
	return Config{
		DatabaseURL:         get(e, "DATABASE_URL", required, databaseURL, "address of the Postgres database, as its owner: postgres://user:password@host:5432/waybill"),
		DatabaseConnections: get(e, "DATABASE_CONNECTIONS", "32", wholeNumber[int32](2, 1000), "most connections for requests; background work has 12 more"),

		Listen:         get(e, "LISTEN", "127.0.0.1:8080", hostPort, "address that the API listens on; port 0 takes a free one"),
		MetricsListen:  get(e, "METRICS_LISTEN", "127.0.0.1:9090", orOff(hostPort), "address of /metrics, /healthz and /readyz for operators; off for none"),
		BaseURL:        get(e, "BASE_URL", "", optional(baseURL), "public address of the service, in every link that it gives out; http:// and LISTEN if empty"),
		TrustedProxies: get(e, "TRUSTED_PROXIES", "", list(prefix), "networks of the proxies whose X-Forwarded-For is believed, with commas between"),

		LogLevel:      get(e, "LOG_LEVEL", "INFO", level, "least level that is logged: DEBUG, INFO, WARN or ERROR"),
		LogFormat:     get(e, "LOG_FORMAT", "json", oneOf("json", "text"), "how log lines are written: json or text"),
		TraceEndpoint: get(e, "OTEL_EXPORTER_OTLP_ENDPOINT", "", optional(baseURL), "address of an OpenTelemetry collector (OTLP over HTTP); no traces if empty"),
		Profiling:     get(e, "PROFILING", "off", onOff, "on serves /debug/pprof on METRICS_LISTEN"),

		RateLimit:       get(e, "RATE_LIMIT", "100", wholeNumber[int](0, 1_000_000), "requests a second that one key may make of one copy of the program; 0 for no limit"),
		RateBurst:       get(e, "RATE_BURST", "200", wholeNumber[int](1, 1_000_000), "requests that a key may make at once"),
		MaxBodyBytes:    get(e, "MAX_BODY_BYTES", "262144", wholeNumber[int64](1024, 64<<20), "largest body of a request"),
		MaxHeaderBytes:  get(e, "MAX_HEADER_BYTES", "32768", wholeNumber[int](4096, 1<<20), "largest header of a request"),
		RequestTimeout:  get(e, "REQUEST_TIMEOUT", "30s", atLeast(time.Second), "longest time that a request may take"),
		HeaderTimeout:   get(e, "HEADER_TIMEOUT", "5s", atLeast(time.Second), "longest time to send the header of a request"),
		IdleTimeout:     get(e, "IDLE_TIMEOUT", "120s", atLeast(time.Second), "after this long without a request, a connection is closed"),
		ShutdownTimeout: get(e, "SHUTDOWN_TIMEOUT", "25s", atLeast(0), "longest time for requests and jobs to end after a signal to stop"),

		QuoteTimeout:    get(e, "QUOTE_TIMEOUT", "4s", atLeast(time.Millisecond), "after this long, rates are answered with what carriers have quoted so far"),
		QuoteCache:      get(e, "QUOTE_CACHE", "0s", atLeast(0), "for so long, the same lane, weight step, size and options are quoted from memory, marked as such; 0 asks the carriers every time, except for the form of a new shipment in the dashboard, which takes quotes of the last five minutes"),
		QuoteCacheToBuy: get(e, "QUOTE_CACHE_PURCHASES", "off", onOff, "on lets purchases be routed by such quotes too"),
		PurchaseTimeout: get(e, "PURCHASE_TIMEOUT", "20s", atLeast(time.Millisecond), "after this long without the carrier's answer, a purchase is answered as pending"),
		BuyTimeout:      get(e, "BUY_TIMEOUT", "120s", atLeast(time.Millisecond), "no carrier may take longer than this to sell a label, whatever its own deadline; the purchase continues after its request was answered as pending"),
		SettleAfter:     get(e, "SETTLE_AFTER", "60s", atLeast(time.Millisecond), "after this long, a purchase left open is looked up at the carrier"),
		LookEvery:       get(e, "LOOK_EVERY", "60s", atLeast(time.Millisecond), "time between two such looks"),
		LookupLag:       get(e, "LOOKUP_LAG", "15m", atLeast(0), "longest time that a purchase is believed to be missing from a carrier's look-up after its sale; carriers have shorter ones of their own"),
		RebuyFor:        get(e, "REBUY_FOR", "10m", atLeast(0), "for so long after its creation, a purchase that is known to have bought nothing is made again"),
		ReviewAfter:     get(e, "REVIEW_AFTER", "24h", atLeast(time.Second), "after this long, a purchase that a carrier can neither confirm nor deny is given to a person"),
		SweepEvery:      get(e, "SWEEP_EVERY", "60s", atLeast(time.Second), "time between two looks for purchases that wait without a job"),
		LateSweepEvery:  get(e, "LATE_SWEEP_EVERY", "1h", atLeast(time.Second), "time between two looks for labels that turn up late, which are voided"),
		JobRescueAfter:  get(e, "JOB_RESCUE_AFTER", "60s", atLeast(2*time.Second), "after this long, the jobs of a copy of the program that died are given to another; a job may take three quarters of it"),
		JobRetryAfter:   get(e, "JOB_RETRY_AFTER", "30s", atLeast(time.Millisecond), "time until a job that failed is tried again"),
		SpoolDir:        get(e, "SPOOL_DIR", "", text, "directory that holds what was bought, encrypted, until the database has it, and for three days what carriers were asked for, in case the database is put back to an earlier moment; must outlive a restart. waybill/spool in the user's cache directory if empty"),
		SandboxStep:     get(e, "SANDBOX_STEP", "30s", atLeast(0), "time between two steps of a simulated parcel; 0 moves them only on demand"),

		FontDir:    get(e, "FONT_DIR", "/usr/share/fonts/opentype/noto", text, "directory with NotoSansCJK-Regular.ttc and NotoSansCJK-Bold.ttc, for Chinese, Japanese and Korean on labels"),
		SigningKey: get(e, "SIGNING_KEY", "", optional(key), "secret that signs rate ids and label links, at least 32 bytes as base64; the installation's own if empty"),
		SecretKeys: get(e, "SECRET_KEY", "", list(key), "key that encrypts stored secrets, at least 32 bytes as base64 (openssl rand -base64 32); live connections to carriers need it or SECRET_KMS. To change it, put the new one before the old with a comma between. If empty, test credentials and webhook secrets are encrypted with a key that is in the database too"),
		SecretKMS:  get(e, "SECRET_KMS", "", list(kmsAddress), "key of a key service that encrypts the keys of carrier credentials: aws-kms://ARN, gcp-kms://projects/..., hcvault://HOST/MOUNT/keys/NAME; local is SECRET_KEY. To change it, put the new one before the old with a comma between. SECRET_KEY alone if empty"),

		OIDCIssuer:       get(e, "OIDC_ISSUER", "", optional(issuer), "address of the identity provider that people sign in to the dashboard with (OpenID Connect), as it names itself; none if empty. Its redirect address is BASE_URL/app/oidc"),
		OIDCClientID:     get(e, "OIDC_CLIENT_ID", "", text, "who this installation is to the identity provider"),
		OIDCClientSecret: get(e, "OIDC_CLIENT_SECRET", "", text, "what it proves that with; empty for a public client"),

		SMTPURL:       get(e, "SMTP_URL", "", optional(smtpURL), "mail server that tells people of webhooks that were switched off because they failed: smtp://user:password@host:587, or smtps:// for TLS from the first byte; no mail if empty"),
		MailFrom:      get(e, "MAIL_FROM", "", optional(mailAddress), "sender of such mail, such as Waybill <waybill@example.com>"),
		RequestLogFor: get(e, "REQUEST_LOG_FOR", "168h", atLeast(0), "for so long, what programs asked of the API is kept for the dashboard: route, status, time and the problem, never a body; in whole days. 0 keeps none"),
		ExchangesFor:  get(e, "CARRIER_LOG_FOR", "720h", atLeast(0), "for so long, what was said to carriers to buy and void labels is kept for the dashboard, without secrets; in whole days. 0 keeps none"),
		BatchesFor:    get(e, "BATCHES_FOR", "2160h", atLeast(24*time.Hour), "for so long after their upload, files of orders are kept with the addresses in them; shipments stay"),

		CarrierQuotas: get(e, "CARRIER_QUOTAS", "", carrierQuotas, "calls that a carrier takes from one account, where it has raised them: usps=10000/1h,ups=0 for no limit"),
		CarrierURLs:   get(e, "CARRIER_URLS", "", carrierURLs, "addresses of carriers instead of their own, for emulators and proxies: ups=http://127.0.0.1:9001,usps=https://proxy.example.com; http only to this machine"),

		WebhookNetworks: get(e, "WEBHOOK_ALLOW_NETWORKS", "", list(prefix), "private networks that webhooks may be sent to, with commas between; link-local addresses and this machine stay closed"),
		WebhookLoopback: get(e, "WEBHOOK_ALLOW_LOOPBACK", "off", onOff, "on lets webhooks be sent to this machine, for development"),
	}
}

// conflicts reports settings that are valid each by itself but not together.
func (c Config) conflicts() (errs []error) {
	if c.PurchaseTimeout >= c.RequestTimeout {
		errs = append(errs, errors.New("PURCHASE_TIMEOUT must be shorter than REQUEST_TIMEOUT"))
	}
	if c.QuoteTimeout >= c.RequestTimeout {
		errs = append(errs, errors.New("QUOTE_TIMEOUT must be shorter than REQUEST_TIMEOUT"))
	}

	// A purchase must not be settled while its request still waits for the
	// carrier.
	if c.SettleAfter < c.PurchaseTimeout {
		errs = append(errs, errors.New("SETTLE_AFTER must not be shorter than PURCHASE_TIMEOUT"))
	}

	if (c.OIDCIssuer == "") != (c.OIDCClientID == "") {
		errs = append(errs, errors.New("OIDC_ISSUER and OIDC_CLIENT_ID are set together"))
	}
	if (c.SMTPURL == nil) != (c.MailFrom == nil) {
		errs = append(errs, errors.New("SMTP_URL and MAIL_FROM are set together"))
	}
	return errs
}

// HasOutsideKey reports whether new carrier credentials are encrypted with a key
// that is not in the database, so that somebody who obtains the database or a
// backup cannot read them.
func (c Config) HasOutsideKey() bool {
	if len(c.SecretKeys) > 0 {
		return true
	}
	return len(c.SecretKMS) > 0 && c.SecretKMS[0] != LocalKeys
}

// HowToSetOutsideKey says what to do where HasOutsideKey is required and false.
const HowToSetOutsideKey = "set SECRET_KEY to 32 random bytes as base64 (openssl rand -base64 32), the same for every copy and command, and keep a copy of it outside the database; or set SECRET_KMS"

// RedactedDatabaseURL is DatabaseURL without its password.
func (c Config) RedactedDatabaseURL() string {
	address, err := url.Parse(c.DatabaseURL)
	if err != nil {
		return "(not a URL)"
	}
	return address.Redacted()
}
