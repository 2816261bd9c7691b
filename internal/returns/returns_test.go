package returns

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// bench is the service over a database of its own and the simulated carriers.
type bench struct {
	*testing.T
	*Service
	store    *store.Store
	shipping *shipping.Service
	account  ship.Account
	tenant   ship.Tenant

	mu    sync.Mutex
	mails []string
	after func(Bought, error) (Bought, error) // what becomes of the answer of a purchase
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, store: storetest.Open(t)}
	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		b.must(err)
		carriers = append(carriers, c)
	}
	labels, err := label.NewRenderer("")
	b.must(err)
	sellers := carrier.Accounts{Simulated: carriers}
	key := []byte("0123456789abcdef0123456789abcdef")
	log := slog.New(slog.DiscardHandler)
	b.shipping = shipping.New(shipping.Config{
		Store:      b.store,
		Accounts:   sellers,
		Quoting:    quoting.New(quoting.Config{Accounts: sellers, SigningKey: key}),
		Labels:     labels,
		SigningKey: key,
		BaseURL:    "http://x",
		Waits:      shipping.DefaultWaits,
		Log:        log,
	})
	b.account, err = account.New(b.store).Create(t.Context(), account.Settings{Name: new("Northwind")})
	b.must(err)
	b.tenant = ship.Tenant{Account: b.account.ID}
	b.addMember("ada@example.com")

	b.Service = New(Config{
		Store: b.store,
		Log:   log,
		Buy:   b.buyLabel,
		LabelLink: func(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (string, time.Time, error) {
			link, err := b.shipping.LabelLink(ctx, t, id, label.PDF, time.Hour)
			return "http://x/v1/labels/" + string(id) + ".pdf", link.ExpiresAt, err
		},
		PageURL: func(context.Context, ship.Shipment) (string, error) { return "http://x/track/t/return", nil },
		Sender:  func(context.Context, ship.AccountID) (string, error) { return b.account.Name, nil },
		Mail: func(_ context.Context, to []string, subject, text string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.mails = append(b.mails, strings.Join(to, ",")+"\n"+subject+"\n"+text)
			return nil
		},
	})
	return b
}

// buyLabel buys a return as the program does.
func (b *bench) buyLabel(ctx context.Context, p Purchase) (Bought, error) {
	bought, err := b.shipping.Return(ctx, shipping.ReturnInput{
		Shipment: p.Shipment,
		BuyInput: shipping.BuyInput{
			Tenant:         p.Tenant,
			Account:        b.account,
			Carrier:        p.Carrier,
			Service:        p.Service,
			MaxAmount:      p.MaxAmount,
			IdempotencyKey: p.Key,
			Fingerprint:    p.Fingerprint,
		},
	})
	out := Bought{Shipment: bought.Shipment.ID, Pending: bought.Pending}
	if b.after != nil {
		return b.after(out, err)
	}
	return out, err
}

