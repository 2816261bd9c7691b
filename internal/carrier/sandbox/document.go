package sandbox

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// receive returns the receipt of a document: always the same for the same one. What
// goes wrong is said by the destination of the shipment, as with its purchase.
func (m *model) receive(request *carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	if err := m.effectFault(&request.Order.Destination, "document", m.refusals.document, "the document cannot be read"); err != nil {
		return ship.DocumentReceipt{}, err
	}
	return receipt(request), nil
}

func receipt(request *carrier.DocumentRequest) ship.DocumentReceipt {
	return ship.DocumentReceipt{ID: fmt.Sprintf("DOC%012d", seed(request.Reference, 0)%1e12)}
}

// findDocument returns what was received under the reference. As with purchases,
// every reference counts as received unless a magic destination says that it is not.
func (m *model) findDocument(request *carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	if err := m.findFault(&request.Order.Destination, "document"); err != nil {
		return ship.DocumentReceipt{}, err
	}
	return receipt(request), nil
}

func (r remote) uploadDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	var answer ship.DocumentReceipt
	err := r.call(ctx, "document", true, request, &answer)
	if err == nil && answer.ID == "" {
		return answer, ship.Errorf(ship.Uncertain, "the carrier did not confirm whether it received the document")
	}
	return answer, err
}

func (r remote) findDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	var answer ship.DocumentReceipt
	err := r.call(ctx, "find_document", false, request, &answer)
	if err == nil && answer.ID == "" {
		return answer, ship.Errorf(ship.Unavailable, "the carrier did not confirm whether it has the document")
	}
	return answer, notByProxy(err)
}
