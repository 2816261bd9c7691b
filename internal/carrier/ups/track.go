package ups

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// UPS answers about one number per call. tracksAtOnce calls are made at the
// same time, and a batch of trackBatch still ends within the deadline.
const (
	tracksAtOnce = 5
	trackBatch   = 10
)

// Track asks for each number. One that fails does not affect the others: it has
// nothing in the answer, and is asked for again with the next poll. There is an
// error only if no number at all is answered.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	// UPS's test environment answers about its placeholder with samples of
	// other parcels.
	numbers = slices.DeleteFunc(slices.Clone(numbers), isPlaceholder)
	if len(numbers) == 0 {
		return nil, nil
	}

	answers := make([][]carrier.TrackingUpdate, len(numbers))
	errs := make([]error, len(numbers))
	slots := make(chan struct{}, tracksAtOnce)
	var group sync.WaitGroup
	for i, number := range numbers {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			answers[i], errs[i] = d.trackOne(ctx, number)
		})
	}
	group.Wait()

	var updates []carrier.TrackingUpdate
	var failed error
	isAnswered := false
	for i := range numbers {
		updates = append(updates, answers[i]...)
		isAnswered = isAnswered || errs[i] == nil
		if failed == nil {
			failed = errs[i]
		}
	}
	if !isAnswered {
		return nil, failed
	}
	return updates, nil
}

// trackOne asks for one number. A number that UPS does not know yet has no
// updates.
func (d *driver) trackOne(ctx context.Context, number string) ([]carrier.TrackingUpdate, error) {
	answer, known, err := d.trackNumber(ctx, "details", number)
	if err != nil || !known {
		return nil, err
	}
	return updatesOf(answer, number, time.Now()), nil
}

// trackNumber asks for a number: with "details" for its parcel, with
// "shipment/details" for all parcels of its shipment.
func (d *driver) trackNumber(ctx context.Context, what, number string) (answer trackAnswer, known bool, _ error) {
	query := "?locale=en_US&returnSignature=false&returnMilestones=false&returnPOD=false"
	if what == "shipment/details" {
		query = "?locale=en_US&returnSignature=false&offset=0&count=50"
	}

	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/track/v1/" + what + "/" + url.PathEscape(number) + query,
	}, &answer)
	known, err = checkTracking(answer, err)
	return answer, known, err
}

// checkTracking reports whether tracking knows what it was asked for, or
// returns why that is open. UPS says in several ways that it does not know a
// number.
func checkTracking(answer trackAnswer, err error) (known bool, _ error) {
	switch {
	case isRefusedWith(err, codeNoTracking, codeBadNumber):
		return false, nil
	case ship.KindOf(err) == ship.NotFound && isRefusedWith(err, ""):
		// A bare 404 is about the path, and says nothing about the parcel.
		return false, withKind(ship.Unavailable, "the configured UPS URL has no tracking", err)
	case ship.KindOf(err) == ship.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case !answer.TrackResponse.present:
		return false, ship.Errorf(ship.Unavailable, "UPS sent no tracking data")
	}
	return true, nil
}

// updatesOf reads the answer about a number, which may hold the other parcels
// of its shipment.
func updatesOf(answer trackAnswer, requested string, now time.Time) (updates []carrier.TrackingUpdate) {
	parcels := answer.packages()
	for _, parcel := range parcels {
		number := strings.ToUpper(string(parcel.TrackingNumber))
		if len(parcels) == 1 || number == strings.ToUpper(requested) {
			number = requested // a single parcel is the requested one, whichever of its numbers UPS shows
		} else if !isPlausibleNumber(number) {
			continue
		}
		updates = append(updates, parcel.updates(number, now)...)
	}
	return updates
}

// updates returns the events of one parcel. An activity that cannot be read is
// left out.
func (p trackedPackage) updates(number string, now time.Time) (updates []carrier.TrackingUpdate) {
	estimate := p.estimate()
	isMail := strings.Contains(strings.ToLower(string(p.Service.value.Description)), "mail innovations")
	for _, raw := range p.Activity {
		var scanned activity
		if json.Unmarshal(raw, &scanned) != nil {
			continue
		}

		status := scanned.Status.value
		event := reportedEvent{
			number: number,
			mark: mark{
				mail:     isMail,
				kind:     cleanCode(string(status.Type)),
				activity: cleanCode(string(status.Code)),
				status:   cleanStatus(string(status.StatusCode)),
			},
			description: string(status.Description),
			place:       scanned.Location.value.Address.value,
			moment: moment{
				date:     string(scanned.Date),
				clock:    string(scanned.Time),
				gmtDate:  string(scanned.GMTDate),
				gmtClock: string(scanned.GMTTime),
				offset:   string(scanned.GMTOffset),
			},
			estimate: estimate,
			raw:      raw,
		}
		if update, ok := event.update(now); ok {
			updates = append(updates, update)
		}
	}
	return updates
}

// estimate returns when the parcel is to arrive in the local time of its
// destination, kept as if in UTC: the new day if there is one, else the first.
// A parcel that has arrived has none.
func (p trackedPackage) estimate() time.Time {
	days := map[word]word{}
	for _, dated := range p.DeliveryDate {
		days[dated.value.Type] = dated.value.Date
	}
	if days["DEL"] != "" {
		return time.Time{}
	}

	for _, kind := range []word{"RDD", "SDD"} {
		if t, _, ok := wallClock(string(days[kind]), string(p.DeliveryTime.value.EndTime)); ok {
			return t
		}
	}
	return time.Time{}
}
