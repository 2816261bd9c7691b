package returns

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// How long a fulfilment waits, and when it gives up.
const (
	lookAgain   = 5 * time.Second  // for a purchase whose outcome is not known, at first
	lookRarely  = 10 * time.Minute // likewise, in the end: it may wait for a person
	tryAgain    = time.Minute      // after a carrier that cannot be reached, or a mail server
	buyingEnds  = 24 * time.Hour   // after the approval: a person decides
	mailingEnds = 24 * time.Hour   // after the purchase: the label stays on the page
)

// Fulfil continues with a request that is approved: it buys the label, and sends it.
// What it returns beside the error is after how long to continue; zero when it is
// done. It can end anywhere and be called again.
func (s *Service) Fulfil(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID) (time.Duration, error) {
	request, err := s.Store.ReturnRequest(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil // it was deleted with the shipment
	}
	if err != nil {
		return 0, err
	}
	if request.State == ship.ReturnDenied {
		return s.sendDenial(ctx, request)
	}
	if request.State != ship.ReturnApproved {
		return 0, nil
	}

	if request.Return == "" {
		again, err := s.buy(ctx, &request)
		if err != nil || again > 0 || request.Return == "" {
			return again, err
		}
	}
	return s.send(ctx, request)
}

// buy buys the label. After it, the request has its return, or has failed, or is to
// be continued.
func (s *Service) buy(ctx context.Context, request *ship.ReturnRequest) (time.Duration, error) {
	rule, err := s.Rule(ctx, request.Tenant)
	if err != nil {
		return 0, err
	}

	key := purchaseKey(*request)
	bought, err := s.Buy(ctx, Purchase{
		Tenant:      request.Tenant,
		Shipment:    request.Shipment,
		Spender:     request.Spender,
		Carrier:     rule.Carrier,
		Service:     rule.Service,
		MaxAmount:   rule.MaxAmount,
		Key:         key,
		Fingerprint: ship.KeyFingerprint(key),
	})
	if err != nil {
		if bought, err = s.notBought(ctx, *request, err); err != nil {
			return tryAgain, err
		}
	}
	if bought.Pending {
		age := s.now().Sub(request.DecidedAt)
		return min(max(age/4, lookAgain), lookRarely), nil
	}
	if bought.Shipment == "" {
		return 0, nil // it has failed
	}

	if err := s.Store.RecordReturnLabel(ctx, *request, bought.Shipment); err != nil {
		return 0, fmt.Errorf("record the label of %s: %w", request.ID, err)
	}
	request.Return = bought.Shipment
	request.BoughtAt = s.now()
	return 0, nil
}

// purchaseKey is the idempotency key of the request's purchase. It names the
// approval, so whoever continues asks for the same purchase.
func purchaseKey(request ship.ReturnRequest) string {
	return ship.ServiceKey(ship.KeyOfReturnRequest, string(request.ID), strconv.Itoa(request.Approvals))
}

// notBought records a purchase that is known to have bought nothing, and returns
// what is known of one that may have. It is an error if the purchase is to be tried
// again later.
func (s *Service) notBought(ctx context.Context, request ship.ReturnRequest, failure error) (Bought, error) {
	switch ship.KindOf(failure) {
	case ship.Unavailable, ship.Limited:
		// Nothing was bought, and asking again under the same key is safe.
		if s.now().Before(request.DecidedAt.Add(buyingEnds)) {
			return Bought{}, failure
		}
	case ship.Internal, ship.Uncertain:
		// It is not known what was bought. The same key finds out.
		return Bought{}, failure
	}

	// The answer can be about now, for example because the key that approved was
	// revoked, while an earlier run has bought the label and died.
	key := purchaseKey(request)
	known, err := s.Store.IdempotencyRecord(ctx, request.Tenant, key)
	switch ship.KindOf(err) {
	case "":
		if known.Fingerprint != ship.KeyFingerprint(key) {
			break
		}
		if known.Shipment == "" {
			return Bought{Pending: true}, nil
		}
		shipment, err := s.Store.Shipment(ctx, request.Tenant, known.Shipment)
		if err != nil {
			return Bought{}, err
		}
		if shipment.State.Bought() {
			return Bought{Shipment: shipment.ID}, nil
		}
		if shipment.State != ship.StateFailed {
			return Bought{Pending: true}, nil
		}
	case ship.NotFound:
	default:
		return Bought{}, err
	}

	code, message := explain(failure)
	err = s.Store.FailReturn(ctx, request, code, message)
	if err == nil {
		s.Observe(ship.ReturnFailed)
	}
	return Bought{}, err
}

// explain returns the code and the words of a failure. A carrier's own words follow
// ours.
func explain(failure error) (code, message string) {
	coded, ok := errors.AsType[*ship.Error](failure)
	if !ok {
		return "internal", "the label could not be bought"
	}

	code = coded.Code
	if code == "" {
		code = string(coded.Kind)
	}
	message = coded.Message
	if coded.Refusal.Message != "" {
		message += ": " + coded.Refusal.Message
	}
	for _, field := range coded.Fields {
		message += "; " + field.Pointer + " " + field.Detail
	}
	return code, message
}

