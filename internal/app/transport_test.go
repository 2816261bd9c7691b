package app_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
)

func TestServersThatAreNotVerifiedAreNamed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][]string{
		"postgres://u:p@127.0.0.1:5432/waybill":                                   nil,
		"postgres://u:p@localhost/waybill":                                        nil,
		"postgres:///waybill?host=/var/run/postgresql":                            nil,
		"postgres://u:p@db.example.com/waybill":                                   {"db.example.com"},
		"postgres://u:p@db.example.com/waybill?sslmode=disable":                   {"db.example.com"},
		"postgres://u:p@db.example.com/waybill?sslmode=require":                   {"db.example.com"},
		"postgres://u:p@db.example.com/waybill?sslmode=verify-ca":                 nil,
		"postgres://u:p@db.example.com/waybill?sslmode=verify-full":               nil,
		"postgres://u:p@10.0.0.1:5432,10.0.0.2:5432/waybill?sslmode=prefer":       {"10.0.0.1", "10.0.0.2"},
		"postgres://u:p@127.0.0.1:5432,10.0.0.2:5432/waybill?sslmode=verify-full": nil,
	} {
		got, err := app.UnverifiedServers(config.Config{DatabaseURL: address})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", address, got, err, want)
		}
	}
}
