package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/store"
)

// TellOwners writes to the people of accounts whose endpoints were switched off
// because they failed. Each is told once; if this process dies at the wrong
// moment, twice. Without a way to send mail nobody is told here: the dashboard
// shows it, and the operator's doctor.
func (s *Service) TellOwners(ctx context.Context) error {
	if s.mail == nil {
		return nil
	}
	list, err := s.store.GivenUpUntold(ctx)
	var failed []error
	for _, e := range list {
		failed = append(failed, s.tell(ctx, e))
	}
	return errors.Join(append(failed, err)...)
}

func (s *Service) tell(ctx context.Context, e store.Endpoint) error {
	to, err := s.people(ctx, e.Tenant.Account)
	if err != nil {
		return err
	}
	if len(to) > 0 {
		if err := s.mail(ctx, to, "A webhook of yours was switched off", s.letter(e)); err != nil {
			return err
		}
	}
	return s.store.NoteTold(ctx, e)
}

// letter says what happened and what to do.
func (s *Service) letter(e store.Endpoint) string {
	mode, why := "test", "has failed for five days"
	if e.Tenant.Livemode {
		mode = "live"
	}
	if e.DisabledReason == DisabledGone {
		why = "answered 410 Gone"
	}
	return fmt.Sprintf(`The webhook %s (%s mode) %s and was switched off:

%s

Nothing is lost: its events are kept. When it answers again, switch it on and
have it sent what it missed:

%s/app/%s/webhooks/%s
`, e.ID, mode, why, e.URL, s.baseURL, mode, e.ID)
}
