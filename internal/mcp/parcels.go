package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/waybillhq/waybill/client"
)

type carriersOut struct {
	Carriers []carrierOut `json:"carriers"`
}

type carrierOut struct {
	Carrier    string    `json:"carrier"`
	Name       string    `json:"name"`
	Services   []codeOut `json:"services"`
	Packagings []codeOut `json:"packagings"`
	Abilities  []string  `json:"abilities"`
	Simulated  bool      `json:"simulated"`
	Accounts   []string  `json:"accounts" doc:"Ids of the connected carrier accounts."`
}

type codeOut struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// listCarriers lists the carriers that the key can use.
func listCarriers(ctx context.Context, c *call, _ nothing) (carriersOut, error) {
	list, err := c.api(1).Carriers(ctx)
	out := carriersOut{Carriers: []carrierOut{}}
	for _, found := range list {
		shown := carrierOut{
			Carrier:    found.Carrier,
			Name:       clean(found.Name, maxField),
			Services:   codesOf(found.Services),
			Packagings: codesOf(found.Packagings),
			Abilities:  append([]string{}, found.Abilities...),
			Simulated:  found.Simulated,
			Accounts:   []string{},
		}
		for _, connection := range found.Connections {
			shown.Accounts = append(shown.Accounts, connection.ID)
		}
		out.Carriers = append(out.Carriers, shown)
	}
	return out, err
}

func codesOf(list []client.CodeName) []codeOut {
	out := []codeOut{}
	for _, one := range list {
		out = append(out, codeOut{one.Code, clean(one.Name, maxField)})
	}
	return out
}

type checkAddressIn struct {
	Address addressIn `json:"address"`
	Carrier string    `json:"carrier,omitempty" maxLength:"50" doc:"Ask this carrier; the one that knows the country best if left out."`
}

type checkAddressOut struct {
	Verdict     string   `json:"verdict" doc:"valid, corrected, ambiguous, invalid or unknown"`
	CheckedBy   string   `json:"checkedBy" doc:"A carrier, or rules."`
	Residential *bool    `json:"residential,omitempty"`
	Corrected   []string `json:"corrected" doc:"Fields that were corrected."`
	Next        string   `json:"next"`
	Untrusted   *outside `json:"untrusted,omitempty" doc:"The corrected address, what may be meant instead, and messages."`
}

// checkAddress asks whether parcels reach an address.
func checkAddress(ctx context.Context, c *call, in checkAddressIn) (checkAddressOut, error) {
	check, err := c.api(1).ValidateAddress(ctx, in.Address.address(), in.Carrier)
	if err != nil {
		return checkAddressOut{}, err
	}
	out := checkAddressOut{
		Verdict:     check.Verdict,
		CheckedBy:   check.CheckedBy,
		Residential: check.Residential,
		Corrected:   []string{},
		Next:        "Nothing was changed. Show a correction to the person before it is used.",
	}
	for _, change := range check.Changes {
		out.Corrected = append(out.Corrected, change.Pointer)
	}

	var text outside
	fill := func(prefix string, a client.Address) {
		text.set(prefix+"address1", a.Address1)
		text.set(prefix+"address2", a.Address2)
		text.set(prefix+"city", a.City)
		text.set(prefix+"state", a.State)
		text.set(prefix+"zip", a.Zip)
		text.set(prefix+"country", a.Country)
	}
	fill("", check.Address)
	for i, candidate := range check.Candidates[:min(len(check.Candidates), 3)] {
		fill("candidate "+string(rune('1'+i))+" ", candidate)
	}
	for _, message := range check.Messages {
		text.add(message)
	}
	out.Untrusted = text.shown()
	return out, nil
}

type labelIn struct {
	ShipmentID string `json:"shipmentId" minLength:"1" maxLength:"40"`
	Format     string `json:"format,omitempty" enum:"pdf,zpl,png" doc:"pdf if left out."`
}

type labelOut struct {
	URL       string `json:"url" doc:"Needs no key. Give it to nobody but the person who prints."`
	Format    string `json:"format"`
	ExpiresAt string `json:"expiresAt"`
}

func (l labelOut) links() []sdk.Content {
	types := map[string]string{"pdf": "application/pdf", "zpl": "application/zpl", "png": "image/png"}
	return []sdk.Content{&sdk.ResourceLink{URI: l.URL, Name: "label." + l.Format, MIMEType: types[l.Format]}}
}

// labelLinkLife is how long the link to a label works: time to print it.
const labelLinkLife = time.Hour

// getLabel returns a link to a label. The label itself never goes through a model.
func getLabel(ctx context.Context, c *call, in labelIn) (labelOut, error) {
	if in.Format == "" {
		in.Format = "pdf"
	}
	link, err := c.api(1).LabelLink(ctx, in.ShipmentID, in.Format, labelLinkLife)
	return labelOut{link.URL, in.Format, timeText(link.ExpiresAt)}, err
}

