package batch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// standIns are the emulators, with what they let in.
var standIns = map[string]struct {
	open  func(*emulator.Ledger) *emulator.Server
	given carrier.Credentials
}{
	"ups":         {ups.New, carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}},
	"usps":        {usps.New, carrier.Credentials{"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID, "account_number": usps.Account}},
	"fedex":       {fedex.New, carrier.Credentials{"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account, "track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret}},
	"dhl_express": {dhlexpress.New, carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account}},
}

// liveBench is the service with live connections to the four stand-ins, over
// real HTTP.
type liveBench struct {
	*bench
	stands   map[string]*emulator.Server
	carriers []*carrier.Carrier
	traffic  *carrierkit.Traffic
}

func newLiveBench(t *testing.T) *liveBench {
	t.Helper()
	b := &liveBench{
		bench:   &bench{T: t, store: storetest.Open(t)},
		stands:  map[string]*emulator.Server{},
		traffic: carrierkit.NewTraffic(carrierkit.TrafficOptions{}),
	}
	for _, spec := range all.Specs {
		if _, ok := standIns[spec.Name]; ok {
			b.carriers = append(b.carriers, b.connect(spec, carrier.Quota{}))
		}
	}
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	b.must(err)
	spool, err := seal.OpenSpool(t.TempDir(), box)
	b.must(err)
	labels, err := label.NewRenderer("")
	b.must(err)
	sellers := carrier.Accounts{
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return b.carriers, nil },
		Connection: func(_ context.Context, _ ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			return b.carriers[slices.IndexFunc(b.carriers, func(c *carrier.Carrier) bool { return c.Connection == id })], nil
		},
	}
	b.quoting = quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte("0123456789abcdef0123456789abcdef"), SoftDeadline: 10 * time.Second})
	b.shipping = shipping.New(shipping.Config{
		Store: b.store, Accounts: sellers, Quoting: b.quoting, Labels: labels, SigningKey: []byte("0123456789abcdef0123456789abcdef"), BaseURL: "http://x", Log: slog.New(slog.DiscardHandler), Spool: spool,
		Waits: shipping.Waits{
			Answer: 2 * time.Second, Settle: 4 * time.Second, Look: 200 * time.Millisecond, Rebuy: time.Minute, Review: time.Hour,
		},
	})
	b.begin()
	b.tenant = ship.Tenant{Account: b.account.ID, Livemode: true}
	return b
}

// connect opens a carrier whose server is its stand-in, with a quota.
func (b *liveBench) connect(spec carrier.Spec, quota carrier.Quota) *carrier.Carrier {
	b.Helper()
	ledger, err := emulator.OpenLedger("")
	b.must(err)
	b.stands[spec.Name] = standIns[spec.Name].open(ledger)
	b.stands[spec.Name].LookupScale = 0
	server := httptest.NewServer(b.stands[spec.Name])
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	path, err := url.Parse(spec.LiveURL)
	b.must(err)
	spec.Quota = quota
	connection := ship.NewConnectionID(7, time.Now())
	c, err := carrier.Open(spec, carrier.Opening{
		Credentials: standIns[spec.Name].given, BaseURL: server.URL + path.Path, Live: true, Via: b.traffic.Doer(spec, string(connection)),
	})
	b.must(err)
	c.Connection = connection
	return c
}

// sold are the numbers that a stand-in sold, and those that are not voided.
func (b *liveBench) sold(name string) (all, alive []string) {
	for _, e := range b.stands[name].Ledger.Entries() {
		if e.Kind == "sold" {
			all, alive = append(all, e.Number), append(alive, e.Number)
		} else {
			alive = slices.DeleteFunc(alive, func(n string) bool { return n == e.Number })
		}
	}
	return all, alive
}

