package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// prices returns a small sheet.
func prices(service string, price int) string {
	return fmt.Sprintf("[sheet]\ncurrency,USD\n[zones]\nzone,country\n1,US\n[rates]\nservice,up to,zone 1\n%s,150 lb,%d.00\n", service, price)
}

func TestVersionsOfARateSheetHavePages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	const versions = site.PageSize + 3
	for i := range versions {
		_, err := b.web.Rules.ImportSheet(t.Context(), tenant, rulebook.SheetInput{Name: "ours", Carrier: "ups", CSV: prices("ground", i+1)})
		b.must(err)
	}
	first := b.send(member.Owner, b.home+"/rate-sheets/ours", nil).Body.String()
	cursor := "?cursor=" + strconv.Itoa(versions-site.PageSize+1)
	if !strings.Contains(first, cursor) || strings.Contains(first, "version=3\"") || strings.Count(first, "Active") != 1 {
		t.Errorf("the first page does not lead to %s", cursor)
	}
	second := b.send(member.Owner, b.home+"/rate-sheets/ours"+cursor, nil).Body.String()
	if !strings.Contains(second, "version=3\"") || strings.Contains(second, "Active") || strings.Contains(second, "Next page") || !strings.Contains(second, "First page") {
		t.Error("the second page is not the rest")
	}
	csv := b.send(member.Owner, b.home+"/rate-sheets/ours/versions.csv", nil)
	if n := strings.Count(csv.Body.String(), "\r\n"); csv.Code != http.StatusOK || n != versions+1 {
		t.Errorf("the download is %d with %d lines", csv.Code, n)
	}
}

func TestRateSheetsAreFoundByNameAndCarrier(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	for carrier, service := range map[string]string{"ups": "ground", "usps": "ground_advantage"} {
		_, err := b.web.Rules.ImportSheet(t.Context(), tenant, rulebook.SheetInput{Name: carrier + "-2026", Carrier: carrier, CSV: prices(service, 9)})
		b.must(err)
	}
	for query, want := range map[string][2]bool{"": {true, true}, "?q=USPS": {false, true}, "?state=ups": {true, false}, "?cursor=ups-2026": {false, true}} {
		for range 2 { // the second time from the cache
			page := b.send(member.Owner, b.home+"/rate-sheets"+query, nil).Body.String()
			if got := [2]bool{strings.Contains(page, "/rate-sheets/ups-2026\""), strings.Contains(page, "/rate-sheets/usps-2026\"")}; got != want {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
	}
	csv := b.send(member.Owner, b.home+"/rate-sheets.csv?state=usps", nil).Body.String()
	if strings.Count(csv, "\r\n") != 2 || !strings.Contains(csv, `"usps-2026"`) {
		t.Errorf("the download is %s", csv)
	}
}
