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
	// trackBatch is how many numbers DHL takes in a call.
	trackBatch = 200
	// pieceBatch is how many of the longer numbers of pieces fit into an address
	// of 8 KB.
	pieceBatch = 150

	// offsetSwitch asks for the zone of every scan. DHL describes it for one
	// number at a time, and the field it adds for many.
	offsetSwitch = "requestGMTOffsetPerEvent"
)

// Track tells what DHL knows of waybills and of pieces.
func (d driver) Track(ctx context.Context, numbers []string) ([]carrier.Heard, error) {
	var waybills, pieces []string
	for _, n := range numbers {
		switch {
		case !plausible(n):
		case strings.Trim(n, "0123456789") == "":
			waybills = append(waybills, n)
		default:
			pieces = append(pieces, n)
		}
	}
	var all []carrier.Heard
	for some := range slices.Chunk(waybills, trackBatch) {
		stories, err := d.stories(ctx, url.Values{"shipmentTrackingNumber": some, "levelOfDetail": {"shipment"}})
		if err != nil {
			return nil, err
		}
		all = append(all, heardOf(stories, some, time.Now())...)
	}
	for some := range slices.Chunk(pieces, pieceBatch) {
		stories, err := d.stories(ctx, url.Values{"pieceTrackingNumber": some, "levelOfDetail": {"all"}})
		if err != nil {
			return nil, err
		}
		all = append(all, heardOf(stories, some, time.Now())...)
	}
	return all, nil
}

// plausible reports whether DHL may know a number: one that it cannot even read
// may have it refuse the others.
func plausible(number string) bool {
	const longest = 35
	return number != "" && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// stories asks about numbers of one kind. If DHL does not take the switch for
// zones, it is asked once more without.
func (d driver) stories(ctx context.Context, query url.Values) ([]shipmentStory, error) {
	query.Set("trackingView", "all-checkpoints")
	query.Set(offsetSwitch, "true")
	answer, err := d.ask(ctx, query)
	if e, ok := errors.AsType[*ship.Error](err); ok && e.Kind == ship.Invalid && strings.Contains(e.Refusal.Message, offsetSwitch) {
		query.Del(offsetSwitch)
		answer, err = d.ask(ctx, query)
	}
	if ship.KindOf(err) == ship.NotFound {
		return nil, nil // none of the numbers is known yet
	}
	if err != nil {
		return nil, err
	}
	var told storiesAnswer
	if !readSome(answer, &told) || told.Shipments == nil {
		return nil, ship.Errorf(ship.Unavailable, "DHL Express sent no answer to the numbers")
	}
	var stories []shipmentStory
	for _, raw := range told.Shipments {
		var s shipmentStory
		if readSome(raw, &s) {
			stories = append(stories, s)
		}
	}
	return stories, nil
}

func (d driver) ask(ctx context.Context, query url.Values) (answer json.RawMessage, err error) {
	call := d.call(http.MethodGet, "/tracking", query, "")
	call.Header.Set("Accept-Language", "eng")
	return answer, absence(call.Do(ctx, d.via, &answer))
}

// heardOf is what the stories tell of the numbers that were asked for, each of
// which is told once.
func heardOf(stories []shipmentStory, asked []string, now time.Time) []carrier.Heard {
	var list []carrier.Heard
	told := map[string]bool{}
	tell := func(number loose, s *shipmentStory, events []json.RawMessage) {
		n := string(number)
		if !slices.Contains(asked, n) || told[n] {
			return
		}
		told[n] = true
		estimate := localTime(s.Estimated, placeOf(s.Receiver.Address.Country, s.Receiver.Address.Province, "").ClosestZone()).UTC()
		for _, raw := range events {
			var c checkpoint
			if !readSome(raw, &c) {
				continue
			}
			if scan, ok := c.scan(now); ok {
				list = append(list, carrier.Heard{TrackingNumber: n, Scan: scan, EstimateAt: estimate, Raw: raw})
			}
		}
	}
	for i := range stories {
		s := &stories[i]
		tell(s.Number, s, s.Events)
		for j := range s.Pieces {
			tell(s.Pieces[j].Number, s, s.eventsOf(&s.Pieces[j]))
		}
	}
	return list
}

// eventsOf are the checkpoints of a piece: its own, and those of the shipment
// that are about all pieces. A checkpoint that any piece has is about that piece
// alone, so if DHL does not show all pieces, nobody can tell.
func (s *shipmentStory) eventsOf(p *pieceStory) []json.RawMessage {
	own := map[string]bool{}
	for _, piece := range s.Pieces {
		for _, raw := range piece.Events {
			own[codeOf(raw)] = true
		}
	}
	total, err := strconv.ParseFloat(string(s.NumberOfPieces), 64)
	whole := err == nil && total <= float64(len(s.Pieces))
	events := slices.Clone(p.Events)
	for _, raw := range s.Events {
		code := codeOf(raw)
		status, _, _ := meaning(code)
		if whole && !own[code] || !whole && len(p.Events) == 0 && status != ship.Delivered {
			events = append(events, raw)
		}
	}
	return events
}

// codeOf is the code of a checkpoint that is not read yet.
func codeOf(raw json.RawMessage) string {
	var c checkpoint
	if !readSome(raw, &c) {
		return ""
	}
	return cleanCode(c.TypeCode)
}

// scan is the checkpoint in our words; not ok if it says neither what nor when.
func (c *checkpoint) scan(now time.Time) (s ship.Scan, ok bool) {
	at, zoned, ok := c.moment(now)
	code := cleanCode(c.TypeCode)
	if !ok || code == "" {
		return ship.Scan{}, false
	}
	s = ship.Scan{Code: code, At: at, ZoneUnknown: !zoned, Description: strings.TrimSpace(c.Description), Location: c.location()}
	s.Status, s.Reason, _ = meaning(code)
	return s, true
}
