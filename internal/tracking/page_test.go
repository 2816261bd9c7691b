package tracking_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

func TestATrackingPageIsFoundByItsOwnAddressAlone(t *testing.T) {
	t.Parallel()
	s := tracking.New(tracking.Config{Key: []byte("0123456789abcdef0123456789abcdef")})
	elsewhere := tracking.New(tracking.Config{Key: []byte("fedcba9876543210fedcba9876543210")})
	seen := map[string]bool{}
	for _, live := range []bool{false, true} {
		tenant := ship.Tenant{Account: ship.NewAccountID(7, time.Now()), Livemode: live}
		id := ship.NewShipmentID(7, time.Now())
		path := s.PagePath(tenant, id)
		token, ok := strings.CutPrefix(path, "/track/")
		if !ok || path != s.PagePath(tenant, id) || seen[token] {
			t.Fatalf("path %q", path)
		}
		seen[token] = true
		if page, err := tracking.ReadPage(s, token); err != nil || page != (tracking.Page{Tenant: tenant, Shipment: id}) {
			t.Errorf("ReadPage = %v, %v; want %v, %s", page, err, tenant, id)
		}
		if _, err := tracking.ReadPage(elsewhere, token); ship.KindOf(err) != ship.NotFound {
			t.Errorf("another installation opens it: %v", err)
		}
		raw, _ := base64.RawURLEncoding.DecodeString(token)
		for bit := range len(raw) * 8 {
			raw[bit/8] ^= 1 << (bit % 8)
			if _, err := tracking.ReadPage(s, base64.RawURLEncoding.EncodeToString(raw)); ship.KindOf(err) != ship.NotFound {
				t.Fatalf("with bit %d changed: %v", bit, err)
			}
			raw[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestATrackingPageTellsNothingInItsAddress(t *testing.T) {
	t.Parallel()
	s := tracking.New(tracking.Config{Key: []byte("0123456789abcdef0123456789abcdef")})
	tenant := ship.Tenant{Account: ship.NewAccountID(7, time.Now())}
	a, b := s.PagePath(tenant, ship.NewShipmentID(7, time.Now())), s.PagePath(tenant, ship.NewShipmentID(7, time.Now()))
	same := 0
	for i := len("/track/"); i < len(a); i++ {
		if a[i] == b[i] {
			same++
		}
	}
	if same > 12 { // of 66 characters, each equal by chance once in 64
		t.Errorf("two addresses of one account have %d characters alike:\n%s\n%s", same, a, b)
	}
	for _, bad := range []string{"", "x", strings.Repeat("A", 66), a[7:] + "A", a[7:72], a[7:] + "=", " " + a[7:]} {
		if _, err := tracking.ReadPage(s, bad); ship.KindOf(err) != ship.NotFound {
			t.Errorf("ReadPage(%q): %v", bad, err)
		}
	}
}
