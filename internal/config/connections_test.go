package config_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/config"
)

func TestCarriersAreMovedAndKeysNamed(t *testing.T) {
	t.Parallel()
	c, err := config.Load(lookup(map[string]string{
		"DATABASE_URL": database, "CARRIER_URLS": "ups=http://127.0.0.1:9001, usps=https://proxy.example.com/usps/,fedex=http://localhost:9003",
		"SECRET_KMS": "aws-kms://arn:aws:kms:us-east-1:1:key/k, local",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.CarrierURLs) != 3 || c.CarrierURLs["ups"] != "http://127.0.0.1:9001" || c.CarrierURLs["usps"] != "https://proxy.example.com/usps/" {
		t.Errorf("carriers %v", c.CarrierURLs)
	}
	if len(c.SecretKMS) != 2 || c.SecretKMS[1] != config.LocalKeys {
		t.Errorf("keys %v", c.SecretKMS)
	}
}

func TestCredentialsAreNotSentInTheClear(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"ups=http://proxy.example.com", "ups", "=https://a.example.com", "ups=https://u:hunter2@a.example.com", "ups=ftp://127.0.0.1", "ups=http://127.0.0.1.example.com"} {
		_, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "CARRIER_URLS": value}))
		if err == nil || !strings.Contains(err.Error(), "CARRIER_URLS must be") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, value := range []string{"awskms://x", "aws-kms://", "vault"} {
		if _, err := config.Load(lookup(map[string]string{"DATABASE_URL": database, "SECRET_KMS": value})); err == nil || !strings.Contains(err.Error(), "SECRET_KMS must be") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