// addMember adds a member of the account, whose address is proved: in test mode, mail
// goes to nobody else.
func (b *bench) addMember(email string) {
	b.Helper()
	person := store.Person{
		ID:              ship.NewPersonID(time.Now()),
		Email:           email,
		EmailVerifiedAt: time.Now(),
		CreatedAt:       time.Now(),
	}
	b.must(b.store.AddPerson(b.Context(), person))
	b.must(b.store.AddMember(b.Context(), b.account.ID, person.ID, "owner", time.Now()))
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// allow saves the default rule, enabled and as change has it.
func (b *bench) allow(change func(*ship.ReturnRule)) {
	b.Helper()
	rule := ship.DefaultReturnRule()
	rule.Enabled = true
	change(&rule)
	_, err := b.SaveRule(b.Context(), b.tenant, rule)
	b.must(err)
}

// delivered buys a shipment whose parcel was delivered yesterday.
func (b *bench) delivered() Parcel {
	b.Helper()
	bought, err := b.shipping.Buy(b.Context(), shipping.BuyInput{
		Tenant:  b.tenant,
		Account: b.account,
		Order: ship.Order{
			OrderID:     "order-1",
			Origin:      ship.Address{Name: "Warehouse", Address1: "1201 S Figueroa St", City: "Los Angeles", State: "CA", Zip: "90015", Country: "US", Phone: "+12135550100"},
			Destination: ship.Address{Name: "Ada Lovelace", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701-1234", Country: "US", Phone: "+15125550100"},
			Parcels:     []ship.Parcel{{Weight: 2, WeightUnit: ship.Pound}},
		},
		OneParcel: true,
	})
	b.must(err)
	parcel := Parcel{Shipment: bought.Shipment, Scans: []ship.Scan{{Status: ship.Delivered, At: time.Now().AddDate(0, 0, -1)}}}
	parcel.Shipment.Progress.Status = ship.Delivered
	return parcel
}

func askFor(parcel Parcel) Ask {
	return Ask{
		Parcel:   parcel,
		Proof:    "78701",
		Reason:   "Wrong size",
		Items:    "The blue jacket",
		Comment:  "Too small.\nSorry!",
		Email:    "ada@example.com",
		Language: "de",
	}
}

func (b *bench) state(id ship.ReturnRequestID) ship.ReturnRequest {
	b.Helper()
	request, err := b.Request(b.Context(), b.tenant, id)
	b.must(err)
	return request
}

// TestAReturnIsBoughtOnce: however often the form is sent at once, and whatever dies
// after the purchase, there is one request and one label.
func TestAReturnIsBoughtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(rule *ship.ReturnRule) { rule.Approval = ship.ApprovalAutomatic })
	parcel := b.delivered()

	ids := make(chan ship.ReturnRequestID, 4)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			request, err := b.Ask(context.Background(), askFor(parcel))
			if err != nil {
				t.Error(err)
			}
			ids <- request.ID
		})
	}
	wg.Wait()
	id := <-ids
	for range 3 {
		if other := <-ids; other != id {
			t.Errorf("two requests of one parcel: %s and %s", id, other)
		}
	}

	// Two workers die after the purchase, and two more run at once.
	b.after = func(Bought, error) (Bought, error) { return Bought{}, errors.New("the process died") }
	for range 2 {
		if _, err := b.Fulfil(t.Context(), b.tenant, id); err == nil {
			t.Error("a lost answer is no error")
		}
	}
	b.after = func(bought Bought, err error) (Bought, error) { return bought, err }
	for range 2 {
		wg.Go(func() { _, _ = b.Fulfil(context.Background(), b.tenant, id) })
	}
	wg.Wait()

	request := b.state(id)
	if request.State != ship.ReturnLabelSent || request.MailedAt.IsZero() || request.Comment != "Too small. Sorry!" || request.Approval != "automatic" {
		t.Errorf("the request is %+v", request)
	}
	bought, err := b.shipping.Returns(t.Context(), b.tenant, parcel.Shipment.ID)
	if err != nil || len(bought) != 1 || bought[0] != request.Return {
		t.Errorf("returns %v, %v; want %s alone", bought, err, request.Return)
	}
	if len(b.mails) == 0 || !strings.Contains(b.mails[0], "Ihr Rücksendeetikett von Northwind") || !strings.Contains(b.mails[0], string(request.Return)) {
		t.Errorf("mails: %q", b.mails)
	}
	if again, err := b.Ask(t.Context(), askFor(parcel)); err != nil || again.ID != id {
		t.Errorf("asked again: %s, %v", again.ID, err)
	}
}

