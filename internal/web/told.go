package web

import (
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// toldOf adds what was told of the shipment, for those who may see it.
func (v *visit) toldOf(p *shipmentView) (err error) {
	if !v.who.Can(member.ViewEvents) {
		return nil
	}
	if p.Told, err = v.Webhook.Told(v.ctx(), v.tenant(), p.ID); err != nil || !v.who.Can(member.ViewWebhooks) {
		return err
	}
	list, err := v.Webhook.Endpoints(v.ctx(), v.tenant())
	p.Hooks = map[ship.EndpointID]string{}
	for _, e := range list {
		p.Hooks[e.ID] = e.URL
		if u, err := url.Parse(e.URL); err == nil {
			p.Hooks[e.ID] = u.Host + u.Path
		}
	}
	return err
}

// tellingWord says how an event came to an endpoint, and the class of it.
func tellingWord(x store.Telling) (word, class string) {
	switch {
	case x.Outcome == "delivered" && x.Took > 0:
		return "Delivered in " + ms(x.Took), "badge badge-ok"
	case x.Outcome == "delivered":
		return "Delivered", "badge badge-ok"
	case !x.NextAt.IsZero() && x.Status != 0:
		return strconv.Itoa(x.Status) + ", tried " + times(x.Tries), "badge badge-warn"
	case !x.NextAt.IsZero():
		return "Waits, tried " + times(x.Tries), "badge badge-warn"
	case x.Status != 0:
		return "First answer " + strconv.Itoa(x.Status), "badge badge-warn"
	}
	return "First try failed", "badge badge-warn"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
