// Package config holds the settings of the service: one struct, read once from
// the environment and from the key file that SECRET_KEY_FILE names. It reads
// nothing else and opens nothing.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"time"
)

// Config is every setting, checked.
type Config struct {
	DatabaseURL         string
	MigrateDatabaseURL  string // empty means DatabaseURL
	DatabaseConnections int32
	Cell                string // name of the cell that the database must be; empty accepts what it is
	DirectoryURL        string // empty means DatabaseURL

	Listen         string // host:port; port 0 takes a free one
	MetricsListen  string // host:port; empty is no second listener
	BaseURL        string // without a trailing slash; empty means the listening address
	TrustedProxies []netip.Prefix

	LogLevel      slog.Level
	LogFormat     string // "json" or "text"
	TraceEndpoint string // empty sends no traces
	Profiling     bool
	MCP           bool

	RateLimit       int // requests per second and key; 0 sets no limit
	RateBurst       int
	MaxBodyBytes    int64
	MaxHeaderBytes  int
	HeavyWorkBytes  int64 // memory for files and back-tests that are worked on at once
	LabelWorkBytes  int64 // likewise for labels, which do not wait for files
	UploadDir       string
	StorageLive     int64 // bytes that an account can store in a day
	StorageTest     int64
	TestUploadsFor  time.Duration
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
	LookupScale     float64
	RebuyFor        time.Duration
	ReviewAfter     time.Duration
	ApprovalWait    time.Duration
	SweepEvery      time.Duration
	LateSweepEvery  time.Duration
	JobRescueAfter  time.Duration
	JobRetryAfter   time.Duration
	SpoolDir        string // empty is a directory of the user, named after the installation
	SpoolRequired   bool
	SpoolSync       bool
	SandboxStep     time.Duration // 0 moves simulated parcels only on demand

	FontDir       string
	SigningKeys   [][]byte // the first signs, all verify; nil is the installation's own, and so is none
	SecretKeys    [][]byte // the first encrypts, all decrypt; none means the installation's own
	SecretKeyFile string   // where SecretKeys were read from if SECRET_KEY is empty
	SecretKMS     []string // addresses of keys in key services, or LocalKeys; the first wraps, all unwrap

	OIDCIssuer       string // empty is no identity provider
	OIDCClientID     string
	OIDCClientSecret string

	SMTPURL       *url.URL // nil sends no mail
	MailFrom      *mail.Address
	RequestLogFor time.Duration // 0 keeps no requests
	ExchangesFor  time.Duration // 0 keeps no exchanges with carriers
	BatchesFor    time.Duration
	LabelsFor     time.Duration
	ShipmentsFor  time.Duration
	ArchiveDir    string // empty is no archive

	TrackingPagesFor time.Duration // after the delivery; 0 for good

	CarrierURLs   map[string]string // by carrier, instead of its own
	CarrierQuotas map[string]Quota  // by carrier, instead of the usual one of an account

	PluginNetworks  []netip.Prefix // private networks that carrier plug-ins run in
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
	settings.readKeyFile(&source)

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
		DatabaseURL:         get(e, "DATABASE_URL", required, databaseURL, "URL of the Postgres database: postgres://user:password@host:5432/waybill. Several servers, a primary and its standbys, are separated by commas: host1:5432,host2:5432"),
		MigrateDatabaseURL:  get(e, "MIGRATE_DATABASE_URL", "", optional(databaseURL), "URL of the same database as the user that owns the tables, for waybill migrate alone; DATABASE_URL if empty. Keep it out of the environment of waybill serve, whose user then need not own anything"),
		DatabaseConnections: get(e, "DATABASE_CONNECTIONS", "32", wholeNumber[int32](2, 1000), "maximum number of connections for requests; background work uses 12 more, and look-ups under load 2"),

		Cell:         get(e, "CELL", "", text, "name of the cell that the database must be, where an installation has several; the same as --cell"),
		DirectoryURL: get(e, "DIRECTORY_URL", "", optional(databaseURL), "URL of the database with the map of the cells, for waybill route, cell and shard alone; DATABASE_URL if empty"),

		Listen:         get(e, "LISTEN", "127.0.0.1:8080", hostPort, "address the API listens on; port 0 picks a free port"),
		MetricsListen:  get(e, "METRICS_LISTEN", "127.0.0.1:9090", orOff(hostPort), "address of /metrics, /healthz and /readyz for operators; off disables it"),
		BaseURL:        get(e, "BASE_URL", "", optional(publicURL), "public URL of the service, used in every link: https, or http on this machine alone; http:// and LISTEN if empty"),
		TrustedProxies: get(e, "TRUSTED_PROXIES", "", list(prefix), "networks of the proxies whose X-Forwarded-For header is trusted, comma-separated"),

		LogLevel:      get(e, "LOG_LEVEL", "INFO", level, "minimum log level: DEBUG, INFO, WARN or ERROR"),
		LogFormat:     get(e, "LOG_FORMAT", "json", oneOf("json", "text"), "log format: json or text"),
		TraceEndpoint: get(e, "OTEL_EXPORTER_OTLP_ENDPOINT", "", optional(baseURL), "URL of an OpenTelemetry collector (OTLP over HTTP); no traces if empty"),
		MCP:           get(e, "MCP", "on", onOff, "on serves the Model Context Protocol at /mcp, for assistants and agents that have an API key and for \"waybill mcp\"; off serves nothing there"),
		Profiling:     get(e, "PROFILING", "off", onOff, "on serves /debug/pprof on METRICS_LISTEN"),

		RateLimit:       get(e, "RATE_LIMIT", "100", wholeNumber[int](0, 1_000_000), "requests per second for each key and each dashboard session, in each copy of the program; an address can make four times as many to the dashboard. 0 for no limit"),
		RateBurst:       get(e, "RATE_BURST", "200", wholeNumber[int](1, 1_000_000), "requests a key or a dashboard session can make in a burst"),
		MaxBodyBytes:    get(e, "MAX_BODY_BYTES", "262144", wholeNumber[int64](1024, 4<<20), "maximum size of a request body; rate sheets have a limit of their own"),
		MaxHeaderBytes:  get(e, "MAX_HEADER_BYTES", "32768", wholeNumber[int](4096, 1<<20), "maximum size of request headers"),
		HeavyWorkBytes:  get(e, "HEAVY_WORK_BYTES", "268435456", wholeNumber[int64](192<<20, 1<<40), "memory for rate sheets, order files, back-tests and logos that are worked on at once; more of them wait, then get 503. While several accounts wait, each gets at most a quarter"),
		LabelWorkBytes:  get(e, "LABEL_WORK_BYTES", "268435456", wholeNumber[int64](192<<20, 1<<40), "memory for label conversions that run at once, likewise"),
		UploadDir:       get(e, "UPLOAD_DIR", "", text, "directory for bodies of more than 256 KiB while they arrive, at most 512 MiB in all; they are removed with their request. The system's directory for temporary files if empty, and never SPOOL_DIR"),
		RequestTimeout:  get(e, "REQUEST_TIMEOUT", "30s", atLeast(time.Second), "maximum duration of a request"),
		HeaderTimeout:   get(e, "HEADER_TIMEOUT", "5s", atLeast(time.Second), "maximum time to receive the request headers"),
		IdleTimeout:     get(e, "IDLE_TIMEOUT", "120s", atLeast(time.Second), "time without a request after which a connection is closed"),
		ShutdownTimeout: get(e, "SHUTDOWN_TIMEOUT", "25s", atLeast(0), "maximum time for requests and jobs to finish after a signal to stop"),

		QuoteTimeout:    get(e, "QUOTE_TIMEOUT", "4s", atLeast(time.Millisecond), "time after which rates are returned with the quotes received so far"),
		QuoteCache:      get(e, "QUOTE_CACHE", "0s", atLeast(0), "how long quotes are cached by lane, weight step, size and options; cached quotes are marked as such. 0 calls the carriers every time, except for the new-shipment form in the dashboard, which uses quotes of the last five minutes"),
		QuoteCacheToBuy: get(e, "QUOTE_CACHE_PURCHASES", "off", onOff, "on uses cached quotes to route purchases too"),
		PurchaseTimeout: get(e, "PURCHASE_TIMEOUT", "20s", atLeast(time.Millisecond), "time without a response from the carrier after which a purchase is returned as pending"),
		BuyTimeout:      get(e, "BUY_TIMEOUT", "120s", atLeast(time.Millisecond), "maximum time for a carrier to sell a label, book a pickup or close a manifest, whatever the carrier's own timeout; what was returned as pending continues until then"),
		SettleAfter:     get(e, "SETTLE_AFTER", "60s", atLeast(time.Millisecond), "time after which an open purchase is looked up at the carrier"),
		LookEvery:       get(e, "LOOK_EVERY", "60s", atLeast(time.Millisecond), "interval between such lookups"),
		LookupLag:       get(e, "LOOKUP_LAG", "", optional(atLeast(0)), "minimum of the visibility delay of every carrier connection: how long after its sale a label may be missing from the carrier's lookup. If empty, each connection has the delay of its carrier, or what it has shown since"),
		LookupScale:     get(e, "LOOKUP_SCALE", "1", fraction, "for tests with emulated carriers: compresses visibility delays, 0.001 makes an hour 3.6 seconds. Below 1, live connections work only with carriers on this machine"),
		RebuyFor:        get(e, "REBUY_FOR", "10m", atLeast(0), "how long after its creation a purchase is retried if it is known to have bought nothing"),
		ReviewAfter:     get(e, "REVIEW_AFTER", "24h", atLeast(time.Second), "time after which a purchase that the carrier can neither confirm nor rule out becomes needs_review"),
		ApprovalWait:    get(e, "APPROVAL_EXPIRES_AFTER", "24h", atLeast(time.Second), "time after which a purchase fails that needs an approval and that nobody has approved"),
		SweepEvery:      get(e, "SWEEP_EVERY", "60s", atLeast(time.Second), "interval of the search for purchases that are still open after five times SETTLE_AFTER, and for approvals that have expired"),
		LateSweepEvery:  get(e, "LATE_SWEEP_EVERY", "1h", atLeast(time.Second), "interval of the search for labels that appear late at a carrier, which are voided"),
		JobRescueAfter:  get(e, "JOB_RESCUE_AFTER", "60s", atLeast(2*time.Second), "time after which another copy takes over the jobs of a copy that crashed; a job may take three quarters of it"),
		JobRetryAfter:   get(e, "JOB_RETRY_AFTER", "30s", atLeast(time.Millisecond), "time until a failed job is retried"),
		SpoolDir:        get(e, "SPOOL_DIR", "", text, "directory of the local spool and recovery log, encrypted: purchases until they are in the database, and for three days the purchase requests sent to carriers and the labels sold, in case the database is restored to an earlier point in time; must survive restarts. If empty, a directory of the installation in the user's cache directory"),
		SpoolRequired:   get(e, "SPOOL_REQUIRED", "true", trueOrFalse, "true refuses live purchases with 503 while the recovery log or the spool cannot be written to, or has less than 1 MiB of room for each purchase that is under way. false is for hosts without a disk: what a crash or a restore of the database loses can then only be looked up at its carrier"),
		SpoolSync:       get(e, "SPOOL_SYNC", "false", trueOrFalse, "true also waits until each entry of the recovery log is on the disk, so that it survives a loss of power and not only a crash of the program; sales in the spool always are"),
		SandboxStep:     get(e, "SANDBOX_STEP", "30s", atLeast(0), "interval between two steps of a simulated parcel; 0 advances parcels only on request"),

		FontDir:       get(e, "FONT_DIR", "/usr/share/fonts/opentype/noto", text, "directory with NotoSansCJK-Regular.ttc and NotoSansCJK-Bold.ttc, for Chinese, Japanese and Korean text on labels"),
		SigningKeys:   get(e, "SIGNING_KEY", "", list(signingKey), "secret that signs rate ids, label links, links to tracking pages and addresses of pushes, at least 32 bytes as base64; generated and stored in the database if empty. To rotate it, put the new key before the old one, separated by a comma; database is the one in the database"),
		SecretKeys:    get(e, "SECRET_KEY", "", list(key), "key that encrypts stored secrets, at least 32 bytes as base64 (openssl rand -base64 32); live carrier connections require it, SECRET_KEY_FILE or SECRET_KMS. To rotate it, put the new key before the old one, separated by a comma. If empty, test credentials and webhook secrets are encrypted with a key that is stored in the same database"),
		SecretKeyFile: get(e, "SECRET_KEY_FILE", "", text, "file with the value of SECRET_KEY, made by waybill secret-key create; read at the start, and only if SECRET_KEY is empty"),
		SecretKMS:     get(e, "SECRET_KMS", "", list(kmsAddress), "key in a key management service that encrypts the keys of carrier credentials: aws-kms://ARN, gcp-kms://projects/..., hcvault://HOST/MOUNT/keys/NAME; local is SECRET_KEY. To rotate it, put the new key before the old one, separated by a comma. Only SECRET_KEY if empty"),

		OIDCIssuer:       get(e, "OIDC_ISSUER", "", optional(issuer), "issuer URL of the OpenID Connect identity provider for dashboard sign-in, exactly as the provider states it; none if empty. The redirect URL is BASE_URL/app/oidc"),
		OIDCClientID:     get(e, "OIDC_CLIENT_ID", "", text, "client id of this installation at the identity provider"),
		OIDCClientSecret: get(e, "OIDC_CLIENT_SECRET", "", text, "client secret at the identity provider; empty for a public client"),

		SMTPURL:       get(e, "SMTP_URL", "", optional(smtpURL), "mail server for invitations to the dashboard, for return labels to recipients, and for notifications about webhooks disabled after failures: smtp://user:password@host:587, or smtps:// for implicit TLS; no mail if empty"),
		MailFrom:      get(e, "MAIL_FROM", "", optional(mailAddress), "sender of the mail, such as Waybill <waybill@example.com>"),
		RequestLogFor: get(e, "REQUEST_LOG_FOR", "168h", atLeast(0), "how long API requests are kept for the dashboard: route, status, time and error, never a body; in whole days. 0 keeps none"),
		ExchangesFor:  get(e, "CARRIER_LOG_FOR", "720h", atLeast(0), "how long carrier requests and responses for purchases and voids are kept for the dashboard, without secrets; in whole days. 0 keeps none"),
		BatchesFor:    get(e, "BATCHES_FOR", "2160h", atLeast(24*time.Hour), "how long uploaded order files are kept, including their addresses; shipments are kept"),

		TrackingPagesFor: get(e, "TRACKING_PAGES_FOR", "2160h", orZero(atLeast(24*time.Hour)), "how long the link to a recipient's tracking page works after the delivery, or after the last event of a parcel that was not delivered; 0 for good"),

		ShipmentsFor:   get(e, "SHIPMENTS_FOR", "9600h", atLeast(90*24*time.Hour), "how long shipments and trackers are kept. Then their personal data is erased; the rest is dropped by whole years, when the youngest shipment of the year is that old. Charges stay for ten years"),
		ArchiveDir:     get(e, "ARCHIVE_DIR", "", text, "directory to which events, deliveries, charges and shipments are exported, without personal data, before they are dropped from the database; the same for all copies with the worker role. None if empty"),
		StorageLive:    get(e, "STORAGE_LIVE_BYTES", "10737418240", wholeNumber[int64](0, 1<<50), "bytes of uploaded documents, batches and objects under /v2 that an account can store in a day in live mode, then 429. 0 for no limit"),
		StorageTest:    get(e, "STORAGE_TEST_BYTES", "268435456", wholeNumber[int64](0, 1<<50), "likewise in test mode"),
		TestUploadsFor: get(e, "TEST_UPLOADS_FOR", "168h", atLeast(time.Hour), "how long documents that are uploaded to test shipments are kept"),
		LabelsFor:      get(e, "LABELS_FOR", "9600h", atLeast(30*24*time.Hour), "how long labels and customs documents are kept, rounded up to whole months; accounts can choose less"),

		CarrierQuotas: get(e, "CARRIER_QUOTAS", "", carrierQuotas, "calls a carrier allows per account, if it has raised your quota: usps=10000/1h,ups=0; 0 for no limit"),
		CarrierURLs:   get(e, "CARRIER_URLS", "", carrierURLs, "URLs that replace those of the carriers, for emulators and proxies: ups=http://127.0.0.1:9001,usps=https://proxy.example.com; http only to this machine"),

		PluginNetworks:  get(e, "CARRIER_PLUGIN_NETWORKS", "", list(prefix), "private networks that carrier plug-ins run in, comma-separated, such as 10.0.0.0/8, or 127.0.0.0/8 for this machine; they may use http there, and https elsewhere"),
		WebhookNetworks: get(e, "WEBHOOK_ALLOW_NETWORKS", "", list(prefix), "private networks that webhooks may be sent to, comma-separated; link-local addresses and this machine stay blocked"),
		WebhookLoopback: get(e, "WEBHOOK_ALLOW_LOOPBACK", "off", onOff, "on allows webhooks to this machine, for development"),
	}
}