func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(*ship.ReturnRule) {})
	request, err := b.Ask(t.Context(), askFor(b.delivered()))
	if err != nil || request.State != ship.ReturnRequested {
		t.Fatal(request, err)
	}
	if _, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil || b.state(request.ID).Return != "" {
		t.Errorf("bought without approval, %v", err)
	}

	if _, err := b.Deny(t.Context(), b.tenant, request.ID, " "); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("denied without a reason: %v", err)
	}
	denied, err := b.Deny(t.Context(), b.tenant, request.ID, "It was worn.")
	if err != nil || denied.State != ship.ReturnDenied || denied.Denial != "It was worn." {
		t.Fatal(denied, err)
	}

	// The recipient is notified once.
	for range 2 {
		if again, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil || again != 0 {
			t.Fatal(again, err)
		}
	}
	if len(b.mails) != 1 || !strings.Contains(b.mails[0], "http://x/track/t/return") || strings.Contains(b.mails[0], "It was worn.") || b.state(request.ID).MailedAt.IsZero() {
		t.Errorf("mails of the denial: %q", b.mails)
	}

	// Somebody changes their mind, and nobody can after the label is sent.
	if _, err := b.Approve(t.Context(), b.tenant, request.ID, ship.Spender{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Approve(t.Context(), b.tenant, request.ID, ship.Spender{}); ship.CodeOf(err) != "return_request_decided" {
		t.Errorf("approved twice: %v", err)
	}
	if again, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil || again != 0 {
		t.Fatal(again, err)
	}
	if got := b.state(request.ID); got.State != ship.ReturnLabelSent || got.Denial != "" {
		t.Errorf("%+v", got)
	}
	if _, err := b.Deny(t.Context(), b.tenant, request.ID, "No"); ship.CodeOf(err) != "return_request_decided" {
		t.Errorf("denied after the label was sent: %v", err)
	}
	if _, err := b.Approve(t.Context(), ship.Tenant{Account: b.account.ID, Livemode: true}, request.ID, ship.Spender{}); ship.KindOf(err) != ship.NotFound {
		t.Errorf("approved in the other mode: %v", err)
	}
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	parcel := b.delivered()
	if offer, err := b.Returnable(t.Context(), parcel); err != nil || offer.Reason != NotOffered {
		t.Errorf("without a rule: %q, %v", offer.Reason, err)
	}
	b.allow(func(rule *ship.ReturnRule) { rule.Days = 14 })

	for name, change := range map[string]func(*Ask){
		"not_returnable before the delivery": func(a *Ask) { a.Shipment.Progress.Status = ship.OutForDelivery },
		"not_returnable after the window":    func(a *Ask) { a.Scans = []ship.Scan{{Status: ship.Delivered, At: time.Now().AddDate(0, 0, -16)}} },
		"not_returnable if it is a return":   func(a *Ask) { a.Shipment.Order.IsReturn = true },
		"not_returnable after an erasure":    func(a *Ask) { a.Shipment.IsErased = true },
		"validation_failed /postalCode":      func(a *Ask) { a.Proof = "78702" },
		"validation_failed /reason":          func(a *Ask) { a.Reason = "<b>none of yours</b>" },
		"validation_failed /email":           func(a *Ask) { a.Email = "ada@example.com, bob@example.com" },
		"validation_failed /comment":         func(a *Ask) { a.Comment = strings.Repeat("ä", ship.MaxReturnComment+1) },
		"validation_failed /items":           func(a *Ask) { a.Items = "\u202eevil" },
	} {
		in := askFor(parcel)
		change(&in)
		_, err := b.Ask(t.Context(), in)
		code, field, _ := strings.Cut(name, " ")
		coded, ok := errors.AsType[*ship.Error](err)
		if !ok || coded.Code != code || strings.HasPrefix(field, "/") && (len(coded.Fields) != 1 || coded.Fields[0].Pointer != field) {
			t.Errorf("%s: %v", name, err)
		}
	}

	offer, err := b.Returnable(t.Context(), parcel)
	if err != nil || offer.Reason != "" || time.Until(offer.Until) < 12*24*time.Hour {
		t.Errorf("until %s, %q, %v", offer.Until, offer.Reason, err)
	}
	_, err = b.shipping.Return(t.Context(), shipping.ReturnInput{Shipment: parcel.Shipment.ID, BuyInput: shipping.BuyInput{Tenant: b.tenant, Account: b.account}})
	b.must(err)
	if _, err := b.Ask(t.Context(), askFor(parcel)); ship.CodeOf(err) != "not_returnable" {
		t.Errorf("beside the account's own return: %v", err)
	}
	if list, err := b.Requests(t.Context(), b.tenant, "", ship.Page{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("%d requests were stored, %v", len(list), err)
	}
}

// TestAPurchaseFailsOnlyIfNothingWasBought: a label over the limit fails and can be
// approved again; an answer about now does not hide a label that was bought before.
func TestAPurchaseFailsOnlyIfNothingWasBought(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(rule *ship.ReturnRule) { rule.MaxAmount = ship.Money{Minor: 1, Currency: "USD"} })
	request, err := b.Ask(t.Context(), askFor(b.delivered()))
	b.must(err)
	fulfil := func() ship.ReturnRequest {
		t.Helper()
		_, err := b.Fulfil(t.Context(), b.tenant, request.ID)
		b.must(err)
		return b.state(request.ID)
	}
	approve := func() {
		t.Helper()
		_, err := b.Approve(t.Context(), b.tenant, request.ID, ship.Spender{})
		b.must(err)
	}

	approve()
	if got := fulfil(); got.State != ship.ReturnFailed || got.ErrorCode == "" || got.ErrorMessage == "" || got.Return != "" {
		t.Fatalf("over the limit: %+v", got)
	}

	// The label is bought, the answer is lost, and the key is revoked meanwhile.
	b.allow(func(*ship.ReturnRule) {})
	approve()
	b.after = func(Bought, error) (Bought, error) {
		return Bought{}, ship.Coded(ship.Forbidden, "invalid_api_key", "the API key no longer exists")
	}
	got := fulfil()
	if got.State != ship.ReturnLabelSent || got.Return == "" || got.ErrorCode != "" {
		t.Errorf("a label that was bought: %+v", got)
	}
}

// TestMailIsTriedForADay: the recipient gets the label on the page if their mail
// server takes none.
func TestMailIsTriedForADay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(rule *ship.ReturnRule) { rule.Approval = ship.ApprovalAutomatic })
	request, err := b.Ask(t.Context(), askFor(b.delivered()))
	b.must(err)
	b.Mail = func(context.Context, []string, string, string) error { return errors.New("no such mailbox") }

	if again, err := b.Fulfil(t.Context(), b.tenant, request.ID); err == nil || again == 0 {
		t.Errorf("not tried again: %s, %v", again, err)
	}
	b.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	if _, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil {
		t.Fatal(err)
	}
	got := b.state(request.ID)
	if got.State != ship.ReturnLabelSent || !got.MailedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if link, err := b.Label(t.Context(), got); err != nil || !strings.Contains(link, string(got.Return)) {
		t.Errorf("the page has %q, %v", link, err)
	}
}

