package archive

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Filter chooses rows of the archive. What is empty is not looked at.
type Filter struct {
	Table   string
	From    time.Time // rows of partitions that end after it
	To      time.Time // rows of partitions that begin before it
	Account string    // that the row belongs to
	Subject string    // the shipment or tracker that it is about
}

// Query calls fn with each row that the filter chooses, as a line of JSON with ids as
// the API has them; oldest partition first.
func (a Archive) Query(filter Filter, fn func(line []byte) error) error {
	if !store.IsArchived(filter.Table) {
		return ship.Errorf(ship.Invalid, "the archive has no table %q; it has %s", filter.Table, strings.Join(store.ArchivedTables(), ", "))
	}
	all, err := a.List()
	if err != nil {
		return err
	}

	for _, described := range all {
		isOutside := !filter.From.IsZero() && !described.To.After(filter.From) ||
			!filter.To.IsZero() && !described.From.Before(filter.To)
		if described.Table != filter.Table || isOutside {
			continue
		}
		_, err := inspect(a.file(described.Table, described.Partition), func(line []byte) error {
			var row map[string]any
			if err := json.Unmarshal(line, &row); err != nil {
				return err
			}
			subject := publishIDs(filter.Table, row)
			if filter.Account != "" && row["account_id"] != filter.Account || filter.Subject != "" && subject != filter.Subject {
				return nil
			}
			shown, err := json.Marshal(row)
			if err != nil {
				return err
			}
			return fn(append(shown, '\n'))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// publishIDs replaces ids of a row by those that the API shows, and returns that of
// its shipment or tracker.
func publishIDs(table string, row map[string]any) (subject string) {
	convert := func(column string, public func(ship.RawID) string) string {
		text, _ := row[column].(string)
		raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err != nil || len(raw) != len(ship.RawID{}) {
			return ""
		}
		shown := public(ship.RawID(raw))
		row[column] = shown
		return shown
	}

	convert("account_id", func(id ship.RawID) string { return string(ship.AccountIDOf(id)) })
	convert("connection_id", func(id ship.RawID) string { return string(ship.ConnectionIDOf(id)) })
	convert("endpoint_id", func(id ship.RawID) string { return string(ship.EndpointIDOf(id)) })
	convert("event_id", func(id ship.RawID) string { return string(ship.EventIDOf(id)) })
	convert("api_key_id", func(id ship.RawID) string { return string(ship.KeyIDOf(id)) })

	parcel := func(id ship.RawID) string {
		if row["is_tracker"] == true {
			return string(ship.TrackerIDOf(id))
		}
		return string(ship.ShipmentIDOf(id))
	}
	switch table {
	case "events":
		convert("id", func(id ship.RawID) string { return string(ship.EventIDOf(id)) })
		return convert("subject_id", parcel)
	case "webhook_attempts":
		convert("id", func(id ship.RawID) string { return string(ship.AttemptIDOf(id)) })
		return ""
	case "shipments", "shipment_states":
		convert("duplicate_of_id", parcel)
		return convert("id", parcel)
	case "tracking_events":
		return convert("subject_id", parcel)
	}
	return convert("shipment_id", parcel)
}
