package web

import (
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// addDeliveries adds the shipment's events and their deliveries to the page, as
// far as the person may see them.
func (v *visit) addDeliveries(page *shipmentView) (err error) {
	if !v.who.Can(member.ViewEvents) {
		return nil
	}
	if page.Told, err = v.Webhook.ShipmentEvents(v.ctx(), v.tenant(), page.ID); err != nil || !v.who.Can(member.ViewWebhooks) {
		return err
	}

	endpoints, err := v.Webhook.Endpoints(v.ctx(), v.tenant())
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
		return "Delivered in " + ms(delivery.Took), "badge badge-ok"
	case delivery.Outcome == "delivered":
		return "Delivered", "badge badge-ok"
	case !delivery.NextAt.IsZero() && delivery.Status != 0:
		return strconv.Itoa(delivery.Status) + ", tried " + times(delivery.Tries), "badge badge-warn"
	case !delivery.NextAt.IsZero():
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
