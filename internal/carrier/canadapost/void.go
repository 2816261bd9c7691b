package canadapost

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void asks for a refund: a shipment that is transmitted can no longer be
// cancelled, and neither can one that a card was charged for. People at Canada Post
// decide about it, and answer by e-mail.
func (d driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	if strings.HasPrefix(purchase.CarrierRef, authorizedReturn+"/") {
		return carrier.VoidResult{}, ship.Errorf(ship.Invalid,
			"Canada Post does not cancel return labels; one that nobody uses is not charged")
	}
	if d.refundEmail == "" {
		return carrier.VoidResult{}, ship.Errorf(ship.Invalid,
			"Canada Post refunds labels only with an e-mail address for its answer; add refund_email to the connection under Carriers")
	}

	ticket, err := d.requestRefund(ctx, purchase.CarrierRef)
	switch {
	case isRequestedAlready(err):
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	case err != nil:
		return carrier.VoidResult{}, explain(err)
	case ticket == "":
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "Canada Post did not confirm whether it takes the request for a refund")
	}
	return carrier.VoidResult{State: ship.StateRefundPending}, nil
}

// requestRefund asks the service that sold the label for a refund, and returns the
// number of the request.
//
// fact: refund-paths
func (d driver) requestRefund(ctx context.Context, carrierRef string) (ticket string, err error) {
	if id, ok := strings.CutPrefix(carrierRef, nonContract+"/"); ok {
		call := d.call(http.MethodPost, d.nonContractPath()+"/"+url.PathEscape(id)+"/refund", mediaNonContract)
		call.Body = nonContractRefund{Email: d.refundEmail}
		call.Effect = true
		var answer nonContractRefundInfo
		err := call.Do(ctx, d.via, &answer)
		return answer.Ticket, err
	}

	call := d.call(http.MethodPost, d.shipmentPath()+"/"+url.PathEscape(carrierRef)+"/refund", mediaShipment)
	call.Body = refundRequest{Email: d.refundEmail}
	call.Effect = true
	var answer refundInfo
	err = call.Do(ctx, d.via, &answer)
	return answer.Ticket, err
}

// alreadyRequested are Canada Post's words for a second request. A label that "was
// already scanned" is not refunded, although the words speak of a refund too.
var alreadyRequested = regexp.MustCompile(`(?i)refund.*\balready (been )?(requested|submitted|received|exists)\b|\balready (been )?refunded\b`)

// isRequestedAlready reports whether Canada Post refuses a second request for the
// same refund. Its code is not published, so its words decide.
func isRequestedAlready(err error) bool {
	return ship.KindOf(err) == ship.Invalid && alreadyRequested.MatchString(ship.ErrorOf(err).Refusal.Message)
}
