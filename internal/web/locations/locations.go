package locations

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// form is a location as it is filled in.
type form struct {
	ID          ship.LocationID // empty for a new one
	Location    ship.Location
	Cutoffs     []ship.CutoffTime // with empty lines to fill in
	Connections []connection
	Countries   []parts.Choice
	Carriers    []parts.Choice
	Wrong       site.Problems
}

// A connection is a carrier account that can be used from a location.
type connection struct {
	ID     ship.ConnectionID
	Title  string
	IsUsed bool
}

// emptyLines is how many cut-off times can be added at a time.
const emptyLines = 2

// list handles GET /app/{account}/{mode}/settings/locations.
func list(v *site.Visit) error {
	all, err := v.Account.Locations(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, listPage(v.Frame("Locations", "settings"), all))
}

// getNew handles GET /app/{account}/{mode}/settings/locations/new. The first
// location begins as the account's ship-from address, and is the default.
func getNew(v *site.Visit) error {
	present, err := v.Account.Locations(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	page := form{Location: ship.Location{Address: ship.Address{Country: "US"}, IsDefault: len(present) == 0}}
	if origin := v.Who.Account.Origin; origin != nil {
		page.Location.Address.Country = origin.Country
		if len(present) == 0 {
			page.Location.Address = *origin
		}
	}
	return show(v, http.StatusOK, page)
}

// add handles POST /app/{account}/{mode}/settings/locations.
func add(v *site.Visit) error {
	page := read(v)
	_, err := v.Account.AddLocation(v.Audited("location.added", "", nil), v.Tenant(), settingsOf(page.Location))
	return answer(v, page, err)
}

// find returns the location of the address.
func find(v *site.Visit) (ship.Location, error) {
	id, ok := ship.ParseLocationID(v.Request.PathValue("id"))
	if !ok {
		return ship.Location{}, site.ErrNoPage
	}
	found, err := v.Account.Location(v.Context(), v.Tenant(), id)
	if ship.KindOf(err) == ship.NotFound {
		err = site.ErrNoPage
	}
	return found, err
}

// getOne handles GET /app/{account}/{mode}/settings/locations/{id}.
func getOne(v *site.Visit) error {
	found, err := find(v)
	if err != nil {
		return err
	}
	return show(v, http.StatusOK, form{ID: found.ID, Location: found})
}

// change handles POST /app/{account}/{mode}/settings/locations/{id}.
func change(v *site.Visit) error {
	found, err := find(v)
	if err != nil {
		return err
	}
	page := read(v)
	page.ID = found.ID

	// The form does not show these.
	page.Location.Address.Address3 = found.Address.Address3
	page.Location.Address.Residential = found.Address.Residential
	page.Location.Address.Type = found.Address.Type

	_, err = v.Account.ChangeLocation(v.Audited("location.changed", "", nil), v.Tenant(), found.ID, settingsOf(page.Location))
	return answer(v, page, err)
}

// remove handles POST /app/{account}/{mode}/settings/locations/{id}/remove.
func remove(v *site.Visit) error {
	found, err := find(v)
	if err != nil {
		return err
	}
	if err := v.Account.RemoveLocation(v.Audited("location.removed", "", nil), v.Tenant(), found.ID); err != nil {
		return err
	}
	return v.Redirect(v.To("settings", "locations"), "removed")
}

// answer shows the form again with what is wrong in it, or goes to the list.
func answer(v *site.Visit, page form, err error) error {
	if wrong, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = wrong
		return show(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("settings", "locations"), "saved")
}

// read reads the form.
func read(v *site.Visit) form {
	location := ship.Location{
		Name: v.Form("name"),
		Address: ship.Address{
			Name:     v.Form("sender"),
			Company:  v.Form("company"),
			Address1: v.Form("address1"),
			Address2: v.Form("address2"),
			City:     v.Form("city"),
			State:    v.Form("state"),
			Zip:      v.Form("zip"),
			Country:  v.Form("country"),
			Phone:    v.Form("phone"),
			Email:    v.Form("email"),
		},
		Contact: ship.Contact{
			Name:  v.Form("contactName"),
			Phone: v.Form("contactPhone"),
			Email: v.Form("contactEmail"),
		},
		CutoffTimes: []ship.CutoffTime{},
		Connections: []ship.ConnectionID{},
		IsDefault:   v.Form("default") != "",
	}
	for i := 0; ; i++ {
		prefix := cutoffPrefix(i)
		if _, sent := v.Request.PostForm[prefix+"time"]; !sent {
			break
		}
		if time := v.Form(prefix + "time"); time != "" {
			location.CutoffTimes = append(location.CutoffTimes, ship.CutoffTime{Carrier: v.Form(prefix + "carrier"), Time: time})
		}
	}
	for _, id := range v.Request.PostForm["connection"] {
		location.Connections = append(location.Connections, ship.ConnectionID(id))
	}
	return form{Location: location}
}

func settingsOf(location ship.Location) account.LocationSettings {
	return account.LocationSettings{
		Name:        &location.Name,
		Address:     &location.Address,
		Contact:     &location.Contact,
		CutoffTimes: location.CutoffTimes,
		Connections: location.Connections,
		IsDefault:   &location.IsDefault,
	}
}

// show answers with the form and what can be chosen in it.
func show(v *site.Visit, status int, page form) error {
	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	page.Countries = parts.CountryChoices()
	page.Cutoffs = append(slices.Clone(page.Location.CutoffTimes), make([]ship.CutoffTime, emptyLines)...)
	page.Carriers = []parts.Choice{{Value: "", Title: "All other carriers"}}
	for _, carrier := range carriers {
		page.Carriers = append(page.Carriers, parts.Choice{Value: carrier.Name, Title: parts.CarrierTitle(carrier.Name)})
	}
	page.offerCarriers()
	page.Connections = connectionsOf(carriers, page.Location.Connections)
	return v.Show(status, formPage(v.Frame(cmp.Or(page.Location.Name, "New location"), "settings"), page))
}

// offerCarriers adds the carriers of cut-off times that are not connected any more:
// a form without them would change them.
func (p *form) offerCarriers() {
	for _, cutoff := range p.Location.CutoffTimes {
		isOffered := slices.ContainsFunc(p.Carriers, func(c parts.Choice) bool { return c.Value == cutoff.Carrier })
		if !isOffered {
			p.Carriers = append(p.Carriers, parts.Choice{Value: cutoff.Carrier, Title: parts.CarrierTitle(cutoff.Carrier)})
		}
	}
}

// connectionsOf lists the carrier accounts, and those that the location uses and
// that are not connected any more.
func connectionsOf(carriers []shipping.CarrierInfo, used []ship.ConnectionID) []connection {
	var list []connection
	for _, carrier := range carriers {
		title := parts.CarrierTitle(carrier.Name)
		for _, one := range carrier.Connections {
			name := title
			if one.Name != "" && one.Name != title {
				name += ": " + one.Name
			}
			list = append(list, connection{ID: one.ID, Title: name, IsUsed: slices.Contains(used, one.ID)})
		}
	}

	for _, id := range used {
		if !slices.ContainsFunc(list, func(c connection) bool { return c.ID == id }) {
			list = append(list, connection{ID: id, Title: "An account that is no longer connected", IsUsed: true})
		}
	}
	return list
}

// cutoffPrefix returns the prefix of the fields of a cut-off time.
func cutoffPrefix(i int) string { return "cutoff." + strconv.Itoa(i) + "." }

// wrongCutoff returns what is wrong with a field of a cut-off time. Lines without a
// time are left out, so the numbers of those that are sent are the same.
func (p form) wrongCutoff(i int, field string) string {
	return p.Wrong.At("/cutoffTimes/" + strconv.Itoa(i) + "/" + field)
}

// wrongConnections returns what is wrong with the connections.
func (p form) wrongConnections() string {
	for pointer, text := range p.Wrong.Fields {
		if strings.HasPrefix(pointer, "/connections") {
			return text
		}
	}
	return ""
}

// cutoffWords are the cut-off times of a location in one line.
func cutoffWords(location ship.Location) string {
	words := make([]string, len(location.CutoffTimes))
	for i, cutoff := range location.CutoffTimes {
		words[i] = cutoff.Time
		if cutoff.Carrier != "" {
			words[i] += " " + parts.CarrierTitle(cutoff.Carrier)
		}
	}
	return strings.Join(words, ", ")
}

// connectionWords say which carrier accounts a location uses.
func connectionWords(location ship.Location) string {
	switch n := len(location.Connections); n {
	case 0:
		return "All"
	case 1:
		return "1 account"
	default:
		return strconv.Itoa(n) + " accounts"
	}
}
