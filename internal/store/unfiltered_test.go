package store_test

import (
	"bufio"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/test/proving"
)

// TestRowSecurityAloneKeepsTenantsApart takes the conditions on the tenant out of
// the statements. With a role that row-level security does not hold back, the same
// look-ups find the other tenant's rows: so they would be noticed.
func TestRowSecurityAloneKeepsTenantsApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newTenant()
	for _, tenant := range []ship.Tenant{f.tenant, other} {
		fill(t, f, tenant)
	}
	theirs := f.create(t, other, "theirs", "1ZTHEIRS")
	endpoints, err := f.Endpoints(t.Context(), other)
	if err != nil || len(endpoints) == 0 {
		t.Fatal(endpoints, err)
	}

	for role, leaks := range map[string]bool{"waybill_app": false, "waybill_sys": true} {
		s, err := store.Open(t.Context(), store.Options{URL: storetest.Unfiltered(t, f.url, role), Connections: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()

		_, shipmentErr := s.Shipment(t.Context(), f.tenant, theirs.ID)
		_, labelErr := s.Label(t.Context(), f.tenant, theirs.ID)
		_, endpointErr := s.Endpoint(t.Context(), f.tenant, endpoints[0].ID)
		for what, err := range map[string]error{"shipment": shipmentErr, "label": labelErr, "endpoint": endpointErr} {
			if found := err == nil; found != leaks || err != nil && ship.KindOf(err) != ship.NotFound {
				t.Errorf("as %s another's %s is found: %t, %v", role, what, found, err)
			}
		}
		list, err := s.Endpoints(t.Context(), f.tenant)
		if err != nil || (len(list) > 1) != leaks {
			t.Errorf("as %s %d endpoints are listed, %v", role, len(list), err)
		}
	}
}

// TestProveRowSecurity counts the statements that other tests have run without
// their conditions on the tenant, with WITHOUT_TENANT_FILTERS.
func TestProveRowSecurity(t *testing.T) {
	path := os.Getenv("WITHOUT_TENANT_FILTERS")
	if path == "" {
		t.Skip("WITHOUT_TENANT_FILTERS is not set: make prove WHAT=security sets it")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	tried := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		statement, err := strconv.Unquote(lines.Text())
		if err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		tried[statement] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}

	// Some constants are parts of statements, and some run as the system alone.
	filtered, named := 0, 0
	for name, sql := range constants(t) {
		text, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, sql, nil)
		if err != nil || storetest.StripFilters(text) == text {
			continue
		}
		filtered++
		if tried[text] {
			named++
		} else {
			t.Logf("%s was not run as a tenant", name)
		}
	}
	if named < filtered/2 {
		t.Errorf("only %d of %d statements with a condition on the tenant were tried", named, filtered)
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"statements": len(tried),
		"constants":  named,
		"filtered":   filtered,
	})
}
