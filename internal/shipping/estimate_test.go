package shipping_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// dateless is FedEx as it would be if it promised nothing.
type dateless struct {
	carrier.Driver
	carrier.Finder
}

func (d dateless) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	rates, err := d.Driver.(carrier.Rater).Rates(ctx, o)
	for i := range rates {
		rates[i].DeliveryAt, rates[i].TransitDays = time.Time{}, 0
	}
	return rates, err
}

func (d dateless) Buy(ctx context.Context, o carrier.BuyOrder) (ship.Sale, error) {
	p, err := d.Driver.(carrier.Buyer).Buy(ctx, o)
	p.DeliveryAt = time.Time{}
	return p, err
}

func TestADeliveryThatNobodyPromisesIsEstimatedFromHistory(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "fedex")
	server := httptest.NewServer(b.emulator)
	t.Cleanup(server.Close)
	spec := fedex.Spec
	spec.Open = func(o carrier.Opening) (carrier.Driver, error) {
		d, err := fedex.Spec.Open(o)
		return dateless{d, d.(carrier.Finder)}, err
	}
	c, err := carrier.Open(spec, carrier.Opening{Credentials: standIns["fedex"].given, BaseURL: server.URL, Live: true, Via: carriertest.Via(t)})
	if err != nil {
		t.Fatal(err)
	}
	c.Connection = b.carrier.Connection
	_, b.Service = settings{Config: shipping.Config{
		Store: b.store, SigningKey: []byte("test"), BaseURL: "http://test", Log: slog.New(slog.DiscardHandler), Spool: b.spool, Waits: shipping.DefaultWaits,
		Accounts: connectedTo(c),
	}}.open()
	first, err := b.Buy(t.Context(), b.order(1))
	if err != nil || first.Shipment.Purchase.EstimateSource != "" || !first.Shipment.Progress.EstimateAt.IsZero() {
		t.Fatalf("without a history: %+v, %v", first.Shipment.Purchase, err)
	}
	o := first.Shipment.Order
	lane := store.Lane{Tenant: b.tenant, Carrier: "fedex", Service: first.Shipment.Purchase.Service, Origin: "US-941", Destination: o.Destination.Area()}
	var days ship.TransitDays
	for _, n := range []int{2, 3, 4, 4, 4, 5, 9} {
		days.Add(n)
	}
	if err := b.store.CountDeliveries(t.Context(), map[store.Lane]ship.TransitDays{lane: days}); err != nil {
		t.Fatal(err)
	}
	second, err := b.Buy(t.Context(), b.order(2))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := second.Shipment.Progress, o.ShipDate.Time().AddDate(0, 0, 4); got.EstimateSource != "history" || !got.EstimateAt.Equal(want) {
		t.Errorf("after seven deliveries it is estimated for %s (%s), want %s", got.EstimateAt, got.EstimateSource, want)
	}
}
