package web

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// trackPathOf returns the path of the parcel's public page.
func (b *bench) trackPathOf(sh ship.Shipment) string {
	return b.web.Tracking.PagePath(sh.Tenant, sh.ID)
}

func (b *bench) advance(sh ship.Shipment, to ship.Status, reason string) {
	b.Helper()
	_, err := b.web.Tracking.Advance(b.Context(), sh.Tenant, sh.ID, to, reason)
	b.must(err)
}

func TestARecipientSeesTheParcelAndNothingOfThePerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	to := ship.Address{
		Name: "Grace Hopper", Company: "Compiler Works", Address1: "350 5th Avenue", Address2: "Suite 4100", City: "New York", State: "NY", Zip: "10118", Country: "US",
		Phone: "+12025550143", Email: "grace@example.com",
	}
	sh := b.buy(b.owner, "SECRET-ORDER-77", to, 2)
	path := b.trackPathOf(sh)
	b.advance(sh, ship.InTransit, "")
	w := b.send("", path, nil, "Accept-Language", "pt-BR;q=0.2, de-AT, en;q=0.5")
	page := w.Body.String()
	for _, want := range []string{`lang="de"`, "Das Paket ist unterwegs.", "Voraussichtliche Zustellung", "Northwind Supply", "New York, NY, US", sh.Purchase.TrackingNumber, "Dies ist ein Test"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, secret := range []string{"Grace", "Hopper", "Compiler", "350 5th", "4100", "10118", "SECRET-ORDER", string(sh.ID), string(b.owner.ID), "0143", "grace@", "Figueroa", "90015", "Warehouse", sh.Purchase.Price.Amount()} {
		if strings.Contains(page, secret) {
			t.Errorf("the page shows %q", secret)
		}
	}
	h := w.Header()
	if w.Code != http.StatusOK || h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(h.Get("X-Robots-Tag"), "noindex") || h.Get("Set-Cookie") != "" {
		t.Errorf("%d with %v", w.Code, h)
	}
	if w := b.send("", path, nil, "Accept-Language", "de-AT", "If-None-Match", h.Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("unchanged: %d", w.Code)
	}
	b.advance(sh, ship.Delivered, "")
	if page := b.send("", path+"?lang=fr", nil, "Accept-Language", "de").Body.String(); !strings.Contains(page, "Le colis a été livré.") || strings.Contains(page, "data-follows") {
		t.Error("the switch does not speak French, or the page still waits")
	}
}

func TestARecipientIsToldOfDelaysAndVoidsInTheirLanguage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	late, gone := b.buy(b.owner, "1", people[0], 1), b.buy(b.owner, "2", people[0], 1)
	b.advance(late, ship.Exception, "customs_hold")
	_, err := b.web.Shipping.Void(b.Context(), gone.Tenant, gone.ID)
	b.must(err)
	if page := b.send("", b.trackPathOf(late)+"?lang=es", nil).Body.String(); !strings.Contains(page, "Está en la aduana.") {
		t.Error("the reason is not told")
	}
	page := b.send("", b.trackPathOf(gone)+"?lang=pl", nil).Body.String()
	if !strings.Contains(page, "Nadawca anulował tę przesyłkę.") || strings.Contains(page, gone.Purchase.TrackingNumber) {
		t.Error("a voided label is not told as one")
	}
}

func TestNoOtherAddressShowsAParcel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	path := b.trackPathOf(sh)
	wrong := sh.Tenant
	wrong.Livemode = true
	for _, p := range []string{
		"/track/", "/track/x", "/track/" + string(sh.ID), "/track/" + sh.Purchase.TrackingNumber, path + "x", path[:len(path)-1], path + "/", path + "/logo",
		b.web.Tracking.PagePath(wrong, sh.ID), b.web.Tracking.PagePath(sh.Tenant, ship.NewShipmentID(7, time.Now())), path + "/logo/00",
	} {
		w := b.send("", p, nil, "Accept-Language", "it")
		if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), sh.Purchase.TrackingNumber) {
			t.Errorf("%s: %d", p, w.Code)
		}
		if strings.HasPrefix(p, "/track/") && !strings.Contains(p, "logo") && !strings.Contains(w.Body.String(), "Non troviamo questo pacco") {
			t.Errorf("%s does not say so in Italian", p)
		}
	}
}

func TestOneAddressCannotTryManyTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	last := 0
	const burst = 100 // the burst that one address is allowed
	for range burst + 2 {
		last = b.send("", "/track/x", nil).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after %d tries: %d", burst+2, last)
	}
}

// progressiveJPEG is a picture of so many pixels to the side that is drawn in so
// many scans. A scan that changes nothing takes 12 bytes.
func progressiveJPEG(side uint16, scans int) []byte {
	var out bytes.Buffer
	out.WriteString("\xff\xd8\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64))

	// One frame of one component, and a code of one bit for each table: a DC
	// difference of 0, and a run of 16,384 blocks without AC coefficients.
	out.WriteString("\xff\xc2\x00\x0b\x08")
	out.Write([]byte{byte(side >> 8), byte(side), byte(side >> 8), byte(side)})
	out.WriteString("\x01\x01\x11\x00")
	out.WriteString("\xff\xc4\x00\x14\x00\x01" + strings.Repeat("\x00", 15) + "\x00")
	out.WriteString("\xff\xc4\x00\x14\x10\x01" + strings.Repeat("\x00", 15) + "\xe0")

	blocks := int(side+7) / 8 * (int(side+7) / 8)
	out.WriteString("\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00" + strings.Repeat("\x00", blocks/8+1))
	for range scans - 1 {
		out.WriteString("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00" + strings.Repeat("\x00", 2*(blocks/16384+1)))
	}
	out.WriteString("\xff\xd9")
	return out.Bytes()
}

// TestALogoCannotBeABombOfScans sends pictures that fit into the limit of bytes
// and take minutes, or hundreds of megabytes, to decode.
func TestALogoCannotBeABombOfScans(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		file []byte
		says string
	}{
		{progressiveJPEG(1024, 30_000), "more than 40 scans"},
		{progressiveJPEG(1024, 41), "more than 40 scans"},
		{progressiveJPEG(1400, 5), "more than 1 million pixels"},
		{progressiveJPEG(4000, 5), "more than 2 million pixels"},
	} {
		start := time.Now()
		w := b.upload(member.Owner, b.home+"/settings/logo", "logo", tc.file)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%d bytes: %d, want %q", len(tc.file), w.Code, tc.says)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q took %s", tc.says, took)
		}
	}
	if w := b.upload(member.Owner, b.home+"/settings/logo", "logo", progressiveJPEG(1000, 10)); w.Code != http.StatusSeeOther {
		t.Errorf("an ordinary progressive picture: %d", w.Code)
	}
}

func TestALogoIsSetShownAndRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	var file bytes.Buffer
	b.must(png.Encode(&file, image.NewGray(image.Rect(0, 0, 30, 10))))
	for _, tc := range []struct {
		file []byte
		says string
	}{{[]byte("<svg>"), "Is not a PNG or JPEG image."}, {make([]byte, 600<<10), "Is larger than 512 KB"}, {make([]byte, 3<<20), "Is larger than 512 KB"}, {nil, "Choose an image first."}} {
		w := b.upload(member.Owner, b.home+"/settings/logo", "logo", tc.file)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%d bytes: %d, want %q", len(tc.file), w.Code, tc.says)
		}
	}
	if w := b.upload(member.Viewer, b.home+"/settings/logo", "logo", file.Bytes()); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}
	if w := b.upload(member.Owner, b.home+"/settings/logo", "logo", file.Bytes()); w.Code != http.StatusSeeOther {
		t.Fatalf("an owner: %d %s", w.Code, w.Body)
	}
	l, err := b.web.Account.Logo(b.Context(), b.owner.ID)
	b.must(err)
	for _, path := range []string{b.trackPathOf(sh) + "/logo/" + l.Hash, b.home + "/settings/logo/" + l.Hash} {
		w := b.send(member.Owner, path, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/png" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if page := b.send("", b.trackPathOf(sh), nil).Body.String(); !strings.Contains(page, l.Hash) || !strings.Contains(page, `alt="Northwind Supply"`) {
		t.Error("the page does not show the logo")
	}
	other := b.account("Elsewhere")
	theirs := b.buy(other, "1", people[0], 1)
	if w := b.send("", b.trackPathOf(theirs)+"/logo/"+l.Hash, nil); w.Code != http.StatusNotFound {
		t.Errorf("another account's page gives it: %d", w.Code)
	}
	b.send(member.Owner, b.home+"/settings/logo", form("do", "remove"))
	if l, err := b.web.Account.Logo(b.Context(), b.owner.ID); err != nil || l.Hash != "" {
		t.Errorf("after it was removed: %v %v", l, err)
	}
}