// send mails the label, if there is a mail server and an address, and ends the
// request. The tracking page has the label in any case. A process that dies between
// the mail and its record sends it again.
func (s *Service) send(ctx context.Context, request ship.ReturnRequest) (time.Duration, error) {
	if s.Mail == nil || request.Email == "" {
		return 0, s.finish(ctx, request, false)
	}

	err := s.admitMail(ctx, request)
	if err == nil {
		err = s.mail(ctx, request)
	}
	switch {
	case err == nil:
		return 0, s.finish(ctx, request, true)
	case errors.Is(err, errNotMailed):
		return 0, s.finish(ctx, request, false)
	case ship.KindOf(err) == ship.Gone || ship.KindOf(err) == ship.NotFound:
		return 0, s.finish(ctx, request, false) // the label was voided or erased meanwhile
	case s.now().After(request.BoughtAt.Add(mailingEnds)):
		s.Log.WarnContext(ctx, "return label not mailed", "request", request.ID, "error", err)
		return 0, s.finish(ctx, request, false)
	}
	return retryMail(err), fmt.Errorf("mail the label of %s: %w", request.ID, err)
}

// errNotMailed is a message that is not sent to its address.
var errNotMailed = errors.New("in test mode, mail is sent to members of the account alone")

// admitMail counts a message before it is sent. The form takes any address, so an
// account could send its mails to people who never heard of it: in test mode, where
// a return costs nothing, only its own members get any, and others are as few as
// invitations. The address of a live order has cost a label, and is not counted.
func (s *Service) admitMail(ctx context.Context, request ship.ReturnRequest) error {
	if !request.Tenant.Livemode {
		members, err := s.Store.Members(ctx, request.Tenant.Account)
		if err != nil {
			return err
		}
		for _, member := range members {
			if strings.EqualFold(member.Person.Email, request.Email) && !member.Person.EmailVerifiedAt.IsZero() {
				return nil
			}
		}
		return errNotMailed
	}

	shipment, err := s.Store.Shipment(ctx, request.Tenant, request.Shipment)
	if err != nil {
		return err
	}
	return s.countMail(ctx, request, shipment.Order.Destination.Email)
}

// countMail counts a live message, unless it goes to the address of the order.
func (s *Service) countMail(ctx context.Context, request ship.ReturnRequest, orderEmail string) error {
	if strings.EqualFold(orderEmail, request.Email) {
		return nil
	}
	return s.Store.CountMail(ctx, request.Tenant.Account, s.now())
}

// retryMail returns when a message is tried again.
func retryMail(err error) time.Duration {
	limited, ok := errors.AsType[*ship.Error](err)
	if ok && limited.RetryAfter > tryAgain {
		return limited.RetryAfter
	}
	return tryAgain
}

// finish ends a request whose label the recipient has.
func (s *Service) finish(ctx context.Context, request ship.ReturnRequest, mailed bool) error {
	err := s.Store.FinishReturn(ctx, request, mailed)
	if err == nil {
		s.Observe(ship.ReturnLabelSent)
	}
	return err
}

// sendDenial notifies the recipient that the request was denied, if there is a mail
// server and an address. The tracking page says so in any case. A process that dies
// between the mail and its record sends it again.
func (s *Service) sendDenial(ctx context.Context, request ship.ReturnRequest) (time.Duration, error) {
	isOld := s.now().After(request.DecidedAt.Add(mailingEnds))
	if s.Mail == nil || request.Email == "" || !request.MailedAt.IsZero() || isOld {
		return 0, nil
	}

	err := s.admitMail(ctx, request)
	if errors.Is(err, errNotMailed) {
		return 0, nil
	}
	if err == nil {
		err = s.mailDenial(ctx, request)
	}
	if err != nil {
		return retryMail(err), fmt.Errorf("mail the denial of %s: %w", request.ID, err)
	}
	err = s.Store.RecordDenialMail(ctx, request)
	if ship.KindOf(err) == ship.Conflict {
		return 0, nil // it was approved after all
	}
	return 0, err
}

func (s *Service) mailDenial(ctx context.Context, request ship.ReturnRequest) error {
	shipment, err := s.Store.Shipment(ctx, request.Tenant, request.Shipment)
	if err != nil {
		return err
	}
	page, err := s.PageURL(ctx, shipment)
	if err != nil {
		return err
	}
	sender, err := s.Sender(ctx, request.Tenant.Account)
	if err != nil {
		return err
	}

	subject, text := denial(request.Language, sender, page)
	return s.Mail(ctx, []string{request.Email}, subject, text)
}

// mail sends the link to the label.
func (s *Service) mail(ctx context.Context, request ship.ReturnRequest) error {
	link, until, err := s.LabelLink(ctx, request.Tenant, request.Return)
	if err != nil {
		return err
	}
	shipment, err := s.Store.Shipment(ctx, request.Tenant, request.Shipment)
	if err != nil {
		return err
	}
	page, err := s.PageURL(ctx, shipment)
	if err != nil {
		return err
	}
	sender, err := s.Sender(ctx, request.Tenant.Account)
	if err != nil {
		return err
	}

	subject, text := letter(request.Language, sender, link, page, until)
	return s.Mail(ctx, []string{request.Email}, subject, text)
}
