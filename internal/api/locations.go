package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// locationRoutes manage the places that an account ships from.
func (s *server) locationRoutes() []*route {
	return []*route{
		{
			method:  http.MethodPost,
			path:    "/v1/locations",
			id:      "createLocation",
			tag:     "Locations",
			summary: "Create a location",
			scope:   "locations",
			handler: handle(s.createLocation),
			outcomes: []outcome{
				{status: http.StatusCreated, about: "The location.", body: location{}, headers: []string{"Location"}},
			},
			codes: []string{"location_exists", "location_limit"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/locations",
			id:       "listLocations",
			tag:      "Locations",
			summary:  "List locations",
			scope:    "shipments:read",
			handler:  handle(s.listLocations),
			outcomes: []outcome{{status: http.StatusOK, about: "All locations, by name.", body: page[location]{}}},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/locations/{id}",
			id:       "getLocation",
			tag:      "Locations",
			summary:  "Get a location",
			scope:    "shipments:read",
			handler:  handle(s.getLocation),
			outcomes: []outcome{{status: http.StatusOK, about: "The location.", body: location{}}},
			codes:    []string{"location_not_found"},
		},

		{
			method:   http.MethodPatch,
			path:     "/v1/locations/{id}",
			id:       "changeLocation",
			tag:      "Locations",
			summary:  "Update a location",
			scope:    "locations",
			handler:  handle(s.changeLocation),
			outcomes: []outcome{{status: http.StatusOK, about: "The updated location.", body: location{}}},
			codes:    []string{"location_not_found", "location_exists"},
		},

		{
			method:   http.MethodDelete,
			path:     "/v1/locations/{id}",
			id:       "deleteLocation",
			tag:      "Locations",
			summary:  "Delete a location",
			scope:    "locations",
			handler:  handle(s.deleteLocation),
			outcomes: []outcome{{status: http.StatusNoContent, about: "The location was deleted."}},
			codes:    []string{"location_not_found"},
		},
	}
}

// locationInput is the body of POST /v1/locations.
type locationInput struct {
	Name        string            `json:"name" minLength:"1" maxLength:"100" example:"Reno warehouse" doc:"Name of the location, unique in the account. Routing rules and order files refer to it."`
	Address     addressInput      `json:"address" doc:"Where parcels are sent from."`
	Contact     *contactInput     `json:"contact,omitempty" doc:"Whom a driver asks for; by default, the name and phone of the address."`
	CutoffTimes []cutoffTimeInput `json:"cutoffTimes,omitempty" maxItems:"50" doc:"Cut-offs for handing over parcels."`
	Connections []string          `json:"connections,omitempty" maxItems:"50" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"The carrier accounts that are quoted and used from here; an empty list means all of the account."`
	Default     bool              `json:"default,omitempty" doc:"Whether parcels leave from here if a request has no origin. The location that was the default is not any more."`
}

// locationChange is the body of PATCH /v1/locations/{id}.
type locationChange struct {
	Name        *string           `json:"name,omitempty" minLength:"1" maxLength:"100" example:"Reno warehouse" doc:"Name of the location. Routing rules that have the old name no longer match."`
	Address     *addressInput     `json:"address,omitempty" doc:"Where parcels are sent from: the complete address. Shipments that exist keep theirs."`
	Contact     *contactInput     `json:"contact,omitempty" doc:"Whom a driver asks for; an empty object removes the contact."`
	CutoffTimes []cutoffTimeInput `json:"cutoffTimes,omitempty" maxItems:"50" doc:"The complete list of cut-off times."`
	Connections []string          `json:"connections,omitempty" maxItems:"50" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"The complete list of carrier accounts that are used from here; an empty list means all of the account."`
	Default     *bool             `json:"default,omitempty" doc:"Whether parcels leave from here if a request has no origin."`
}

type contactInput struct {
	Name  string `json:"name,omitempty" maxLength:"100" example:"Grace Hopper" doc:"Name of the person."`
	Phone string `json:"phone,omitempty" maxLength:"30" example:"7755550100" doc:"Phone number."`
	Email string `json:"email,omitempty" maxLength:"254" doc:"E-mail address."`
}

func (c *contactInput) contact() *ship.Contact {
	if c == nil {
		return nil
	}
	return &ship.Contact{Name: c.Name, Phone: c.Phone, Email: c.Email}
}

type cutoffTimeInput struct {
	Carrier string `json:"carrier,omitempty" maxLength:"50" example:"ups" doc:"The carrier; if omitted, all that have no time of their own."`
	Time    string `json:"time" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"17:00" doc:"Time of day in 24 hours, in the time zone of the location."`
}

// cutoffsOf reads cut-off times; nil leaves them as they are.
func cutoffsOf(list []cutoffTimeInput) []ship.CutoffTime {
	if list == nil {
		return nil
	}
	times := make([]ship.CutoffTime, len(list))
	for i, cutoff := range list {
		times[i] = ship.CutoffTime(cutoff)
	}
	return times
}

// connectionsOf reads connections; nil leaves them as they are.
func connectionsOf(list []string) []ship.ConnectionID {
	if list == nil {
		return nil
	}
	ids := make([]ship.ConnectionID, len(list))
	for i, id := range list {
		ids[i] = ship.ConnectionID(id)
	}
	return ids
}

// location is a location as it is shown.
type location struct {
	ID          string       `json:"id" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the location, prefix loc_."`
	Name        string       `json:"name" example:"Reno warehouse" doc:"Name of the location."`
	Address     wire.Address `json:"address" doc:"Where parcels are sent from."`
	Contact     *contact     `json:"contact,omitempty" doc:"Whom a driver asks for, if not the name of the address."`
	CutoffTimes []cutoffTime `json:"cutoffTimes" doc:"Cut-offs for handing over parcels."`
	Connections []string     `json:"connections" doc:"The carrier accounts that are used from here; empty means all of the account."`
	Default     bool         `json:"default" doc:"Whether parcels leave from here if a request has no origin."`
	CreatedAt   string       `json:"createdAt" format:"date-time" doc:"When it was created."`
}

type contact struct {
	Name  string `json:"name,omitempty" doc:"Name of the person."`
	Phone string `json:"phone,omitempty" doc:"Phone number."`
	Email string `json:"email,omitempty" doc:"E-mail address."`
}

type cutoffTime struct {
	Carrier string `json:"carrier,omitempty" example:"ups" doc:"The carrier; omitted for all that have no time of their own."`
	Time    string `json:"time" example:"17:00" doc:"Time of day in 24 hours, in the time zone of the location."`
}

func locationOf(l ship.Location) location {
	shown := location{
		ID:          string(l.ID),
		Name:        l.Name,
		Address:     wire.AddressOf(l.Address),
		CutoffTimes: make([]cutoffTime, len(l.CutoffTimes)),
		Connections: make([]string, len(l.Connections)),
		Default:     l.IsDefault,
		CreatedAt:   wire.Time(l.ID.Raw().Time()),
	}
	if l.Contact != (ship.Contact{}) {
		shown.Contact = &contact{Name: l.Contact.Name, Phone: l.Contact.Phone, Email: l.Contact.Email}
	}
	for i, cutoff := range l.CutoffTimes {
		shown.CutoffTimes[i] = cutoffTime(cutoff)
	}
	for i, id := range l.Connections {
		shown.Connections[i] = string(id)
	}
	return shown
}

type createLocationRequest struct{ Body locationInput }

// createLocation handles POST /v1/locations.
func (s *server) createLocation(ctx context.Context, in *createLocationRequest) (reply, error) {
	body := in.Body
	address := body.Address.address()
	created, err := s.Account.AddLocation(ctx, httpkit.From(ctx).Principal.Tenant, account.LocationSettings{
		Name:        &body.Name,
		Address:     &address,
		Contact:     body.Contact.contact(),
		CutoffTimes: cutoffsOf(body.CutoffTimes),
		Connections: connectionsOf(body.Connections),
		IsDefault:   &body.Default,
	})
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(http.StatusCreated, locationOf(created))
	return out.with("Location", "/v1/locations/"+string(created.ID)), err
}

// listLocations handles GET /v1/locations. They are few, so there is one page.
func (s *server) listLocations(ctx context.Context, _ *noParameters) (reply, error) {
	list, err := s.Account.Locations(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}
	data := make([]location, len(list))
	for i, one := range list {
		data[i] = locationOf(one)
	}
	return jsonReply(http.StatusOK, pageOf(data, false, ""))
}

type locationRequest struct {
	ID string `path:"id" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the location."`
}

// locationID reads the id in a path. Text that is not an id is not found, as the
// id of another account's location is.
func locationID(text string) (ship.LocationID, error) {
	id, ok := ship.ParseLocationID(text)
	if !ok {
		return "", ship.Coded(ship.NotFound, "location_not_found", "no such location")
	}
	return id, nil
}

// getLocation handles GET /v1/locations/{id}.
func (s *server) getLocation(ctx context.Context, in *locationRequest) (reply, error) {
	id, err := locationID(in.ID)
	if err != nil {
		return reply{}, err
	}
	found, err := s.Account.Location(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, locationOf(found))
}

type changeLocationRequest struct {
	ID   string `path:"id" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the location."`
	Body locationChange
}

// changeLocation handles PATCH /v1/locations/{id}.
func (s *server) changeLocation(ctx context.Context, in *changeLocationRequest) (reply, error) {
	id, err := locationID(in.ID)
	if err != nil {
		return reply{}, err
	}
	body := in.Body
	settings := account.LocationSettings{
		Name:        body.Name,
		Contact:     body.Contact.contact(),
		CutoffTimes: cutoffsOf(body.CutoffTimes),
		Connections: connectionsOf(body.Connections),
		IsDefault:   body.Default,
	}
	if body.Address != nil {
		address := body.Address.address()
		settings.Address = &address
	}

	changed, err := s.Account.ChangeLocation(ctx, httpkit.From(ctx).Principal.Tenant, id, settings)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, locationOf(changed))
}