// bought are the shipments of the lines that are bought, in their order, their
// numbers, and those of all their pieces.
func (b *liveBench) bought(id ship.BatchID) (ids []ship.ShipmentID, numbers, pieces []string) {
	b.Helper()
	rows, _, err := b.Rows(b.Context(), b.tenant, id, 0, batch.MaxRows, batch.RowBought)
	b.must(err)
	for _, row := range rows {
		sh, err := b.shipping.Shipment(b.Context(), b.tenant, row.Shipment)
		b.must(err)
		ids, numbers = append(ids, sh.ID), append(numbers, sh.Purchase.TrackingNumber)
		if len(sh.Purchase.Pieces) > 1 {
			pieces = append(pieces, sh.Purchase.Pieces...)
		} else {
			pieces = append(pieces, sh.Purchase.TrackingNumber)
		}
	}
	return ids, numbers, pieces
}

const liveFile = `Order,Recipient,Street,City,State,Zip,Country,Phone,Weight,Length,Width,Height,Carrier,Service,Customs: description,Customs: quantity,Customs: value of one,Customs: HS code,Customs: made in
L-1,Ada Lovelace,500 Main St,Austin,TX,78701,US,2125550100,2.5,10,8,4,UPS,UPS Ground,,,,,
L-2,Grace Hopper,350 5th Ave,New York,NY,10118,US,2125550101,1.5,10,8,4,USPS,,,,,,
L-3,Jean Bartik,1 Main St,Dallas,TX,75201,US,2125550102,3,10,8,4,FedEx,,,,,,
L-4,Konrad Zuse,Friedrichstr 43,Berlin,,10117,DE,+49301234567,2,10,8,4,DHL,,Wooden toys,2,12.50,9503.00,US
L-5,Betty Holberton,7 Elm St,Austin,TX,78701,US,2125550103,2,10,8,4,USPS,,,,,,
L-6,Kay McNulty,9 Elm St,Austin,TX,78701,US,2125550104,4 | 2,10,8,4,FedEx,,,,,,
L-7,Ruth Teitelbaum,11 Elm St,Austin,TX,78701,US,2125550105,4,10,8,4,,,,,,,
`

// TestABatchIsBoughtFromRealCarriers has one line meet a carrier that sells and
// does not answer.
func TestABatchIsBoughtFromRealCarriers(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	id := b.upload(liveFile)
	if got := b.work(id); got.State != batch.Ready || got.Tally.Rows[batch.RowRated] != 7 {
		rows, _, _ := b.Rows(t.Context(), b.tenant, id, 0, 10, batch.RowBad)
		t.Fatalf("%s %+v %+v", got.State, got.Tally, rows)
	}
	b.must(b.stands["ups"].Turn(emulator.Faults{Buy: map[string]float64{"hang": 1}}))
	b.must(b.Buy(t.Context(), b.tenant, id, "zpl", ""))
	got := b.work(id)
	pending := b.pendingLines(id)
	if got.State != batch.Done || got.Tally.Rows[batch.RowFailed] != 0 || len(pending) == 0 || pending[0].Number != 1 || len(got.Tally.Open) != 1 {
		rows, _, _ := b.Rows(t.Context(), b.tenant, id, 0, 10, batch.RowFailed)
		t.Fatalf("%s %+v, pending %+v, failed %+v", got.State, got.Tally, pending, rows)
	}
	for range 3 { // whatever is clicked meanwhile
		if err := b.Buy(t.Context(), b.tenant, id, "zpl", ""); ship.KindOf(err) != ship.Conflict {
			t.Errorf("bought again: %v", err)
		}
		b.must(b.Retry(t.Context(), b.tenant, id))
		b.work(id)
	}
	if _, err := b.Skip(t.Context(), b.tenant, id, 1); ship.KindOf(err) != ship.Conflict {
		t.Errorf("a pending line is skipped: %v", err)
	}
	b.must(b.stands["ups"].Turn(emulator.Faults{}))
	for _, row := range pending {
		b.settleShipment(row.Shipment)
	}
	if again, err := b.Work(t.Context(), b.tenant, id); again != 0 || err != nil {
		t.Fatalf("after it is settled: %v, %v", again, err)
	}
	b.checkLedgers(id)
	b.checkPDF(id)
	b.checkZPL(id)
}

