package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/store"
)

// NotifyOwners sends mail to the members of accounts whose endpoints were
// disabled because they failed. Each endpoint is reported once, or twice if
// this process dies between the mail and its record. Without a mail server
// nobody is notified here: the dashboard shows it, and so do the operator's
// diagnostics.
func (s *Service) NotifyOwners(ctx context.Context) error {
	if s.mail == nil {
		return nil
	}

	endpoints, err := s.store.FailedEndpointsToNotify(ctx)
	var failed []error
	for _, endpoint := range endpoints {
		failed = append(failed, s.notifyOwner(ctx, endpoint))
	}
	return errors.Join(append(failed, err)...)
}

func (s *Service) notifyOwner(ctx context.Context, endpoint store.Endpoint) error {
	to, err := s.people(ctx, endpoint.Tenant.Account)
	if err != nil {
		return err
	}

	if len(to) > 0 {
		if err := s.mail(ctx, to, "One of your webhooks was disabled", s.disabledMessage(endpoint)); err != nil {
			return err
		}
	}

	// Only now: a crash before this line sends the message again, one before
	// the mail would lose it.
	return s.store.MarkNotified(ctx, endpoint)
}

// disabledMessage says what happened and what to do.
func (s *Service) disabledMessage(endpoint store.Endpoint) string {
	mode := "test"
	if endpoint.Tenant.Livemode {
		mode = "live"
	}
	why := "has failed for five days"
	if endpoint.DisabledReason == DisabledGone {
		why = "responded with 410 Gone"
	}

	return fmt.Sprintf(`The webhook %s (%s mode) %s and was disabled:

%s

No events are lost: they are kept. Once the endpoint works again, enable it and
resend the events it missed:

%s/app/%s/%s/webhooks/%s
`, endpoint.ID, mode, why, endpoint.URL, s.baseURL, endpoint.Tenant.Account, mode, endpoint.ID)
}
