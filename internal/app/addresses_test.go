package app

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/config"
)

// TestNothingIsSentToAnyServerOfTheDatabase has two servers in its address, as a
// database with a standby has.
func TestNothingIsSentToAnyServerOfTheDatabase(t *testing.T) {
	t.Parallel()
	denied := ownAddresses(config.Config{DatabaseURL: "postgres://waybill:secret@127.0.0.1:5432,127.0.0.2:5433/waybill?target_session_attrs=read-write"})
	for _, server := range []string{"127.0.0.1:5432", "127.0.0.2:5433"} {
		if !slices.Contains(denied, netip.MustParseAddrPort(server)) {
			t.Errorf("%s can be called: %v", server, denied)
		}
	}
}