func (b *liveBench) pendingLines(id ship.BatchID) []batch.Row {
	b.Helper()
	rows, _, err := b.Rows(b.Context(), b.tenant, id, 0, 10, batch.RowPending)
	b.must(err)
	return rows
}

// checkLedgers compares what carriers sold with what the batch bought.
func (b *liveBench) checkLedgers(id ship.BatchID) {
	b.Helper()
	_, numbers, _ := b.bought(id)
	if len(numbers) != 7 {
		b.Fatalf("%d lines are bought, want 7", len(numbers))
	}
	var everything []string
	for name := range b.stands {
		sold, alive := b.sold(name)
		if len(sold) != len(alive) {
			b.Errorf("%s sold %v, of which are left %v", name, sold, alive)
		}
		if len(alive) == 0 {
			b.Errorf("%s sold nothing", name)
		}
		everything = append(everything, alive...)
	}
	slices.Sort(everything)
	slices.Sort(numbers)
	if !slices.Equal(everything, numbers) {
		b.Errorf("the carriers sold %v, the batch bought %v", everything, numbers)
	}
}

// checkPDF prints everything, and reads every page with a scanner.
func (b *liveBench) checkPDF(id ship.BatchID) {
	b.Helper()
	ids, _, pieces := b.bought(id)
	pile, err := b.shipping.Labels(b.Context(), b.tenant, ids, label.Options{Format: label.PDF, Size: label.Size4x6, DPI: 203})
	if err != nil || pile.Included != 7 || len(pile.Excluded) > 0 {
		b.Fatalf("%d labels as PDF, left out %v, %v", pile.Included, pile.Excluded, err)
	}
	info := strings.Join(strings.Fields(string(b.run(pile.Data, "pdfinfo", "-"))), " ")
	if !strings.Contains(info, "Pages: 8 ") {
		b.Errorf("a real reader finds other than 8 pages: %s", info)
	}
	for i, number := range pieces {
		page := fmt.Sprint(i + 1)
		b.scans(b.run(pile.Data, "pdftoppm", "-r", "203", "-png", "-f", page, "-l", page, "-"), "PDF page "+page, number)
	}
}

// checkZPL prints everything for a label printer, what DHL sold as PDF too.
func (b *liveBench) checkZPL(id ship.BatchID) {
	b.Helper()
	ids, _, pieces := b.bought(id)
	pile, err := b.shipping.Labels(b.Context(), b.tenant, ids, label.Options{Format: label.ZPL, Size: label.Size4x6, DPI: 203})
	if err != nil || pile.Included != 7 || len(pile.Excluded) > 0 {
		b.Fatalf("%d labels as ZPL, left out %v, %v", pile.Included, pile.Excluded, err)
	}
	check := b.zplcheck()
	for i, number := range pieces {
		n := fmt.Sprint(i + 1)
		b.scans(b.run(pile.Data, check, "-label", n), "ZPL label "+n, number)
	}
}

// zplcheck builds the program that renders ZPL as a printer would.
func (b *liveBench) zplcheck() string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "zplcheck")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../label/zplcheck"
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	if out, err := build.CombinedOutput(); err != nil {
		b.missing("zplcheck", fmt.Errorf("%w: %s", err, out))
	}
	return path
}

// missing skips what a program is needed for, but not in the gate.
func (b *liveBench) missing(program string, err error) {
	b.Helper()
	if os.Getenv("CI") != "" {
		b.Fatalf("%s: %v", program, err)
	}
	b.Skipf("%s: %v", program, err)
}

// run runs a program from standard input to standard output.
func (b *liveBench) run(in []byte, program string, args ...string) []byte {
	b.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		b.missing(program, err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s %v: %v", program, args, err)
	}
	return out
}

// scans reads the bar codes of a picture, one of which holds the number.
func (b *liveBench) scans(picture []byte, what, number string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "label.png")
	b.must(os.WriteFile(path, picture, 0o600))
	if got := string(b.run(nil, "zbarimg", "--nodbus", "-q", "--raw", path)); !strings.Contains(got, number) {
		b.Errorf("%s scans as %q, want %s", what, got, number)
	}
}
