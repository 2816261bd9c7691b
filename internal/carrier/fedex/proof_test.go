package fedex_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestProofsAreWrittenAsTheGoldenFiles(t *testing.T) {
	server := newServer(t)
	via := carriertest.Server(t, server)
	wire := &overheard{via: newContractOf(t, "openapi", nil).Checked(delivering{server, via})}
	c := open(t, twoProjects(), wire)
	bought, err := c.Buy(t.Context(), buyOrder())
	if err != nil {
		t.Fatal(err)
	}
	wire.bodies = nil

	// A parcel that was sold on another day has the same number.
	sent := ship.Purchase{TrackingNumber: bought.TrackingNumber, BoughtAt: time.Date(2026, 3, 17, 12, 0, 0, 0, time.UTC)}
	if _, err := c.FetchProof(t.Context(), sent); ship.KindOf(err) != ship.NotFound {
		t.Errorf("the proof of another day: %v, want not found", err)
	}
	golden(t, "proof", wire.bodies)

	sent.BoughtAt = time.Now()
	document, err := c.FetchProof(t.Context(), sent)
	if err != nil {
		t.Fatal(err)
	}
	if document.Type != "proof_of_delivery" || document.Format != "pdf" || !bytes.Contains(document.Data, []byte("SIGNATURE PROOF OF DELIVERY "+bought.TrackingNumber)) {
		t.Errorf("the proof is %s %s %.200s", document.Type, document.Format, document.Data)
	}
}

func TestProofsOfParcelsOnTheirWayAreNotFound(t *testing.T) {
	c := open(t, credentials(), carriertest.Server(t, newServer(t)))
	bought, err := c.Buy(t.Context(), buyOrder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.FetchProof(t.Context(), ship.Purchase{TrackingNumber: bought.TrackingNumber}); ship.KindOf(err) != ship.NotFound {
		t.Errorf("not delivered: %v, want not found", err)
	}

	for name, c := range map[string]struct {
		status int
		body   string
		kind   ship.Kind
	}{
		"as it is documented":  {200, `{"output":{"documentFormat":"PNG","document":["iVBORw0KGgo="]}}`, ""},
		"as it was recorded":   {200, `{"output":{"documents":["JVBERi0="]}}`, ""},
		"an unknown number":    {400, `{"errors":[{"code":"TRACKING.TRACKINGNUMBER.NOTFOUND","message":"no"}]}`, ship.NotFound},
		"no data":              {200, `{"output":{"alerts":[{"code":"TRACKING.DATA.NOTFOUND","message":"no"}]}}`, ship.NotFound},
		"another alert":        {200, `{"output":{"alerts":[{"code":"TRACKING.DATA.DELAYED","message":"no"}]}}`, ship.Unavailable},
		"not yet":              {400, `{"errors":[{"code":"TRACKINGDOCUMENT.DOCUMENT.UNAVAILABLE","message":"no"}]}`, ship.NotFound},
		"not yet, in an alert": {200, `{"output":{"alerts":[{"code":"TRACKINGDOCUMENT.DOCUMENT.UNAVAILABLE","message":"no"}]}}`, ship.NotFound},
		"an empty document":    {200, `{"output":{"documents":[""]}}`, ship.Unavailable},
		"a recorded answer":    {200, `{"output":{"alerts":[{"code":"VIRTUAL.RESPONSE"}],"documents":["JVBERi0="]}}`, ship.Unsupported},
		"a missing path":       {404, `{"errors":[{"code":"NOT.FOUND.ERROR","message":"no"}]}`, ship.Unavailable},
		"no permission":        {403, `{"errors":[{"code":"FORBIDDEN.ERROR","message":"no"}]}`, ship.Forbidden},
		"another reason":       {400, `{"errors":[{"code":"TRACKING.CARRIER.INVALID","message":"no"}]}`, ship.Invalid},
	} {
		_, err := open(t, credentials(), canned{c.status, c.body}).FetchProof(t.Context(), ship.Purchase{TrackingNumber: "1"})
		if ship.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want %q", name, err, c.kind)
		}
	}
}