func TestNoNameOfAnAccountRunsOnItsPublicPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	for _, bad := range vectors {
		_, err := b.web.Account.Update(b.Context(), b.owner.ID, account.Settings{Name: &bad})
		b.must(err)
		inert(t, bad, b.send("", b.trackPathOf(sh), nil).Body.String())
	}
}

// trackLink is the address of the parcel's page in the dashboard.
var trackLink = regexp.MustCompile(`"` + regexp.QuoteMeta(testBase) + `(/track/[A-Za-z0-9_-]+)"`)

func TestTheLinkOfARecipientEndsAndIsRenewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	first := b.trackPathOf(sh)
	b.advance(sh, ship.Delivered, "")

	// on returns the dashboard as it is some days later.
	on := func(day int) *bench {
		later := *b
		config := b.web.Config
		config.Tracking = tracking.New(tracking.Config{
			Store:    b.store,
			BaseURL:  testBase,
			Log:      config.Log,
			Key:      []byte("0123456789abcdef0123456789abcdef"),
			PagesFor: 90 * 24 * time.Hour,
			Clock:    func() time.Time { return time.Now().Add(time.Duration(day) * 24 * time.Hour) },
		})
		later.web = New(config)
		t.Cleanup(later.web.Stop)
		return &later
	}
	shown := func(b *bench) string {
		t.Helper()
		found := trackLink.FindStringSubmatch(b.send(member.Viewer, b.home+"/shipments/"+string(sh.ID), nil).Body.String())
		if found == nil {
			t.Fatal("the dashboard shows no link")
		}
		return found[1]
	}
	status := func(b *bench, path string) int { return b.send("", path, nil).Code }

	if early := on(89); status(early, first) != http.StatusOK || shown(early) != first {
		t.Error("the link ends before its time")
	}

	late := on(91)
	renewed := shown(late)
	if code := status(late, first); code != http.StatusNotFound {
		t.Errorf("91 days after the delivery the link answers %d", code)
	}
	if code := status(late, first+"/logo/00"); code != http.StatusNotFound {
		t.Errorf("its logo answers %d", code)
	}
	if renewed == first || status(late, renewed) != http.StatusOK {
		t.Errorf("the dashboard shows %s, which answers %d", renewed, status(late, renewed))
	}

	// The renewed link ends too, and neither revives the other.
	if later := on(178); status(later, renewed) != http.StatusOK || status(later, first) != http.StatusNotFound {
		t.Error("the renewed link ends before its time, or the first one works again")
	}
	if last := on(182); status(last, renewed) != http.StatusNotFound || status(last, shown(last)) != http.StatusOK {
		t.Error("the renewed link does not end, or cannot be renewed")
	}
}

func TestWithoutALimitTheLinkOfARecipientWorksForGood(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.web.Config
	config.Tracking = tracking.New(tracking.Config{
		Store:   b.store,
		BaseURL: testBase,
		Log:     config.Log,
		Key:     []byte("0123456789abcdef0123456789abcdef"),
		Clock:   func() time.Time { return time.Now().AddDate(5, 0, 0) },
	})
	sh := b.buy(b.owner, "1", people[0], 1)
	b.advance(sh, ship.Delivered, "")
	pages := New(config)
	t.Cleanup(pages.Stop)
	later := *b
	later.web = pages
	if w := later.send("", b.trackPathOf(sh), nil); w.Code != http.StatusOK {
		t.Errorf("without an end, after five years: %d", w.Code)
	}
}