// readKeyFile reads the keys of SECRET_KEY_FILE. SECRET_KEY wins, so that an
// installation that has one keeps it when its deployment begins to name a file.
func (c *Config) readKeyFile(e *env) {
	if len(c.SecretKeys) > 0 || c.SecretKeyFile == "" {
		return
	}

	content, err := os.ReadFile(c.SecretKeyFile)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("SECRET_KEY_FILE cannot be read: %w; create it with \"waybill secret-key create FILE\", or restore your copy of it", err))
		return
	}
	keys, err := ParseSecretKeys(string(content))
	if err == nil && len(keys) == 0 {
		err = errors.New("is empty")
	}
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("the content of SECRET_KEY_FILE %w", err))
	}
	c.SecretKeys = keys
}

// ParseSecretKeys parses the value of SECRET_KEY, or the content of a file of
// SECRET_KEY_FILE: keys that are separated by commas, the current one first.
func ParseSecretKeys(text string) ([][]byte, error) { return list(key)(text) }

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

	// Without BASE_URL, links lead to LISTEN over http. A service that listens on
	// every address is reached as localhost.
	if host, _, _ := net.SplitHostPort(c.Listen); c.BaseURL == "" && host != "" && !isLoopback(host) && !isUnspecified(host) {
		errs = append(errs, errors.New("BASE_URL must be set, because LISTEN can be reached from other machines: "+useTLS))
	}

	if (c.OIDCIssuer == "") != (c.OIDCClientID == "") {
		errs = append(errs, errors.New("OIDC_ISSUER and OIDC_CLIENT_ID must be set together"))
	}
	if (c.SMTPURL == nil) != (c.MailFrom == nil) {
		errs = append(errs, errors.New("SMTP_URL and MAIL_FROM must be set together"))
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
	return c.HasKeyService()
}

// HasKeyService reports whether a key service wraps the keys of new carrier
// credentials. Other secrets are encrypted with SECRET_KEY even then.
func (c Config) HasKeyService() bool {
	return len(c.SecretKMS) > 0 && c.SecretKMS[0] != LocalKeys
}

// HowToSetOutsideKey says what to do where HasOutsideKey is required and false.
const HowToSetOutsideKey = "set SECRET_KEY to 32 random bytes as base64 (openssl rand -base64 32), or SECRET_KEY_FILE to a file made by \"waybill secret-key create\", the same for every copy and command, and keep a copy of the key outside the database; or set SECRET_KMS"

// RedactedDatabaseURL is DatabaseURL without its password.
func (c Config) RedactedDatabaseURL() string {
	address, err := url.Parse(c.DatabaseURL)
	if err != nil {
		return "(not a URL)"
	}
	return address.Redacted()
}
