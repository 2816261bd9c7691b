package dhlexpress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	// trackBatch is how many numbers DHL takes in a call. fact: track-batch
	trackBatch = 200
	// pieceBatch is how many of the longer numbers of pieces fit into an address
	// of 8 KB.
	pieceBatch = 150

	// offsetSwitch asks for the zone of every scan. DHL describes it for one
	// number at a time, and the field it adds for many.
	offsetSwitch = "requestGMTOffsetPerEvent"
)

// Track returns what DHL knows of waybills and of pieces.
func (d driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	// Waybills are all digits. The numbers of pieces are not, and are asked for
	// by another parameter.
	var waybills, pieces []string
	for _, number := range numbers {
		switch {
		case !isPlausibleNumber(number):
		case isDigits(number):
			waybills = append(waybills, number)
		default:
			pieces = append(pieces, number)
		}
	}

	var all []carrier.TrackingUpdate
	for batch := range slices.Chunk(waybills, trackBatch) {
		histories, err := d.fetchHistories(ctx, url.Values{"shipmentTrackingNumber": batch, "levelOfDetail": {"shipment"}})
		if err != nil {
			return nil, err
		}
		all = append(all, updatesOf(histories, batch, time.Now())...)
	}
	for batch := range slices.Chunk(pieces, pieceBatch) {
		histories, err := d.fetchHistories(ctx, url.Values{"pieceTrackingNumber": batch, "levelOfDetail": {"all"}})
		if err != nil {
			return nil, err
		}
		all = append(all, updatesOf(histories, batch, time.Now())...)
	}
	return all, nil
}

// isPlausibleNumber reports whether DHL may know a number: one that it cannot
// read may make it refuse the whole request.
func isPlausibleNumber(number string) bool {
	const longest = 35
	return number != "" && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// fetchHistories asks about numbers of one kind.
func (d driver) fetchHistories(ctx context.Context, query url.Values) ([]shipmentHistory, error) {
	query.Set("trackingView", "all-checkpoints")
	query.Set(offsetSwitch, "true")
	raw, err := d.fetchTracking(ctx, query)

	// DHL documents the switch for one number at a time only. If it does not
	// take it, it is asked once more without.
	if refused, ok := errors.AsType[*ship.Error](err); ok && refused.Kind == ship.Invalid && strings.Contains(refused.Refusal.Message, offsetSwitch) {
		query.Del(offsetSwitch)
		raw, err = d.fetchTracking(ctx, query)
	}
	if ship.KindOf(err) == ship.NotFound {
		return nil, nil // none of the numbers is known yet
	}
	if err != nil {
		return nil, err
	}

	var answer historyAnswer
	if !decodeLeniently(raw, &answer) || answer.Shipments == nil {
		return nil, ship.Errorf(ship.Unavailable, "DHL Express sent no tracking results")
	}
	var histories []shipmentHistory
	for _, raw := range answer.Shipments {
		var history shipmentHistory
		if decodeLeniently(raw, &history) {
			histories = append(histories, history)
		}
	}
	return histories, nil
}

func (d driver) fetchTracking(ctx context.Context, query url.Values) (answer json.RawMessage, err error) {
	call := d.call(http.MethodGet, "/tracking", query, "")
	call.Header.Set("Accept-Language", "eng")
	return answer, lookupError(call.Do(ctx, d.via, &answer))
}

// updatesOf returns what the histories say of the requested numbers. A number
// that occurs in several of them is read once.
func updatesOf(histories []shipmentHistory, requested []string, now time.Time) []carrier.TrackingUpdate {
	var list []carrier.TrackingUpdate
	done := map[string]bool{}
	add := func(number string, history *shipmentHistory, events []json.RawMessage) {
		if !slices.Contains(requested, number) || done[number] {
			return
		}
		done[number] = true

		receiver := history.Receiver.Address
		estimate := localTime(history.Estimated, placeOf(receiver.Country, receiver.Province, "").ClosestZone()).UTC()
		for _, raw := range events {
			var event checkpoint
			if !decodeLeniently(raw, &event) {
				continue
			}
			if scan, ok := event.scan(now); ok {
				list = append(list, carrier.TrackingUpdate{
					TrackingNumber: number,
					Scan:           scan,
					EstimateAt:     estimate,
					Raw:            raw,
				})
			}
		}
	}

	for i := range histories {
		history := &histories[i]
		add(string(history.Number), history, history.Events)
		for j := range history.Pieces {
			piece := &history.Pieces[j]
			add(string(piece.Number), history, history.eventsOf(piece))
		}
	}
	return list
}

// eventsOf returns the checkpoints of a piece: its own, and those of the
// shipment that are about all pieces.
func (s *shipmentHistory) eventsOf(piece *pieceHistory) []json.RawMessage {
	// A checkpoint that any piece has is about that piece alone.
	ofPieces := map[string]bool{}
	for _, other := range s.Pieces {
		for _, raw := range other.Events {
			ofPieces[codeOf(raw)] = true
		}
	}

	// If DHL does not show all pieces, it cannot be known which checkpoints are
	// about a single one. A piece without any of its own then gets those of the
	// shipment, but never a delivery, which may be another piece's.
	total, err := strconv.ParseFloat(string(s.NumberOfPieces), 64)
	showsAll := err == nil && total <= float64(len(s.Pieces))

	events := slices.Clone(piece.Events)
	for _, raw := range s.Events {
		code := codeOf(raw)
		status, _, _ := meaning(code)
		if showsAll && !ofPieces[code] || !showsAll && len(piece.Events) == 0 && status != ship.Delivered {
			events = append(events, raw)
		}
	}
	return events
}

// codeOf returns the code of a checkpoint that is not decoded yet.
func codeOf(raw json.RawMessage) string {
	var event checkpoint
	if !decodeLeniently(raw, &event) {
		return ""
	}
	return cleanCode(event.TypeCode)
}
