package web

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// canary is in every value of a recipient, and must not be in the audit log.
const canary = "Quetzalcoatlus"

// addressee is a recipient whose values can be recognized.
var addressee = ship.Address{
	Name: canary + " Northropi", Company: canary + " Inc", Address1: "1 " + canary + " St", Address2: "Apt " + canary,
	City: "Austin", State: "TX", Zip: "78701", Country: "US", Email: strings.ToLower(canary) + "@example.com", Phone: "+15125550199",
}

// TestEveryDownloadIsInTheAuditLog requests every route that has the name of a
// file: its entry is written before anything is sent, and has nothing of what is
// sent.
func TestEveryDownloadIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	b.buy(b.owner, "o-1", addressee, 1)
	things := b.things(b.owner)
	identified := map[string]string{}
	for _, r := range rows {
		identified[r.route] = r.id
	}

	downloads := 0
	for _, rt := range table(b.web.Config) {
		file := path.Base(rt.Path)
		what, extension, _ := strings.Cut(file, ".")
		if extension == "" || strings.Contains(file, "{") || strings.HasSuffix(what, "template") || !strings.HasPrefix(rt.Path, "/app/{account}") {
			continue
		}
		downloads++
		name := rt.Method + " " + rt.Path
		address := row{route: name, id: identified[name]}.path(b.owner.ID, things) + "?q=" + canary
		var filled map[string][]string
		if rt.Method == http.MethodPost {
			filled = form("do", "nothing", "q", canary)
		}

		known := len(b.entries())
		b.exec("ALTER TABLE audit_log ADD CONSTRAINT shut CHECK (false) NOT VALID")
		w := b.send(member.Owner, address, filled)
		b.exec("ALTER TABLE audit_log DROP CONSTRAINT shut")
		if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s without its entry: %d", name, w.Code)
		}

		b.send(member.Owner, address, filled)
		list := b.entries()
		if len(list) != known+1 {
			t.Errorf("%s: %d new entries", name, len(list)-known)
			continue
		}
		entry := list[0]
		if !strings.HasPrefix(entry.Action, "export.") || entry.Details["file"] != file || entry.Person == "" || entry.From.Addr.String() != "192.0.2.1" {
			t.Errorf("%s is recorded as %+v", name, entry)
		}
	}
	if downloads < 18 {
		t.Errorf("only %d downloads were tried", downloads)
	}
	b.wantNoCanary()
}

// wantNoCanary reports entries that have a value of the recipient.
func (b *auditBench) wantNoCanary() {
	b.Helper()
	b.must(b.web.Member.FlushNotes(b.Context(), true))
	var found []string
	err := storetest.Conn(b, b.database).QueryRow(b.Context(),
		`SELECT coalesce(array_agg(action || ' ' || details::text), '{}') FROM audit_log l WHERE l::text ILIKE '%' || $1 || '%' OR l::text LIKE '%5125550199%'`, canary).Scan(&found)
	b.must(err)
	if len(found) > 0 {
		b.Errorf("entries have a value of the recipient: %v", found)
	}
}

// TestTheAuditLogHasNoRecipient buys, searches, uploads, corrects, prints, voids
// and fails in every way with a recipient whose values can be recognized.
func TestTheAuditLogHasNoRecipient(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	buying := func(role member.Role) answered {
		return b.send(role, b.home+"/shipments", form(
			"order", "o-1", "to.name", addressee.Name, "to.company", addressee.Company, "to.address1", addressee.Address1, "to.city", addressee.City,
			"to.state", addressee.State, "to.zip", addressee.Zip, "to.country", "US", "to.email", addressee.Email, "weight", "1", "weightUnit", "lb"))
	}
	buying(member.Owner)
	buying(member.Viewer)

	sh := b.buy(b.owner, "o-2", addressee, 1)
	for _, role := range []member.Role{member.Owner, member.Viewer} {
		for _, page := range []string{"shipments?q=" + canary, "search?q=" + canary, "shipments/" + string(sh.ID), "shipments/" + string(sh.ID) + "/print", "shipments.csv?q=" + canary, "audit?target=" + canary} {
			b.send(role, b.home+"/"+page, nil)
		}
		b.send(role, b.home+"/shipments/"+string(sh.ID)+"/advance", form("status", "picked_up"))
		b.send(role, b.home+"/shipments/"+string(sh.ID)+"/void", form())
	}

	orders := fmt.Sprintf("order,name,address1,city,state,zip,country,email,weight\no-3,%s,%s,Austin,TX,78701,US,%s,1\no-4,%s,%s,Austin,TX,nozip,US,%s,1\n",
		addressee.Name, addressee.Address1, addressee.Email, addressee.Name, addressee.Address1, addressee.Email)
	id := b.batch(b.tenant(), orders)
	b.workBatch(b.tenant(), id)
	address := b.home + "/batches/" + string(id)
	b.send(member.Owner, address+"/rows/2", form("field.name", addressee.Name, "field.zip", "78701"))
	b.send(member.Owner, address+"/rows/2", form("do", "skip"))
	b.send(member.Owner, address, form("do", "buy"))
	b.workBatch(b.tenant(), id)
	for _, file := range []string{"labels.pdf", "results.csv", "documents.pdf"} {
		b.send(member.Owner, address+"/"+file, nil)
	}

	known := len(b.entries())
	b.wantNoCanary()
	list := b.entries()
	actions := map[string]bool{}
	for _, entry := range list {
		actions[entry.Action] = true
	}
	for _, action := range []string{"export.shipments", "export.labels", "export.results", "shipment.listed", "member.denied", "batch.bought"} {
		if !actions[action] {
			t.Errorf("%s is not among the %d entries: the test shows nothing of it", action, known)
		}
	}
}
