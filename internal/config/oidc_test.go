package config_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/config"
)

func TestAnIdentityProviderIsNamedAsItNamesItself(t *testing.T) {
	t.Parallel()
	for issuer, good := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com/tenant/": true, "http://127.0.0.1:9000": true, "http://localhost:9000": true,
		"http://login.example.com": false, "login.example.com": false, "https://u:p@login.example.com": false, "https://login.example.com?x=1": false, "ftp://login.example.com": false,
	} {
		c, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "id", "OIDC_CLIENT_SECRET": "s"}))
		if (err == nil) != good {
			t.Errorf("%s: %v", issuer, err)
		}
		if good && (c.OIDCIssuer != issuer || c.OIDCClientID != "id" || c.OIDCClientSecret != "s") {
			t.Errorf("%s is read as %s", issuer, c.OIDCIssuer)
		}
	}
}

func TestAnIdentityProviderNeedsAClient(t *testing.T) {
	t.Parallel()
	for _, one := range []map[string]string{{"OIDC_ISSUER": "https://login.example.com"}, {"OIDC_CLIENT_ID": "id"}} {
		one["DATABASE_URL"] = database
		if _, err := config.Load(lookup(one)); err == nil || !strings.Contains(err.Error(), "OIDC_ISSUER and OIDC_CLIENT_ID") {
			t.Errorf("%v: %v", one, err)
		}
	}
	if c, err := config.Load(lookup(map[string]string{"DATABASE_URL": database})); err != nil || c.OIDCIssuer != "" {
		t.Errorf("without one: %q, %v", c.OIDCIssuer, err)
	}
}
