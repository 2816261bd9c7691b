package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestViewsAreSavedSharedAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy(b.owner, "view-1", people[0], 1)
	path := b.home + "/views"

	// Search words are not kept.
	w := b.send(member.Shipper, path, form("name", "Late", "status", "exception", "days", "7", "to", "Lovelace", "shared", "1"))
	if w.Code != http.StatusSeeOther {
		t.Fatalf("save: %d %s", w.Code, w.Body)
	}
	b.send(member.Viewer, path, form("name", "Mine", "carrier", "ups", "shared", "1"))
	if w := b.send(member.Viewer, path, form("name", "Nothing", "to", "Lovelace")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a view without a filter: %d", w.Code)
	}

	list := b.send(member.Viewer, b.home+"/shipments", nil).Body.String()
	if !strings.Contains(list, "days=7&amp;status=exception") || !strings.Contains(list, ">Mine<") || strings.Contains(list, "Lovelace&amp;") {
		t.Error("the list does not have the views of a viewer")
	}
	// A viewer's view is their own, whatever they ask for.
	if list := b.send(member.Shipper, b.home+"/shipments", nil).Body.String(); strings.Contains(list, ">Mine<") {
		t.Error("somebody else sees a view that is not shared")
	}

	remove := regexp.MustCompile(`action="([^"]*/views/[^"]*/delete)"`)
	own := remove.FindStringSubmatch(b.send(member.Shipper, path, nil).Body.String())
	if own == nil {
		t.Fatal("the view cannot be deleted")
	}
	if w := b.send(member.Viewer, own[1], form()); w.Code != http.StatusNotFound {
		t.Errorf("a viewer deletes the view of another: %d", w.Code)
	}
	if w := b.send(member.Owner, own[1], form()); w.Code != http.StatusSeeOther {
		t.Errorf("the owner deletes a shared view: %d", w.Code)
	}
	if page := b.send(member.Shipper, path, nil).Body.String(); strings.Contains(page, ">Late<") {
		t.Error("the view is still there")
	}
}

func TestTheColumnsOfAFileAreRemembered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	file := "Nummer,Wohin,Strasse,Ort,Bundesland,PLZ,Land,Gewicht\n1,Ada,500 Main St,Austin,TX,78701,US,2.5\n"
	first, err := b.web.Batch.Upload(b.Context(), tenant, "a.csv", "Dana", []byte(file))
	b.must(err)
	meaning := batch.ColumnMapping{
		Columns: []string{"order", "name", "address1", "city", "state", "zip", "country", "weight"},
		Fixed:   map[string]string{"weightUnit": "kg"},
	}
	b.must(b.web.Batch.Check(b.Context(), tenant, first.ID, meaning))

	// The titles are the same words, written differently, and the mode is another.
	again := strings.Replace(file, "Nummer,Wohin", "NUMMER,\"wohin \"", 1)
	second, err := b.web.Batch.Upload(b.Context(), ship.Tenant{Account: b.owner.ID, Livemode: true}, "b.csv", "Dana", []byte(again))
	b.must(err)
	got := second.ColumnMapping
	if !got.IsRemembered || strings.Join(got.Columns, " ") != strings.Join(meaning.Columns, " ") || got.Fixed["weightUnit"] != "kg" {
		t.Errorf("the second file has %+v", got)
	}
	if page := b.send(member.Shipper, b.liveHome+"/batches/"+string(second.ID), nil).Body.String(); !strings.Contains(page, "mapped as in your last file") {
		t.Error("the page does not say that the columns are remembered")
	}

	other := b.account("Elsewhere")
	third, err := b.web.Batch.Upload(b.Context(), ship.Tenant{Account: other.ID}, "c.csv", "Eve", []byte(file))
	if b.must(err); third.ColumnMapping.IsRemembered {
		t.Error("another account gets the mapping")
	}
}
