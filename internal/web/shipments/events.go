package shipments

import (
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// addDeliveries adds the shipment's events and their deliveries to the page, as
// far as the person may see them.
func addDeliveries(v *site.Visit, page *shipmentView) (err error) {
	if !v.Who.Can(member.ViewEvents) {
		return nil
	}
	if page.Told, err = v.Webhook.ShipmentEvents(v.Context(), v.Tenant(), page.ID); err != nil || !v.Who.Can(member.ViewWebhooks) {
		return err
	}

	endpoints, err := v.Webhook.Endpoints(v.Context(), v.Tenant())
	page.Hooks = map[ship.EndpointID]string{}
	for _, endpoint := range endpoints {
		page.Hooks[endpoint.ID] = endpoint.URL
		if address, err := url.Parse(endpoint.URL); err == nil {
			page.Hooks[endpoint.ID] = address.Host + address.Path
		}
	}
	return err
}

// tellingWord returns the state of an event's delivery to an endpoint, and the
// class of its badge.
func tellingWord(delivery store.EventDelivery) (word, class string) {
	switch {
	case delivery.Outcome == "delivered" && delivery.Took > 0:
		return "Delivered in " + parts.Milliseconds(delivery.Took), "badge badge-ok"
	case delivery.Outcome == "delivered":
		return "Delivered", "badge badge-ok"
	case delivery.IsPending && delivery.Status != 0:
		return strconv.Itoa(delivery.Status) + ", tried " + times(delivery.Tries), "badge badge-warn"
	case delivery.IsPending && delivery.Tries == 0:
		return "Pending", "badge badge-warn"
	case delivery.IsPending:
		return "Pending, tried " + times(delivery.Tries), "badge badge-warn"
	case delivery.Status != 0:
		return "First response " + strconv.Itoa(delivery.Status), "badge badge-warn"
	}
	return "First attempt failed", "badge badge-warn"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