// deleteLocation handles DELETE /v1/locations/{id}.
func (s *server) deleteLocation(ctx context.Context, in *locationRequest) (reply, error) {
	id, err := locationID(in.ID)
	if err == nil {
		err = s.Account.RemoveLocation(ctx, httpkit.From(ctx).Principal.Tenant, id)
	}
	return reply{status: http.StatusNoContent}, err
}

// originInput is where parcels come from: an address, or a location that has one.
type originInput struct {
	Name        string `json:"name,omitempty" minLength:"1" maxLength:"100" example:"Acme" doc:"Name of the person, or of the contact if company is given."`
	Address1    string `json:"address1,omitempty" minLength:"1" maxLength:"100" example:"1 Market St" doc:"Street and number."`
	City        string `json:"city,omitempty" minLength:"1" maxLength:"100" example:"San Francisco" doc:"City or town."`
	State       string `json:"state,omitempty" maxLength:"50" example:"CA" doc:"State or province, such as TX, US-TX or Texas. Required where the country's addresses need one."`
	Zip         string `json:"zip,omitempty" maxLength:"20" example:"94105" doc:"Postal code. Required except where the country has none."`
	Country     string `json:"country,omitempty" minLength:"1" maxLength:"100" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Company     string `json:"company,omitempty" maxLength:"100" doc:"Company."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" maxLength:"100" doc:"Third line."`
	Phone       string `json:"phone,omitempty" maxLength:"30" doc:"Phone number for the driver."`
	Email       string `json:"email,omitempty" maxLength:"254" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential. If omitted, the carrier decides."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party. Required for shipments into the European Union."`
	LocationID  string `json:"locationId,omitempty" pattern:"^loc_[0-7][0-9A-Za-z]{25}$" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"A location of the account, instead of all other fields. Its address is copied."`
}

// address reads the address; the zero address if the input is a location or nil.
func (o *originInput) address() ship.Address {
	if o == nil || o.LocationID != "" {
		return ship.Address{}
	}
	return ship.Address{
		Name:        o.Name,
		Company:     o.Company,
		Address1:    o.Address1,
		Address2:    o.Address2,
		Address3:    o.Address3,
		City:        o.City,
		State:       o.State,
		Zip:         o.Zip,
		Country:     o.Country,
		Phone:       o.Phone,
		Email:       o.Email,
		Residential: o.Residential,
		Type:        o.Type,
	}
}

// location reads which location is named; empty if none is.
func (o *originInput) location() ship.LocationID {
	if o == nil {
		return ""
	}
	return ship.LocationID(o.LocationID)
}

// setOrigin has an order leave from the origin, if the client gave one.
func (o *originInput) setOrigin(order *ship.Order) {
	order.Origin = o.address()
	order.Location.ID = o.location()
}
