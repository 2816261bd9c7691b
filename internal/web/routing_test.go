package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

var markIn = regexp.MustCompile(`name="mark" value="([^"]+)"`)

// mark returns the version mark of the draft that the form carries.
func (b *bench) mark() string {
	b.Helper()
	m := markIn.FindStringSubmatch(b.send(member.Owner, b.home+"/routing/rule", nil).Body.String())
	if m == nil {
		b.Fatal("the page has no mark")
	}
	return m[1]
}

// saveRule sends the form of a rule.
func (b *bench) saveRule(mark, name string, more ...string) *httptest.ResponseRecorder {
	f := form(append([]string{"mark", mark, "name", name, "kind", "choose", "choose", "fastest"}, more...)...)
	return b.send(member.Owner, b.home+"/routing/rule", f)
}

func (b *bench) rules() []string {
	b.Helper()
	desk, err := b.web.Rules.Workspace(b.Context(), ship.Tenant{Account: b.owner.ID})
	b.must(err)
	var names []string
	for _, r := range desk.Rules.Rules {
		names = append(names, r.Name)
	}
	return names
}

func TestTwoWhoWriteRulesAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mark := b.mark()
	if w := b.saveRule(mark, "One"); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w := b.saveRule(mark, "Two")
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "Someone else changed the draft") || !strings.Contains(w.Body.String(), `value="Two"`) {
		t.Fatalf("the second is told %d, and its rule is lost", w.Code)
	}
	again := markIn.FindStringSubmatch(w.Body.String())[1]
	if w := b.saveRule(again, "Two"); w.Code != http.StatusSeeOther {
		t.Errorf("after a look: %d", w.Code)
	}
	if got := strings.Join(b.rules(), " "); got != "One Two" {
		t.Errorf("the draft has %s", got)
	}
	move := form("mark", again, "do", "up", "rule", "Two")
	w = b.send(member.Owner, b.home+"/routing", move, "HX-Request", "true")
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "This is the current version") {
		t.Errorf("an old move: %d", w.Code)
	}
	move.Set("mark", b.mark())
	if w = b.send(member.Owner, b.home+"/routing", move, "HX-Request", "true"); w.Code != http.StatusOK || strings.Join(b.rules(), " ") != "Two One" {
		t.Errorf("a move: %d, %v", w.Code, b.rules())
	}
	order := url.Values{"mark": {b.mark()}, "do": {"order"}, "order": {"One", "gone", "Two"}}
	if w = b.send(member.Owner, b.home+"/routing", order); w.Code != http.StatusSeeOther || strings.Join(b.rules(), " ") != "One Two" {
		t.Errorf("a drag: %d, %v", w.Code, b.rules())
	}
}

func TestAWrongRuleIsToldWhereItIsWrong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		form []string
		want string
	}{
		{[]string{"by", "cel", "when", "parcel.weightLbs > 2"}, "Column 1: there is no parcel.weightLbs; did you mean parcel.weightLb?"},
		{[]string{"c.0.name", "parcel.count", "c.0.test", "more", "c.0.value", "x"}, "Enter a number"},
		{[]string{"withinDays", "soon"}, "Must be a whole number"},
		{[]string{"kind", "use"}, "Needs at least one target"},
		{[]string{"kind", "use", "t.0.value", "upss//"}, "did you mean ups?"},
		{[]string{"kind", "split", "t.0.value", "ups//", "t.0.percent", "60"}, "The percentages add up to 60"},
		{[]string{"kind", "prefer", "t.0.value", "ups//"}, "how much more a preferred offer may cost"},
		{[]string{"name", ""}, "A rule needs a name"},
	} {
		w := b.saveRule(b.mark(), "R", tc.form...)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(strings.ReplaceAll(w.Body.String(), "&#39;", "'"), tc.want) && !strings.Contains(w.Body.String(), strings.ToUpper(tc.want[:1])+tc.want[1:]) {
			t.Errorf("%v: %d, without %q", tc.form, w.Code, tc.want)
		}
		if tc.form[0] == "name" {
			continue // is not typed yet
		}
		f := form(append([]string{"kind", "choose"}, tc.form...)...)
		if w := b.send(member.Owner, b.home+"/routing/rule/check", f); w.Code != http.StatusOK || !strings.Contains(strings.ToLower(w.Body.String()), strings.ToLower(tc.want)) {
			t.Errorf("%v while typing: %d, without %q", tc.form, w.Code, tc.want)
		}
	}
	if len(b.rules()) > 0 {
		t.Errorf("saved all the same: %v", b.rules())
	}
}

