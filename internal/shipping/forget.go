package shipping

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
)

// ForgetPeople takes the personal data of shipments that were erased since the
// last call out of this machine's recovery log. The local spool needs nothing:
// a shipment is only erased when its purchase is recorded.
func (s *Service) ForgetPeople(ctx context.Context) error {
	if s.recoveryLog == nil {
		return nil
	}

	// After a start all entries are looked at, since another process may have
	// written them.
	since := time.Now().Add(-RecoveryLogRetention - 2*time.Hour)
	if at := s.forgottenUntil.Load(); at > 0 {
		since = time.Unix(0, at)
	}
	erased, last, err := s.store.ErasedSince(ctx, since)
	if err != nil || len(erased) == 0 {
		return err
	}

	_, err = s.recoveryLog.Rewrite(ctx, time.Now(), func(data []byte) ([]byte, bool) {
		var entry restore.Entry
		if err := json.Unmarshal(data, &entry); err != nil || !erased[ship.Subject{Tenant: entry.Tenant, ID: entry.Shipment.Raw()}] {
			return nil, false
		}
		changed, err := json.Marshal(entry.WithoutPersonalData())
		return changed, err == nil && !bytes.Equal(changed, data)
	})
	if err != nil {
		return err
	}

	// Files that other processes still write to are left out for up to two
	// hours, so what was erased lately is looked for again.
	until := min(last.UnixNano(), time.Now().Add(-2*time.Hour).UnixNano())
	s.forgottenUntil.Store(max(until, since.UnixNano()))
	return nil
}
