package config_test

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/config"
)

func lookup(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

const database = "postgres://u:secret@localhost/waybill"

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	c, err := config.Load(lookup(map[string]string{"DATABASE_URL": database}))
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxBodyBytes != 256<<10 || c.RateLimit != 100 || c.RateBurst != 200 {
		t.Errorf("limits are %d bytes, %d requests a second, burst %d", c.MaxBodyBytes, c.RateLimit, c.RateBurst)
	}
	if c.RequestTimeout != 30*time.Second || c.HeaderTimeout != 5*time.Second || c.IdleTimeout != 120*time.Second {
		t.Errorf("times are request %s, header %s, idle %s", c.RequestTimeout, c.HeaderTimeout, c.IdleTimeout)
	}
	if c.QuoteTimeout != 4*time.Second || c.PurchaseTimeout != 20*time.Second || c.SandboxStep != 30*time.Second {
		t.Errorf("waits are quote %s, purchase %s, sandbox step %s", c.QuoteTimeout, c.PurchaseTimeout, c.SandboxStep)
	}
	if c.Listen != "127.0.0.1:8080" || c.MetricsListen != "127.0.0.1:9090" || c.TraceEndpoint != "" || c.SigningKeys != nil {
		t.Errorf("listen %q, metrics %q, traces %q, key %v", c.Listen, c.MetricsListen, c.TraceEndpoint, c.SigningKeys)
	}
}

func TestSettingsAreRead(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 32)
	c, err := config.Load(lookup(map[string]string{
		"DATABASE_URL": database, "LISTEN": ":0", "METRICS_LISTEN": "off", "BASE_URL": "https://ship.example.com/",
		"TRUSTED_PROXIES": "10.1.2.3/8, 192.0.2.7", "LOG_LEVEL": "debug", "LOG_FORMAT": "TEXT", "SANDBOX_STEP": "0s",
		"SIGNING_KEY": base64.StdEncoding.EncodeToString([]byte(key)) + ", database", "RATE_LIMIT": "0",
		"SECRET_KEY":             base64.StdEncoding.EncodeToString([]byte("new"+key)) + ", " + base64.StdEncoding.EncodeToString([]byte(key)),
		"WEBHOOK_ALLOW_NETWORKS": "10.1.2.3/16", "WEBHOOK_ALLOW_LOOPBACK": "on",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c.MetricsListen != "" || c.BaseURL != "https://ship.example.com" || c.LogLevel != slog.LevelDebug || c.LogFormat != "text" {
		t.Errorf("metrics %q, base %q, level %s, format %q", c.MetricsListen, c.BaseURL, c.LogLevel, c.LogFormat)
	}
	if len(c.TrustedProxies) != 2 || c.TrustedProxies[0].String() != "10.0.0.0/8" || c.TrustedProxies[1].String() != "192.0.2.7/32" {
		t.Errorf("proxies %v", c.TrustedProxies)
	}
	if len(c.SecretKeys) != 2 || string(c.SecretKeys[0]) != "new"+key || len(c.WebhookNetworks) != 1 || c.WebhookNetworks[0].String() != "10.1.0.0/16" || !c.WebhookLoopback {
		t.Errorf("%d secret keys, networks %v, loopback %t", len(c.SecretKeys), c.WebhookNetworks, c.WebhookLoopback)
	}
	if len(c.SigningKeys) != 2 || string(c.SigningKeys[0]) != key || c.SigningKeys[1] != nil || c.SandboxStep != 0 || c.RateLimit != 0 {
		t.Errorf("keys %q, step %s, rate %d", c.SigningKeys, c.SandboxStep, c.RateLimit)
	}
}

func TestAllMistakesAreReportedAtOnceAndNoSecret(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"LISTEN": "8080", "RATE_LIMIT": "many", "REQUEST_TIMEOUT": "30", "SIGNING_KEY": "c2VjcmV0", "LOG_FORMAT": "xml",
		"TRUSTED_PROXIES": "everyone", "BASE_URL": "ship.example.com", "DATABASE_URL": "mysql://u:hunter2@h/d",
	}
	_, err := config.Load(lookup(wrong))
	if err == nil {
		t.Fatal("wrong settings are accepted")
	}
	for name := range wrong {
		if !strings.Contains(err.Error(), name+" must be") {
			t.Errorf("%s is not reported in %q", name, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("a secret is shown in %q", err)
	}
}

func TestAMissingDatabaseIsExplained(t *testing.T) {
	t.Parallel()
	_, err := config.Load(lookup(nil))
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL is not set: URL of the Postgres database") {
		t.Errorf("err = %v", err)
	}
}

func TestTheServiceIsPublicOverTLSAlone(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string]bool{
		"https://ship.example.com":            true,
		"http://localhost:8080":               true,
		"http://127.0.0.1:8080":               true,
		"http://[::1]:8080":                   true,
		"http://ship.example.com":             false,
		"HTTP://ship.example.com":             false,
		"http://10.0.0.5:8080":                false,
		"http://127.0.0.1.example.com":        false,
		"http://localhost.example.com":        false,
		"http://localhost:x@ship.example.com": false,
		"http://0.0.0.0:8080":                 false,
	} {
		_, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "BASE_URL": address}))
		if (err == nil) != allowed || !allowed && !strings.Contains(err.Error(), "https") {
			t.Errorf("BASE_URL %s: %v", address, err)
		}
	}

	// Without BASE_URL, links lead to LISTEN.
	for listen, allowed := range map[string]bool{
		"127.0.0.1:8080": true,
		"localhost:8080": true,
		":8080":          true, // reached as localhost
		"0.0.0.0:8080":   true,
		"10.0.0.5:8080":  false,
		"intranet:8080":  false,
	} {
		_, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "LISTEN": listen}))
		if (err == nil) != allowed || !allowed && !strings.Contains(err.Error(), "BASE_URL must be set") {
			t.Errorf("LISTEN %s: %v", listen, err)
		}
		if _, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "LISTEN": listen, "BASE_URL": "https://ship.example.com"})); err != nil {
			t.Errorf("LISTEN %s behind TLS: %v", listen, err)
		}
	}
}

func TestSettingsThatDisagreeAreRefused(t *testing.T) {
	t.Parallel()
	_, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "REQUEST_TIMEOUT": "3s"}))
	if err == nil || !strings.Contains(err.Error(), "PURCHASE_TIMEOUT") || !strings.Contains(err.Error(), "QUOTE_TIMEOUT") {
		t.Errorf("err = %v", err)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		if s.Help == "" || seen[s.Name] {
			t.Errorf("%s is listed twice or without help", s.Name)
		}
		seen[s.Name] = true
	}
	if !seen["DATABASE_URL"] || len(seen) < 20 {
		t.Errorf("only %d settings are listed", len(seen))
	}
}

func TestThePasswordIsNotShown(t *testing.T) {
	t.Parallel()
	if got := (config.Config{DatabaseURL: database}).RedactedDatabaseURL(); strings.Contains(got, "secret") {
		t.Errorf("shown as %s", got)
	}
}
