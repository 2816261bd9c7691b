package store_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestALoginThatMayNotCreateRolesMigrates(t *testing.T) {
	t.Parallel()
	empty, err := url.Parse(emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	login := fmt.Sprintf("waybill_login_%d", os.Getpid())
	admin := storetest.Conn(t, empty.String())
	exec := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE " + login + " LOGIN PASSWORD 'x'")
	exec("ALTER DATABASE " + strings.TrimPrefix(empty.Path, "/") + " OWNER TO " + login)
	empty.User = url.UserPassword(login, "x")

	// The roles are there, because other tests of this cluster made them, but not
	// the login's to take.
	err = store.Migrate(t.Context(), empty.String())
	if err == nil || !strings.Contains(err.Error(), "deploy/init-database.sh") || !strings.Contains(err.Error(), "GRANT waybill_app, waybill_group, waybill_sys TO that user") {
		t.Errorf("without the roles: %v", err)
	}

	exec("GRANT waybill_app, waybill_group, waybill_sys TO " + login)
	if err := store.Migrate(t.Context(), empty.String()); err != nil {
		t.Fatal(err)
	}
	found, err := store.Inspect(t.Context(), empty.String(), time.Now())
	if err != nil || !found.Migrated() || !found.Login.OwnsTables || len(found.MissingRoles)+len(found.Unfenced)+len(found.MissingPartitions) > 0 {
		t.Errorf("the database is %+v, %v", found, err)
	}
}