// TestTheProofIsWhatTheOrderHas: the postal code, the phone number, or the e-mail
// address; a parcel without any of them is not returned on its page.
func TestTheProofIsWhatTheOrderHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(*ship.ReturnRule) {})
	parcel := b.delivered()
	destination := &parcel.Shipment.Order.Destination

	for _, test := range []struct {
		zip, phone, email string
		proof             Proof
		right, wrong      string
	}{
		{"78701-1234", "+15125550100", "ada@example.com", ProofPostalCode, "78701", "78702"},
		{"00000", "+852 2123 4567", "ada@example.com", ProofPhone, "+852 2123 4567", "4568"},
		{"-", "2123-4567", "", ProofPhone, "4567", ""},
		{"", "911", "Ada@Example.com", ProofEmail, "ada@example.com ", "thief@elsewhere.test"},
		{"", "", "", "", "", ""},
	} {
		destination.Zip = test.zip
		destination.Phone = test.phone
		destination.Email = test.email
		if proof := ProofOf(parcel.Shipment); proof != test.proof {
			t.Errorf("%+v: the proof is %q", test, proof)
		}
		if err := b.Prove(t.Context(), parcel.Shipment, test.wrong); err == nil {
			t.Errorf("%+v: %q is a proof", test, test.wrong)
		}
		if err := b.Prove(t.Context(), parcel.Shipment, test.right); (err == nil) != (test.proof != "") {
			t.Errorf("%+v: %q: %v", test, test.right, err)
		}
	}

	offer, err := b.Returnable(t.Context(), parcel)
	if err != nil || offer.Reason != NotOffered {
		t.Errorf("without a proof: %q, %v", offer.Reason, err)
	}
	if _, err := b.Ask(t.Context(), askFor(parcel)); ship.CodeOf(err) != "not_returnable" {
		t.Errorf("asked without a proof: %v", err)
	}
}

