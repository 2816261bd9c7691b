package web

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// TestFirstPageIsLight adds up what a first visit transfers: the page and its
// files, compressed.
func TestFirstPageIsLight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(b.owner, site.PageSize)
	start := time.Now()
	w := b.send(member.Owner, b.home+"/shipments", nil)
	took := time.Since(start)
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), `class="row"`) != site.PageSize {
		t.Fatalf("%d with %d lines", w.Code, strings.Count(w.Body.String(), `class="row"`))
	}
	total := w.Body.Len()
	files := regexp.MustCompile(`/app/static/[^"]+`).FindAllString(w.Body.String(), -1)
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		total += b.send(member.Owner, file, nil, "Accept-Encoding", "gzip").Body.Len()
	}
	packed := b.send(member.Owner, b.home+"/shipments", nil, "Accept-Encoding", "gzip")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > w.Body.Len()/3 {
		t.Errorf("a page of %d bytes is sent as %d, %q", w.Body.Len(), packed.Body.Len(), packed.Header().Get("Content-Encoding"))
	}
	secret := b.send(member.Owner, b.home+"/keys", url.Values{"name": {"k"}, "scope": {"*"}}, "Accept-Encoding", "gzip")
	if secret.Code != http.StatusOK || secret.Header().Get("Content-Encoding") != "" {
		t.Errorf("an answer with a secret is compressed: %d", secret.Code)
	}
	total += packed.Body.Len() - w.Body.Len()
	if total > 100<<10 {
		t.Errorf("a first visit moves %d bytes, over 100 KiB", total)
	}
	if took > 2*time.Second {
		t.Errorf("a page of %d shipments took %v", site.PageSize, took)
	}
	t.Logf("%d bytes, %v", total, took)
}
