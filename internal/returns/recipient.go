package returns

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Parcel is a shipment with what carriers reported about it.
type Parcel struct {
	Shipment ship.Shipment
	Scans    []ship.Scan
}

// deliveredAt returns when the parcel was delivered; zero if it was not. Of several
// parcels, the last counts.
func (p Parcel) deliveredAt() time.Time {
	if p.Shipment.Progress.Status != ship.Delivered {
		return time.Time{}
	}
	var last time.Time
	for _, scan := range ship.Deliveries(p.Scans, p.Shipment.Order.IsReturn) {
		if scan.At.After(last) {
			last = scan.At
		}
	}
	return last
}

// Why the recipient of a parcel cannot ask for its return.
const (
	NotOffered   = "not_offered"   // the account does not offer it, or not for this shipment
	NotDelivered = "not_delivered" // yet
	TooLate      = "too_late"
	HasReturn    = "has_return" // the account has created one
)

// Returnable says whether the recipient of a parcel can ask for its return.
type Returnable struct {
	Until   time.Time           // the last moment; zero if the parcel was not delivered
	Reason  string              // why not; empty if they can
	Rule    ship.ReturnRule     // of the account
	Request *ship.ReturnRequest // that was made; nil if there is none
}

// Returnable says whether the recipient can ask for the return of a parcel. If they
// did already, it has the request, whatever the rule says meanwhile.
func (s *Service) Returnable(ctx context.Context, parcel Parcel) (Returnable, error) {
	shipment := parcel.Shipment
	if shipment.IsErased || shipment.Order.IsReturn || shipment.State != ship.StatePurchased {
		return Returnable{Reason: NotOffered}, nil
	}
	delivered := parcel.deliveredAt()
	if delivered.IsZero() {
		return Returnable{Reason: NotDelivered}, nil
	}

	rule, err := s.Rule(ctx, shipment.Tenant)
	if err != nil {
		return Returnable{}, err
	}
	offer := Returnable{Rule: rule, Until: rule.Until(delivered)}

	request, err := s.Store.ReturnRequestOf(ctx, shipment.Tenant, shipment.ID)
	switch ship.KindOf(err) {
	case "":
		offer.Request = &request
		return offer, nil
	case ship.NotFound:
	default:
		return Returnable{}, err
	}

	proof := ProofOf(shipment)
	switch {
	case !rule.Enabled:
		offer.Reason = NotOffered
	case proof == "", proof == ProofEmail && !s.Mails():
		// Nothing tells the recipient from whoever was given the link.
		offer.Reason = NotOffered
	case s.now().After(offer.Until):
		offer.Reason = TooLate
	default:
		existing, err := s.Store.LiveReturn(ctx, shipment.Tenant, shipment.ID)
		if err != nil {
			return Returnable{}, err
		}
		if existing != "" {
			offer.Reason = HasReturn
		}
	}
	return offer, nil
}

// An Ask is a recipient's request for a return, as the form has it.
type Ask struct {
	Parcel
	Proof    string // what ProofOf names, known to the recipient
	Reason   string
	Items    string
	Comment  string
	Email    string
	Language string
}

// Ask stores a recipient's request. If the rule approves by itself, a job buys and
// sends the label. A form that is sent again is the same request.
func (s *Service) Ask(ctx context.Context, in Ask) (ship.ReturnRequest, error) {
	offer, err := s.Returnable(ctx, in.Parcel)
	if err != nil {
		return ship.ReturnRequest{}, err
	}
	if offer.Request != nil {
		return *offer.Request, nil
	}
	if offer.Reason != "" {
		return ship.ReturnRequest{}, notReturnable()
	}

	shipment := in.Parcel.Shipment
	request := ship.ReturnRequest{
		ID:       ship.NewReturnRequestID(shipment.Tenant.Shard(), s.now()),
		Tenant:   shipment.Tenant,
		Shipment: shipment.ID,
		State:    ship.ReturnRequested,
		Reason:   in.Reason,
		Items:    in.Items,
		Comment:  in.Comment,
		Email:    in.Email,
		Language: in.Language,
		PaidBy:   offer.Rule.PaidBy,
	}
	if request, err = request.NormalizeByRecipient(offer.Rule); err != nil {
		return ship.ReturnRequest{}, err
	}
	given := in.Proof
	if ProofOf(shipment) == ProofEmail {
		given = request.Email
	}
	if err := s.Prove(ctx, shipment, given); err != nil {
		return ship.ReturnRequest{}, err
	}

	if offer.Rule.Approval == ship.ApprovalAutomatic {
		request.State = ship.ReturnApproved
		request.Approvals = 1
		request.Approval = ship.ApprovalAutomatic
		request.Spender = offer.Rule.SavedBy
		request.DecidedAt = s.now()
	}
	added, err := s.Store.AddReturnRequest(ctx, request, fulfilment(request.Tenant, request.ID))
	if err == nil && added {
		s.Observe(request.State)
	}
	if err != nil || added {
		return request, err
	}

	// Another copy of the form was faster, or the shipment was erased.
	earlier, err := s.Store.ReturnRequestOf(ctx, request.Tenant, request.Shipment)
	if ship.KindOf(err) == ship.NotFound {
		return ship.ReturnRequest{}, notReturnable()
	}
	return earlier, err
}

func notReturnable() error {
	return ship.Coded(ship.Conflict, "not_returnable", "the parcel cannot be returned")
}

// Label returns an address of the label that was bought for a request; ship.NotFound
// if there is none, or if it was voided. Whoever asks has given the proof.
func (s *Service) Label(ctx context.Context, request ship.ReturnRequest) (string, error) {
	none := ship.Errorf(ship.NotFound, "there is no label")
	if request.Return == "" {
		return "", none
	}
	address, _, err := s.LabelLink(ctx, request.Tenant, request.Return)
	switch ship.KindOf(err) {
	case ship.Gone, ship.Conflict, ship.NotFound:
		return "", none
	}
	return address, err
}