// TestWrongProofsAreFew: the count is that of the shipment, over all copies, and a
// quiet day does not clear it.
func TestWrongProofsAreFew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	parcel := b.delivered()
	start := time.Now()
	copies := []*Service{b.Service, New(b.Config)}

	compared := 0
	for hour := range 7 * 24 {
		now := start.Add(time.Duration(hour) * time.Hour)
		for i := range 10 {
			service := copies[i%2]
			service.now = func() time.Time { return now }
			if err := service.Prove(t.Context(), parcel.Shipment, "00000"); ship.KindOf(err) == ship.Invalid {
				compared++
			}
		}
		b.must(b.store.SweepSignIns(t.Context(), now, now, now.Add(-24*time.Hour)))
	}
	if compared != 9 {
		t.Errorf("%d wrong codes were compared in a week, want 9", compared)
	}
	if err := b.Prove(t.Context(), parcel.Shipment, "78701"); ship.KindOf(err) != ship.Limited {
		t.Errorf("the right code while the shipment is blocked: %v", err)
	}
}

// TestAnAccountCannotMailStrangers: in test mode it mails its members alone, and in
// live mode it mails other addresses than those of its orders as rarely as it invites.
func TestAnAccountCannotMailStrangers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allow(func(*ship.ReturnRule) {})
	ask := askFor(b.delivered())
	ask.Email = "victim@elsewhere.test"
	request, err := b.Ask(t.Context(), ask)
	b.must(err)

	_, err = b.Deny(t.Context(), b.tenant, request.ID, "Your parcel is held. Pay at https://evil.example/pay")
	b.must(err)
	if again, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil || again != 0 {
		t.Error(again, err)
	}
	_, err = b.Approve(t.Context(), b.tenant, request.ID, ship.Spender{})
	b.must(err)
	if again, err := b.Fulfil(t.Context(), b.tenant, request.ID); err != nil || again != 0 {
		t.Error(again, err)
	}
	if got := b.state(request.ID); len(b.mails) != 0 || got.State != ship.ReturnLabelSent || !got.MailedAt.IsZero() {
		t.Errorf("mails to a stranger in test mode: %q, %+v", b.mails, got)
	}

	sent := 0
	for range 100 {
		if b.countMail(t.Context(), request, "ada@example.com") == nil {
			sent++
		}
	}
	if sent < 10 || sent > 40 {
		t.Errorf("%d mails to strangers at once", sent)
	}
	if err := b.countMail(t.Context(), request, request.Email); err != nil {
		t.Errorf("the address of the order: %v", err)
	}
}

// TestEveryLanguageHasItsLetter compares the placeholders with the English mail.
func TestEveryLanguageHasItsLetter(t *testing.T) {
	t.Parallel()
	for language, text := range letters {
		for _, field := range []string{"{sender}", "{link}", "{day}", "{page}"} {
			if strings.Count(text.Body, field) != 1 {
				t.Errorf("%s has %s %d times", language, field, strings.Count(text.Body, field))
			}
		}
	}
	for language := range letters {
		subject, text := denial(language, "Northwind", "http://x/track/t/return")
		if !strings.Contains(subject, "Northwind") || !strings.Contains(text, "http://x/track/t/return") || strings.Contains(text, "{") {
			t.Errorf("%s: %s\n%s", language, subject, text)
		}
	}
}