type trackIn struct {
	Number  string `json:"number" minLength:"1" maxLength:"60" doc:"A tracking number, or the id of a shipment or a tracker."`
	Carrier string `json:"carrier,omitempty" maxLength:"50" doc:"If two carriers use the number."`
}

type trackOut struct {
	TrackingNumber    string    `json:"trackingNumber,omitempty"`
	Carrier           string    `json:"carrier,omitempty"`
	Status            string    `json:"status"`
	Reason            string    `json:"reason,omitempty"`
	EstimatedDelivery string    `json:"estimatedDelivery,omitempty"`
	EstimateSource    string    `json:"estimateSource,omitempty"`
	ShipmentID        string    `json:"shipmentId,omitempty"`
	TrackerID         string    `json:"trackerId,omitempty"`
	LastCheckedAt     string    `json:"lastCheckedAt,omitempty"`
	Events            []scanOut `json:"events" doc:"Newest first, 20 at most. The words of the carrier are in untrusted, in the same order."`
	More              int       `json:"more" doc:"Number of older events."`
	Untrusted         *outside  `json:"untrusted,omitempty"`
}

type scanOut struct {
	At     string `json:"at"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func trackOf(found client.TrackingResult) trackOut {
	out := trackOut{
		TrackingNumber:    cleanNumber(found.TrackingNumber),
		Carrier:           found.Carrier,
		Status:            found.Status,
		Reason:            found.Reason,
		EstimatedDelivery: timeText(found.EstimatedDeliveryDate),
		EstimateSource:    found.EstimateSource,
		ShipmentID:        found.ShipmentID,
		TrackerID:         found.ID,
		LastCheckedAt:     timeText(found.LastCheckedAt),
		Events:            []scanOut{},
		More:              max(len(found.Events)-pageSize, 0),
	}

	var text outside
	for _, event := range found.Events[:min(len(found.Events), pageSize)] {
		out.Events = append(out.Events, scanOut{timeText(event.Timestamp), event.Status, event.Reason})
		line := event.Description
		if event.Location != nil {
			line += " (" + *event.Location + ")"
		}
		text.add(timeText(event.Timestamp) + ": " + line)
	}
	out.Untrusted = text.shown()
	return out
}

// trackParcel shows where a parcel is.
func trackParcel(ctx context.Context, c *call, in trackIn) (trackOut, error) {
	found, err := c.api(1).Track(ctx, in.Number, in.Carrier)
	return trackOf(found), err
}

// followParcel follows a parcel that was not bought here.
func followParcel(ctx context.Context, c *call, in trackIn) (trackOut, error) {
	found, _, err := c.api(1).CreateTracker(ctx, in.Number, in.Carrier)
	return trackOf(found), err
}

type closeDayIn struct {
	Carrier      string `json:"carrier,omitempty" maxLength:"50" doc:"The carrier whose labels are handed over, or"`
	ConnectionID string `json:"connectionId,omitempty" maxLength:"40" doc:"the carrier account."`
	ShipDate     string `json:"shipDate,omitempty" format:"date" doc:"Today if left out."`
}

type closeDayOut struct {
	ID        string   `json:"id"`
	Status    string   `json:"status" doc:"closed, pending, failed or needs_review"`
	Carrier   string   `json:"carrier"`
	ShipDate  string   `json:"shipDate"`
	Shipments int      `json:"shipments"`
	Excluded  int      `json:"excluded" doc:"Shipments that were left out."`
	Documents []string `json:"documents" doc:"What to print; the addresses need the key."`
	Next      string   `json:"next"`
	Untrusted *outside `json:"untrusted,omitempty"`
}

// closeDay hands the labels of a day over to a carrier. A label is handed over once,
// so a repetition does nothing more.
func closeDay(ctx context.Context, c *call, in closeDayIn) (closeDayOut, error) {
	made, err := c.api(1).CloseManifest(ctx, client.ManifestRequest{Carrier: in.Carrier, ConnectionID: in.ConnectionID, ShipDate: in.ShipDate})
	if err != nil {
		return closeDayOut{}, err
	}
	out := closeDayOut{
		ID:        made.ID,
		Status:    made.Status,
		Carrier:   made.Carrier,
		ShipDate:  made.ShipDate,
		Shipments: len(made.ShipmentIDs),
		Excluded:  len(made.Excluded),
		Documents: []string{},
		Next:      "Print the documents and hand them to the driver.",
	}
	for _, document := range made.Documents {
		out.Documents = append(out.Documents, document.URL)
	}
	if made.Status != "closed" {
		out.Next = "The carrier has not confirmed it. Do not close the day again; a person can look at it in the dashboard."
	}

	var text outside
	text.add(made.Message)
	for _, left := range made.Excluded {
		text.add(left.ShipmentID + ": " + left.Reason)
	}
	out.Untrusted = text.shown()
	return out, nil
}
