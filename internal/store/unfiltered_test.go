package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
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

// TestEachStatementIsFencedByItself takes the conditions on the tenant out of one
// statement at a time, as it runs: see storetest.Probed.
func TestEachStatementIsFencedByItself(t *testing.T) {
	if os.Getenv("WITHOUT_TENANT_FILTERS") != "" {
		t.Skip("all tests do this with WITHOUT_TENANT_FILTERS, and this one opens a fence")
	}
	t.Parallel()
	var mu sync.Mutex
	outcomes := map[storetest.Outcome]map[string]string{}
	direct := newFixture(t)
	url := storetest.Probed(t, direct.url, func(trial storetest.Trial) {
		mu.Lock()
		defer mu.Unlock()
		if outcomes[trial.Outcome] == nil {
			outcomes[trial.Outcome] = map[string]string{}
		}
		outcomes[trial.Outcome][trial.Statement] = trial.Detail
	})
	s, err := store.Open(t.Context(), store.Options{URL: url, Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	f := &fixture{Store: s, url: url, tenant: direct.tenant, owner: direct.owner}
	fill(t, direct, newTenant())
	fill(t, f, f.tenant)
	shipment := f.create(t, f.tenant, "another", "1ZANOTHER")
	_, errBoxes := f.Boxes(t.Context(), f.tenant, 10)
	_, errEndpoints := f.Endpoints(t.Context(), f.tenant)
	_, errShipment := f.Shipment(t.Context(), f.tenant, shipment.ID)
	_, errLabel := f.Label(t.Context(), f.tenant, shipment.ID)
	_, errPickups := f.Pickups(t.Context(), f.tenant, ship.Page{Limit: 10})
	_, errManifests := f.Manifests(t.Context(), f.tenant, ship.Page{Limit: 10})
	if err := errors.Join(errBoxes, errEndpoints, errShipment, errLabel, errPickups, errManifests); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	fenced := len(outcomes[storetest.Fenced])
	for statement, detail := range outcomes[storetest.Leaked] {
		t.Errorf("%s without its conditions on the tenant: %s", statement, detail)
	}
	mu.Unlock()
	if fenced < 8 {
		t.Errorf("only %d statements were tried", fenced)
	}

	// Without the policy of its table, the same statement is noticed.
	if _, err := f.owner.Exec(t.Context(), "ALTER TABLE rate_sheets DISABLE ROW LEVEL SECURITY"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RateSheets(t.Context(), f.tenant, false); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(outcomes[storetest.Leaked]) == 0 {
		t.Error("a table without row-level security leaks nothing")
	}
}

// trials reads what the proxies of other tests have seen.
func trials(t *testing.T) []storetest.Trial {
	t.Helper()
	path := os.Getenv("WITHOUT_TENANT_FILTERS")
	if path == "" {
		t.Skip("WITHOUT_TENANT_FILTERS is not set: make prove WHAT=security sets it")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()

	var list []storetest.Trial
	lines := json.NewDecoder(file)
	for {
		var trial storetest.Trial
		err := lines.Decode(&trial)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, trial)
	}
}

// filteredConstants returns the constants with a condition on the tenant, as they
// are sent to Postgres.
func filteredConstants(t *testing.T) map[string]string {
	t.Helper()
	filtered := map[string]string{}
	for name, sql := range constants(t) {
		text, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, sql, nil)
		if err == nil && storetest.StripFilters(text) != text {
			filtered[name] = text
		}
	}
	return filtered
}

// TestProveRowSecurity counts the statements that other tests have run without
// their conditions on the tenant, with WITHOUT_TENANT_FILTERS.
func TestProveRowSecurity(t *testing.T) {
	tried := map[string]bool{}
	for _, trial := range trials(t) {
		if trial.Role == "waybill_app" && storetest.StripFilters(trial.Statement) != trial.Statement {
			tried[trial.Statement] = true
		}
	}

	// Some constants are parts of statements, and some run as the system alone.
	filtered := filteredConstants(t)
	named := 0
	for name, text := range filtered {
		if tried[text] {
			named++
		} else {
			t.Logf("%s was not run as a tenant", name)
		}
	}
	if named < len(filtered)/2 {
		t.Errorf("only %d of %d statements with a condition on the tenant were tried", named, len(filtered))
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"statements": len(tried),
		"constants":  named,
		"filtered":   len(filtered),
	})
}

// TestProveStatementsInTurn counts the statements that the proxies of other tests
// have tried one at a time. Those that show nothing are listed with the reason.
func TestProveStatementsInTurn(t *testing.T) {
	var leaks, grouped int
	seen := map[string]bool{}   // as a tenant or a group of them
	system := map[string]bool{} // as the system
	locked := map[string]bool{}
	fenced := map[string]bool{}
	byMode := map[string]bool{}
	for _, trial := range trials(t) {
		switch trial.Outcome {
		case storetest.Seen:
			if trial.Role == "waybill_sys" {
				system[trial.Statement] = true
			} else if trial.Role != "" {
				seen[trial.Statement] = true
			}
		case storetest.Fenced:
			if trial.Role == "waybill_group" && !fenced[trial.Statement] {
				grouped++
			}
			fenced[trial.Statement] = true
		case storetest.Locked:
			locked[trial.Statement] = true
		case storetest.FencedByMode:
			byMode[trial.Statement] = true
		case storetest.Leaked:
			leaks++
			t.Errorf("%s without its conditions on the tenant: %s", trial.Statement, trial.Detail)
		}
	}

	names := map[string]string{}
	for name, text := range filteredConstants(t) {
		names[text] = name
	}
	reasons := map[string]string{}
	for statement := range seen {
		if fenced[statement] {
			continue
		}
		name := names[statement]
		reason, known := whyNot(name, statement)
		if !known && locked[statement] {
			reason = "the transaction of the call has locked the row, for which every trial waits"
			known = true
		}
		if !known {
			reason = "no call of the tests reached rows of others even past row-level security, so trials show nothing"
		}
		words := strings.Fields(statement)
		reasons[cmp.Or(name, strings.Join(words[:min(6, len(words))], " "))] = reason
	}

	if len(fenced) < len(seen)*3/4 {
		t.Errorf("only %d of %d statements of tenants were tried by themselves", len(fenced), len(seen))
	}

	// What only the system runs has no second fence: the walks over all routes
	// hold its conditions.
	systemOnly := 0
	for statement := range system {
		if !seen[statement] {
			systemOnly++
		}
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"statements":   len(fenced),
		"ofTenants":    len(seen),
		"byMode":       len(byMode),
		"grouped":      grouped,
		"rowsOfOthers": leaks,
		"notTried":     reasons,
		"systemOnly":   systemOnly,
	})
}

// notInTurn are the statements of tenants that show nothing without their
// conditions, by their names or how they begin, each with the reason.
var notInTurn = map[string]string{
	"WITH input AS": "it stores a new shipment of the caller; its condition looks for another one of the same order",

	"sqlAddBatch":             "it stores a new batch of the caller; its condition only chooses the label format",
	"sqlAddDocument":          "its condition reads a row that the same transaction has just written, which no other transaction sees",
	"sqlForgetColumnMappings": "it deletes only what an account has beyond a number of rows",
}

// whyNot returns the reason why a statement is not tried by itself.
func whyNot(name, statement string) (reason string, known bool) {
	if reason, known = notInTurn[name]; known {
		return reason, true
	}
	statement = strings.TrimSpace(statement)
	for beginning, reason := range notInTurn {
		if strings.HasPrefix(statement, beginning) {
			return reason, true
		}
	}
	return "", false
}