// TestNamesOfRulesNeverRun shows names, conditions, notes and sheets that would
// run as scripts on a page that forgets to escape them.
func TestNamesOfRulesNeverRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, tenant := t.Context(), ship.Tenant{Account: b.owner.ID}
	var book routing.Book
	for _, bad := range vectors {
		book.Rules = append(book.Rules, routing.Rule{
			Name: bad[:min(len(bad), 100)], Then: routing.Action{Choose: "fastest"},
			When: routing.Clause{Name: "metadata", Key: bad, Test: routing.TestIsNot, Values: []string{bad}}.String(),
		})
	}
	_, err := b.web.Rules.SaveDraft(ctx, tenant, book)
	b.must(err)
	pages := []string{b.home + "/routing", b.home + "/routing/publish", b.home + "/routing/try", b.home + "/routing/history", b.home + "/routing/versions/1"}
	for _, page := range pages[:3] {
		inert(t, page, b.send(member.Owner, page, nil).Body.String())
	}
	_, err = b.web.Rules.Publish(ctx, rulebook.PublishInput{Tenant: tenant, Note: strings.Join(vectors, " ")})
	b.must(err)
	sh := b.buy(b.owner, "1", people[0], 1)
	for _, page := range append(pages, b.home+"/shipments/"+string(sh.ID)) {
		w := b.send(member.Owner, page, nil)
		if w.Code != http.StatusOK && page != pages[1] {
			t.Errorf("%s: %d", page, w.Code)
		}
		inert(t, page, w.Body.String())
	}
	inert(t, "back-test", b.send(member.Owner, b.home+"/routing/backtest", form("which", "published")).Body.String())
	inert(t, "try", b.send(member.Owner, b.home+"/routing/try", form("shipment", string(sh.ID))).Body.String())
	for _, bad := range vectors {
		f := form("name", bad, "by", "cel", "when", bad, "kind", "use", "t.0.value", bad, "was", bad, "mark", bad, "metadata", bad, "c.0.name", bad)
		for _, path := range []string{"rule", "rule/form", "rule/check", "try"} {
			inert(t, path+" "+bad, b.send(member.Owner, b.home+"/routing/"+path, f).Body.String())
		}
		inert(t, bad, b.send(member.Owner, b.home+"/routing/rule?name="+url.QueryEscape(bad), nil).Body.String())
		inert(t, bad, b.importSheet(bad, bad, bad).Body.String())
	}
}

// importSheet imports a rate sheet as a browser does.
func (b *bench) importSheet(name, target, csv string) *httptest.ResponseRecorder {
	b.Helper()
	return b.upload(member.Owner, b.home+"/rate-sheets", "csv", []byte(csv), "name", name, "for", target)
}

func TestEveryTemplateOfARateSheetCanBeImported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, spec := range sandbox.Specs() {
		text := b.send(member.Owner, b.home+"/rate-sheet-template.csv?carrier="+spec.Name, nil).Body.String()
		if _, err := sheet.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if w := b.importSheet("t-"+strings.ReplaceAll(spec.Name, "_", "-"), spec.Name+"//", text); w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d", spec.Name, w.Code)
		}
	}
	w := b.importSheet("big", "ups//", strings.Repeat("#\n", sheet.MaxBytes))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "larger than 4 MB") {
		t.Errorf("a file of 8 MB: %d", w.Code)
	}
}

func TestABackTestTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy(b.owner, "1", people[0], 1)
	w := b.send(member.Owner, b.home+"/routing/backtest", form(), "X-Progress", "1", "HX-Request", "true")
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"done":0`) || !strings.Contains(lines[1], `"done":1`) || !strings.Contains(lines[2], `"html":`) {
		t.Errorf("the stream is %.300q", lines)
	}
	csv := b.send(member.Owner, b.home+"/routing/backtest.csv", form())
	if csv.Code != http.StatusOK || !strings.HasPrefix(csv.Body.String(), `"shipment","order"`) {
		t.Errorf("%d %s", csv.Code, csv.Body)
	}
}

func TestAZoneOfABackTestListsItsOwnShipments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy(b.owner, "to-texas", people[0], 1)
	b.buy(b.owner, "to-new-york", people[1], 1)
	_, err := b.web.Rules.SaveDraft(t.Context(), ship.Tenant{Account: b.owner.ID}, routing.Book{Default: routing.Action{Choose: "fastest"}})
	b.must(err)
	all := b.send(member.Owner, b.home+"/routing/backtest", form("which", "draft")).Body.String()
	if !strings.Contains(all, `name="zone" value="US-787"`) || !strings.Contains(all, ">to-texas<") || !strings.Contains(all, ">to-new-york<") {
		t.Error("the back-test does not list both and offer their zones")
	}
	list := b.send(member.Owner, b.home+"/routing/backtest", form("which", "draft", "zone", "US-787")).Body.String()
	if !strings.Contains(list, "Shipments to US-787") || !strings.Contains(list, "newest 1 of 1") || !strings.Contains(list, ">to-texas<") || strings.Contains(list, ">to-new-york<") {
		t.Error("the list of Texas is not Texas alone")
	}
	if !strings.Contains(list, "of 2 compared") {
		t.Error("the figures are not about all zones any more")
	}
}
