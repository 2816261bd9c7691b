package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/wire"
)

// trackingOf returns a parcel and its timeline as clients see it.
func trackingOf(tracked tracking.Tracked) wire.TrackingResult {
	return wire.TrackingOf(wire.Timeline{
		TrackingNumber: tracked.TrackingNumber,
		Carrier:        tracked.Carrier,
		Shipment:       tracked.Shipment,
		Tracker:        tracked.Tracker,
		Progress:       tracked.Progress,
		Scans:          tracked.Scans,
		CheckedAt:      tracked.CheckedAt,
	})
}

type trackRequest struct {
	Number      string `path:"trackingNumber" minLength:"1" maxLength:"100" example:"1Z999AA10123456784" doc:"The carrier's tracking number (AWB), a shipment's shp_ id or a tracker's trk_ id. Case and spaces are ignored."`
	Carrier     string `query:"carrier" minLength:"1" maxLength:"50" doc:"The carrier, if several carriers use the same number."`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the cached copy; the response is 304 if the timeline is unchanged."`
}

// track handles GET /v1/tracking/{trackingNumber}.
func (s *server) track(ctx context.Context, in *trackRequest) (reply, error) {
	tracked, err := s.Tracking.Track(ctx, httpkit.From(ctx).Principal.Tenant, in.Number, in.Carrier)
	if err != nil {
		return reply{}, err
	}
	body, tag, err := renderTimeline(tracked)
	if err != nil {
		return reply{}, err
	}

	out := reply{status: http.StatusOK, body: body}
	if etagMatches(in.IfNoneMatch, tag) {
		out = reply{status: http.StatusNotModified}
	}
	return out.with("ETag", tag), nil
}

// renderTimeline renders a timeline with a tag that changes only with its
// content: when the carrier was last asked is not part of that. The tag is weak
// for that reason, and lastCheckedAt is the last member, written behind the
// tagged part.
func renderTimeline(tracked tracking.Tracked) (body []byte, tag string, err error) {
	// The tag is computed without the time of the last check, which is appended
	// afterwards.
	result := trackingOf(tracked)
	checkedAt := result.LastCheckedAt
	result.LastCheckedAt = ""
	if body, err = wire.Marshal(&result); err != nil {
		return nil, "", err
	}

	sum := sha256.Sum256(body)
	tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`

	if checkedAt != "" {
		body = append(body[:len(body)-1], `,"lastCheckedAt":"`+checkedAt+`"}`...)
	}
	return body, tag, nil
}

type recognizeRequest struct {
	Number string `query:"number" required:"true" minLength:"1" maxLength:"100" example:"1Z999AA10123456784" doc:"The tracking number. Case, spaces and hyphens are ignored."`
}

// recognition is the answer of GET /v1/tracking-numbers/recognize.
type recognition struct {
	Candidates []numberCandidate `json:"candidates" doc:"The carriers that have such numbers, the likeliest first; empty if no supported carrier has."`
}

type numberCandidate struct {
	Carrier    string `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Confidence string `json:"confidence" enum:"high,medium,low" doc:"high: a format that only this carrier uses, with a check digit where it has one. medium: several carriers use the format, or it is a short row of digits. low: it may fit by chance."`
}

// recognize handles GET /v1/tracking-numbers/recognize.
func (s *server) recognize(_ context.Context, in *recognizeRequest) (reply, error) {
	candidates, err := s.Tracking.Recognize(in.Number)
	if err != nil {
		return reply{}, ofParameters(err)
	}

	out := recognition{Candidates: make([]numberCandidate, len(candidates))}
	for i, candidate := range candidates {
		out.Candidates[i] = numberCandidate{Carrier: candidate.Carrier, Confidence: string(candidate.Confidence)}
	}
	return jsonReply(http.StatusOK, out)
}

// trackerInput is the body of POST /v1/trackers.
type trackerInput struct {
	TrackingNumber string `json:"trackingNumber" minLength:"1" maxLength:"100" example:"1Z999AA10123456784" doc:"The carrier's tracking number."`
	Carrier        string `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"The carrier; if omitted, it is detected from the number where possible."`
}

type followRequest struct {
	Body trackerInput
}

// follow handles POST /v1/trackers.
func (s *server) follow(ctx context.Context, in *followRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	tracked, created, err := s.Tracking.Follow(ctx, caller.Tenant, caller.Key, in.Body.TrackingNumber, in.Body.Carrier)
	if err != nil {
		return reply{}, err
	}

	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	out, err := jsonReply(status, trackingOf(tracked))
	return out.with("Location", "/v1/tracking/"+string(tracked.Tracker)), err
}

// listTrackers handles GET /v1/trackers.
func (s *server) listTrackers(ctx context.Context, in *PageRequest) (reply, error) {
	page := ship.Page{Limit: in.Limit}
	if in.Cursor != "" {
		id, ok := ship.ParseTrackerID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = id.Raw()
	}

	list, more, err := s.Tracking.Trackers(ctx, httpkit.From(ctx).Principal.Tenant, page)
	if err != nil {
		return reply{}, err
	}

	data := make([]wire.TrackingResult, len(list))
	last := ""
	for i, tracked := range list {
		data[i] = trackingOf(tracked)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

type unfollowRequest struct {
	ID string `path:"id" example:"trk_01KJMBQDHV00G7QH2W5D8CMX1E" doc:"Identifier of the tracker."`
}

// unfollow handles DELETE /v1/trackers/{id}.
func (s *server) unfollow(ctx context.Context, in *unfollowRequest) (reply, error) {
	id, ok := ship.ParseTrackerID(in.ID)
	if !ok {
		return reply{}, ship.Coded(ship.NotFound, "tracker_not_found", "no such tracker")
	}
	err := s.Tracking.Unfollow(ctx, httpkit.From(ctx).Principal.Tenant, id)
	return reply{status: http.StatusNoContent}, err
}

// advanceInput is the body of POST /v1/sandbox/shipments/{id}/advance.
type advanceInput struct {
	Status string `json:"status,omitempty" enum:"picked_up,in_transit,out_for_delivery,delivered,exception" doc:"The status to advance to; if omitted, the next step."`
	Reason string `json:"reason,omitempty" minLength:"1" maxLength:"50" pattern:"^[a-z][a-z0-9_]*$" example:"address_not_found" doc:"The reason for an exception."`
}

type advanceRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body *advanceInput
}

// advance handles POST /v1/sandbox/shipments/{id}/advance.
func (s *server) advance(ctx context.Context, in *advanceRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}

	var to advanceInput
	if in.Body != nil {
		to = *in.Body
	}
	tracked, err := s.Tracking.Advance(ctx, httpkit.From(ctx).Principal.Tenant, id, ship.Status(to.Status), to.Reason)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, trackingOf(tracked))
}
