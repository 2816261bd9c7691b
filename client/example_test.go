package client_test

import (
	"io"
	"log"
	"net/http"
	"os"

	"github.com/waybillhq/waybill/client"
)

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
		log.Println(event.ID, event.Type) // and answer before the work is done
	})
}
