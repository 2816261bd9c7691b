package dhlparcelde

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// trackBatch is how many numbers DHL takes in a call: public clients send at most 15,
// and DHL's page has more for some accounts.
// fact: track-batch
const trackBatch = 15

// Track returns what DHL knows of shipments of the portal user's account. The
// tracking API is older than the others: it takes a document of XML as a
// parameter, with the portal user in it, and the keys of the app instead of a
// token.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	numbers = slices.DeleteFunc(slices.Clone(numbers), func(number string) bool { return !isPlausibleNumber(number) })

	var all []carrier.TrackingUpdate
	for batch := range slices.Chunk(numbers, trackBatch) {
		shown, err := d.fetchPieces(ctx, batch)
		if err != nil {
			return nil, err
		}
		for _, piece := range shown {
			all = append(all, piece.updates(batch, time.Now())...)
		}
	}
	return all, nil
}

// isPlausibleNumber reports whether DHL may know a number: one that it cannot
// read may make it refuse the others, and a semicolon would be two.
func isPlausibleNumber(number string) bool {
	const longest = 35
	return number != "" && len(number) <= longest && strings.Trim(number, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func (d *driver) fetchPieces(ctx context.Context, numbers []string) ([]piece, error) {
	answer, err := d.askTracking(ctx, trackRequest{Numbers: strings.Join(numbers, ";")})
	if err != nil {
		return nil, err
	}
	return answer.pieces()
}

// askTracking asks for the details of shipments, by their numbers or by a reference.
func (d *driver) askTracking(ctx context.Context, request trackRequest) (trackAnswer, error) {
	request.User = d.user
	request.Password = d.password
	request.Request = "d-get-piece-detail"
	request.Language = "en"
	question, err := xml.Marshal(request)
	if err != nil {
		return trackAnswer{}, ship.Errorf(ship.Internal, "the request to DHL Parcel DE could not be created")
	}

	call := carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.address(trackingPath, url.Values{"xml": {xml.Header + string(question)}}),
		Header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(d.key+":"+d.secret))},
			"Accept":        {"application/xml"},
		},
		Limit:   answerLimit,
		Refusal: refusalOf,
	}
	var body string
	if err := call.Do(ctx, textDoer{d.via}, &body); err != nil {
		return trackAnswer{}, err
	}

	var answer trackAnswer
	if xml.Unmarshal([]byte(body), &answer) != nil {
		return trackAnswer{}, ship.Errorf(ship.Unavailable, "DHL Parcel DE's tracking results could not be read")
	}
	return answer, nil
}

// textDoer turns an answer into a text of JSON, as a Call reads nothing else.
type textDoer struct{ via carrier.Doer }

// Do is carrier.Doer.
func (d textDoer) Do(r *http.Request) (*http.Response, error) {
	response, err := d.via.Do(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}

	// What is too long stays so: the Call refuses it.
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(string(body))
	response.Body = io.NopCloser(bytes.NewReader(quoted))
	return response, err
}

// Codes of the tracking API. Its HTTP status is 200 for all of them.
// fact: tracking-codes
const (
	codeShown     = "0"
	codeBadLogin  = "5"
	codeLockedOut = "6"
	codeNotOurs   = "62"
	codeNoData    = "100"
	codeNotYet    = "200" // the data of the shipment have not arrived
)

// pieces returns the shipments of an answer, none if DHL knows none of the
// numbers.
func (a trackAnswer) pieces() ([]piece, error) {
	refused := &ship.Error{Refusal: ship.Refusal{Code: a.Code, Message: a.Error}}
	switch a.Code {
	case codeShown:
		return a.Pieces, nil
	case codeNoData, codeNotYet:
		return nil, nil
	case codeBadLogin, codeNotOurs:
		refused.Kind = ship.Forbidden
		refused.Message = "DHL Parcel DE does not accept the portal user for tracking"
	case codeLockedOut:
		refused.Kind = ship.Forbidden
		refused.Message = "DHL Parcel DE locked the portal user after too many wrong passwords; set a new one in the portal"
	case "":
		refused.Kind = ship.Unavailable
		refused.Message = "DHL Parcel DE sent no tracking results"
	default:
		refused.Kind = ship.Unavailable
		refused.Message = "DHL Parcel DE could not track the parcels"
	}
	return nil, refused
}

// updates returns the scans of a shipment, if it was asked for.
func (p piece) updates(requested []string, now time.Time) []carrier.TrackingUpdate {
	number := p.Searched
	if !slices.Contains(requested, number) {
		number = p.Number
	}
	if !slices.Contains(requested, number) {
		return nil
	}

	var list []carrier.TrackingUpdate
	for _, events := range p.Lists {
		for _, event := range events.Events {
			if scan, ok := event.scan(now); ok {
				list = append(list, carrier.TrackingUpdate{
					TrackingNumber: number,
					Scan:           scan,
					EstimateAt:     p.estimate(),
					Raw:            event.raw(),
				})
			}
		}
	}
	return list
}
