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

func trackingOf(t tracking.Tracked) wire.TrackingResult {
	return wire.TrackingOf(wire.Timeline{
		TrackingNumber: t.TrackingNumber, Carrier: t.Carrier, Shipment: t.Shipment, Tracker: t.Tracker,
		Progress: t.Progress, Scans: t.Scans, CheckedAt: t.CheckedAt,
	})
}

type trackRequest struct {
	Number      string `path:"trackingNumber" minLength:"1" maxLength:"100" example:"1Z999AA10123456784" doc:"The carrier's tracking number (AWB), a shipment's shp_ id or a tracker's trk_ id. Case and spaces do not matter."`
	Carrier     string `query:"carrier" minLength:"1" maxLength:"50" doc:"Chooses, if two carriers use the same number."`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the copy at hand; 304 if the timeline is unchanged."`
}

// track handles GET /v1/tracking/{trackingNumber}.
func (s *server) track(ctx context.Context, in *trackRequest) (reply, error) {
	t, err := s.Tracking.Track(ctx, httpkit.From(ctx).Principal.Tenant, in.Number, in.Carrier)
	if err != nil {
		return reply{}, err
	}
	body, tag, err := timeline(t)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: http.StatusOK, body: body}
	if matches(in.IfNoneMatch, tag) {
		out = reply{status: http.StatusNotModified}
	}
	return out.with("ETag", tag).with("Cache-Control", "private, no-cache"), nil
}

// timeline renders t with a tag that changes only with what it tells: when the
// carrier was last asked is no news. The tag is weak for that reason, and
// lastCheckedAt is the last member, written behind the tagged part.
func timeline(t tracking.Tracked) (body []byte, tag string, err error) {
	result := trackingOf(t)
	checked := result.LastCheckedAt
	result.LastCheckedAt = ""
	if body, err = wire.Marshal(&result); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`
	if checked != "" {
		body = append(body[:len(body)-1], `,"lastCheckedAt":"`+checked+`"}`...)
	}
	return body, tag, nil
}

// trackerInput is the body of POST /v1/trackers.
type trackerInput struct {
	TrackingNumber string `json:"trackingNumber" minLength:"1" maxLength:"100" example:"1Z999AA10123456784" doc:"The carrier's tracking number."`
	Carrier        string `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"The carrier; left out, it is told from the number if it can be."`
}

type followRequest struct {
	Body trackerInput
}

// follow handles POST /v1/trackers.
func (s *server) follow(ctx context.Context, in *followRequest) (reply, error) {
	p := httpkit.From(ctx).Principal
	t, created, err := s.Tracking.Follow(ctx, p.Tenant, p.Key, in.Body.TrackingNumber, in.Body.Carrier)
	if err != nil {
		return reply{}, err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	out, err := show(status, trackingOf(t))
	return out.with("Location", "/v1/tracking/"+string(t.Tracker)), err
}

// listTrackers handles GET /v1/trackers.
func (s *server) listTrackers(ctx context.Context, in *PageRequest) (reply, error) {
	p := ship.Page{Limit: in.Limit}
	if in.Cursor != "" {
		id, ok := ship.ParseTrackerID(in.Cursor)
		if !ok {
			return reply{}, badCursor()
		}
		p.Before = id.Raw()
	}
	list, more, err := s.Tracking.Trackers(ctx, httpkit.From(ctx).Principal.Tenant, p)
	if err != nil {
		return reply{}, err
	}
	data := make([]wire.TrackingResult, len(list))
	last := ""
	for i, t := range list {
		data[i] = trackingOf(t)
		last = data[i].ID
	}
	return show(http.StatusOK, pageOf(data, more, last))
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
	Status string `json:"status,omitempty" enum:"picked_up,in_transit,out_for_delivery,delivered,exception" doc:"The status to reach; left out, the next step."`
	Reason string `json:"reason,omitempty" minLength:"1" maxLength:"50" pattern:"^[a-z][a-z0-9_]*$" example:"address_not_found" doc:"Why, for an exception."`
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
	t, err := s.Tracking.Advance(ctx, httpkit.From(ctx).Principal.Tenant, id, ship.Status(to.Status), to.Reason)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, trackingOf(t))
}
