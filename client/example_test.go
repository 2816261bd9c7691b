package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/waybillhq/waybill/client"
)

// newClient returns a client of the service that the environment names.
func newClient() *client.Client {
	return client.New(os.Getenv("WAYBILL_API_KEY"), client.Options{BaseURL: os.Getenv("WAYBILL_URL")})
}

// jane is a recipient of the examples.
func jane() client.Address {
	return client.Address{
		Name:     "Jane Doe",
		Address1: "350 5th Avenue",
		City:     "New York",
		State:    "NY",
		Zip:      "10118",
		Country:  "US",
	}
}

func Example() {
	ctx := context.Background()
	waybill := client.New(os.Getenv("WAYBILL_API_KEY"), client.Options{BaseURL: os.Getenv("WAYBILL_URL")})

	// The order number is a good idempotency key: sending the order again,
	// even after a crash, returns the same shipment.
	shipment, err := waybill.CreateShipment(ctx, client.ShipmentRequest{
		OrderID:     "1001",
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
		Carrier:     "ups",
	}, client.IdempotencyKey("order-1001"))
	if err != nil {
		log.Fatal(err)
	}

	label, err := waybill.Label(ctx, shipment.ID, client.LabelOptions{Format: "pdf"})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(shipment.Carrier, bytes.HasPrefix(label, []byte("%PDF-")))
	// Output: ups true
}

func ExampleClient_Rates() {
	rates, err := newClient().Rates(context.Background(), client.RatesRequest{
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
		Carriers:    []string{"usps"},
		Services:    []string{"priority_mail"},
	})
	if err != nil {
		log.Fatal(err)
	}

	for _, rate := range rates.Rates {
		fmt.Println(rate.Carrier, rate.ServiceName, rate.Currency)
	}
	// Output: usps USPS Priority Mail USD
}

// Buying a rate that was shown to somebody, at the price that was shown.
func ExampleClient_CreateShipment() {
	ctx := context.Background()
	waybill := newClient()

	rates, err := waybill.Rates(ctx, client.RatesRequest{
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
	})
	if err != nil {
		log.Fatal(err)
	}

	cheapest := rates.Rates[0]
	shipment, err := waybill.CreateShipment(ctx, client.ShipmentRequest{
		OrderID:     "1002",
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
		RateID:      cheapest.ID,
		MaxAmount:   &client.Money{Amount: cheapest.Amount, Currency: cheapest.Currency},
	}, client.IdempotencyKey("order-1002"))
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(shipment.OrderID, shipment.Carrier == cheapest.Carrier)
	// Output: 1002 true
}

func ExampleClient_Void() {
	ctx := context.Background()
	waybill := newClient()

	shipment, err := waybill.CreateShipment(ctx, client.ShipmentRequest{
		OrderID:     "1003",
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
	}, client.IdempotencyKey("order-1003"))
	if err != nil {
		log.Fatal(err)
	}

	voided, err := waybill.Void(ctx, shipment.ID)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(voided.LabelStatus)
	// Output: voided
}

func ExampleError() {
	recipient := jane()
	recipient.Zip = "1011"

	_, err := newClient().CreateShipment(context.Background(), client.ShipmentRequest{
		OrderID:     "1004",
		Destination: recipient,
		Parcel:      &client.Parcel{Weight: 2.5},
	})

	var problem *client.Error
	if errors.As(err, &problem) {
		fmt.Println(problem.Status, problem.Code)
		for _, field := range problem.Errors {
			fmt.Println(field.Pointer, field.Code)
		}
	}
	// Output:
	// 422 validation_failed
	// /destination/zip invalid_zip
}

func ExampleClient_Events() {
	ctx := context.Background()
	waybill := newClient()

	shipment, err := waybill.CreateShipment(ctx, client.ShipmentRequest{
		OrderID:     "1005",
		Destination: jane(),
		Parcel:      &client.Parcel{Weight: 2.5},
	}, client.IdempotencyKey("order-1005"))
	if err != nil {
		log.Fatal(err)
	}

	// Store the cursor of the last event that was handled: the next reading
	// starts behind it, and misses nothing.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for event, err := range waybill.FollowEvents(ctx, client.EventsRequest{}, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Data.Shipment != nil && event.Data.Shipment.ID == shipment.ID {
			fmt.Println(event.Type)
			break
		}
	}
	// Output: shipment.created
}

func ExampleVerifyWebhook() {
	http.HandleFunc("POST /webhooks/waybill", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}

		event, err := client.VerifyWebhook(os.Getenv("WAYBILL_WEBHOOK_SECRET"), r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		// Answer before the work is done: a slow answer counts as a failure.
		log.Println(event.ID, event.Type)
	})
}
