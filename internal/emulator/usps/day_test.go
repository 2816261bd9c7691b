package usps_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// pickupOn returns a request for a pickup on a day.
func pickupOn(day time.Time, isNext bool) string {
	return fmt.Sprintf(`{"pickupDate":%q,"nextAvailablePickup":%v,"estimatedWeight":4,
		"pickupAddress":{"firstName":"Ada","lastName":"Lovelace","contact":[{"email":"ada@example.com"}],
			"address":{"streetAddress":"45 L St SW","city":"Washington","state":"DC","ZIPCode":"20024"}},
		"packages":[{"packageType":"OTHER","packageCount":2}],"pickupLocation":{"packageLocation":"FRONT_DOOR"}}`,
		day.Format(time.DateOnly), isNext)
}

func TestAPickupOnASundayIsMovedIfTheClientWants(t *testing.T) {
	_, c, _ := start(t, "")
	sunday := time.Now().UTC().AddDate(0, 0, 7)
	sunday = sunday.AddDate(0, 0, -int(sunday.Weekday()))
	if _, said := c.do("POST", "/pickup/v3/carrier-pickup", "", pickupOn(sunday, false), nil); !strings.Contains(said, "0200") {
		t.Errorf("a Sunday: %s", said)
	}
	var booked struct {
		Number string `json:"confirmationNumber"`
		Date   string `json:"pickupDate"`
	}
	c.do("POST", "/pickup/v3/carrier-pickup", "", pickupOn(sunday.AddDate(0, 0, 7), true), &booked)
	if booked.Number == "" || booked.Date != sunday.AddDate(0, 0, 8).Format(time.DateOnly) {
		t.Errorf("booked %+v", booked)
	}
	if _, said := c.do("DELETE", "/pickup/v3/carrier-pickup/"+booked.Number, "", "", nil); !strings.Contains(said, "If-Match") {
		t.Errorf("without an ETag: %s", said)
	}
	if _, said := c.do("GET", "/pickup/v3/carrier-pickup/WTC99999999", "", "", nil); !strings.Contains(said, "020015") {
		t.Errorf("an unknown number: %s", said)
	}
}

// By default a form comes in two parts, of which the second is in base64 although
// its header does not say so.
func TestAFormComesInParts(t *testing.T) {
	s, c, _ := start(t, "")
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	form := fmt.Sprintf(`{"mailingDate":%q,"entryFacilityZIPCode":"20024","destinationEntryFacilityType":"NONE",
		"shipment":{"trackingNumbers":[%q]},
		"fromAddress":{"firm":"Engine Works","streetAddress":"45 L St SW","city":"Washington","state":"DC","ZIPCode":"20024"}}`,
		time.Now().UTC().Format(time.DateOnly), sold.Number)

	req, err := http.NewRequestWithContext(t.Context(), "POST", c.at+"/scan-forms/v3/scan-form", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.access)
	req.Header.Set("X-Payment-Authorization-Token", c.paying)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, parameters, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}

	parts := multipart.NewReader(resp.Body, parameters["boundary"])
	var metadata struct {
		Number string `json:"manifestNumber"`
	}
	part, err := parts.NextPart()
	if err != nil || part.FormName() != "SCANFormMetaData" || json.NewDecoder(part).Decode(&metadata) != nil {
		t.Fatalf("the first part is %+v, %v", part, err)
	}
	part, err = parts.NextPart()
	if err != nil || part.FormName() != "SCANFormImage" {
		t.Fatalf("the second part is %+v, %v", part, err)
	}
	image, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
	if err != nil || !bytes.HasPrefix(image, []byte("%PDF-")) {
		t.Errorf("the form is %.10q, %v", image, err)
	}

	entries := s.Ledger.Entries()
	if last := entries[len(entries)-1]; last.Kind != emulator.ManifestClosed || last.Number != metadata.Number || len(last.Pieces) != 1 {
		t.Errorf("the ledger has %+v", last)
	}
	if _, said := c.do("POST", "/scan-forms/v3/scan-form", "", form, nil); !strings.Contains(said, "160040") || !strings.Contains(said, metadata.Number) {
		t.Errorf("a second form: %s", said)
	}
	c.paying = ""
	if status, _ := c.do("POST", "/scan-forms/v3/scan-form", "", form, nil); status != http.StatusUnauthorized {
		t.Errorf("without a payment authorization it is %d", status)
	}
}
