package account

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Finding is one thing that a check of a connection looked at.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"subject"`          // "credentials", "network", "clock", "token", ...
	Message string `json:"says"`             // what was found, without secrets
	Advice  string `json:"advice,omitempty"` // what to do about it
}

// A Level says how bad a finding is.
type Level string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // it works, but not all or not for long
	LevelFail Level = "fail" // it does not work
)

func passed(subject, says string) Finding { return Finding{LevelOK, subject, says, ""} }

func warning(subject, says, advice string) Finding { return Finding{LevelWarn, subject, says, advice} }

func failure(subject, says, advice string) Finding { return Finding{LevelFail, subject, says, advice} }

// Failed reports whether any of the findings is a failure.
func Failed(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Level == LevelFail })
}

// checkTimeout bounds a whole check.
const checkTimeout = 60 * time.Second

// CheckConnection checks all that a connection needs to work, and says how to
// fix what does not. It buys nothing: besides signing in, it asks for a price, has
// the carrier check a purchase that is not made, and tracks a parcel that does not
// exist. The findings are stored with the connection.
func (s *Service) CheckConnection(ctx context.Context, t ship.Tenant, id ship.ConnectionID) ([]Finding, error) {
	row, err := s.store.Connection(ctx, t, id)
	if err != nil {
		return nil, err
	}
	account, err := s.store.Account(ctx, t.Account)
	if err != nil {
		return nil, err
	}

	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	list := (&checkup{Service: s, row: row, account: account}).run(limited)

	result, err := json.Marshal(list)
	if err != nil {
		return list, err
	}
	err = s.store.SetChecked(ctx, t, id, time.Now(), result)

	// The connection is opened anew, so credentials that were refused before
	// are tried again. Other processes follow when they read the list.
	s.lists.Invalidate(t)
	return list, err
}

// checkup is one check under way.
type checkup struct {
	*Service
	row     store.Connection
	account ship.Account
	spec    carrier.Spec
	base    string
	list    []Finding

	credentials carrier.Credentials

	// offer is a service that the carrier quoted for a sample parcel, and the
	// parcel; the zero value if it quoted none.
	offer carrier.BuyOrder

	// refused is the subject of the credentials that the carrier does not
	// accept; empty unless it is certain that it does not.
	refused string
}

func (c *checkup) add(f Finding) { c.list = append(c.list, f) }

// run goes from what everything needs to what few things need, and ends where
// the rest cannot work.
func (c *checkup) run(ctx context.Context) []Finding {
	if !c.readCredentials(ctx) {
		return c.list
	}

	first := &firstAnswer{via: c.viaOf(c.spec, c.row.Tenant, c.row.ID)}
	opened, err := carrier.Open(c.spec, carrier.Opening{
		Credentials: c.credentials,
		BaseURL:     c.base,
		Live:        c.row.Tenant.Livemode,
		Via:         first,
	})
	if err != nil {
		c.add(failure("credentials", describeError(err), "enter them again: waybill connection update "+string(c.row.ID)))
		return c.list
	}

	// A call that did not reach the carrier says nothing about the
	// credentials, so the network is judged before the sign-in.
	err = opened.Check(ctx)
	if !c.judgeNetwork(first) || !c.judgeSignIn(ctx, err) {
		return c.list
	}

	abilities := opened.Abilities()
	if slices.Contains(abilities, "rates") && !c.judgePermission(opened, carrier.OpRates, "rates", "the account can request rates") {
		c.tryRates(ctx, opened)
	}
	if slices.Contains(abilities, "rehearse") {
		c.tryPurchase(ctx, opened)
	}
	if slices.Contains(abilities, "track") && !c.judgePermission(opened, carrier.OpTrack, "tracking", "the account can track parcels") {
		c.tryTracking(ctx, opened)
	}
	if slices.Contains(abilities, "addresses") && !c.judgePermission(opened, carrier.OpCheckAddress, "addresses", "the account can check addresses") {
		c.tryAddresses(ctx, opened)
	}
	return c.list
}

// judgePermission judges an operation by the permissions that the carrier sent
// at sign-in, and reports whether it sent any. If it did not, the caller tries
// the operation.
func (c *checkup) judgePermission(opened *carrier.Carrier, operation carrier.Operation, subject, says string) bool {
	may, known := opened.Permits(operation)
	switch {
	case !known:
		return false
	case may:
		c.add(passed(subject, says))
	default:
		c.add(failure(subject, "the app in the carrier's developer portal lacks the product for "+subject, "add the product for "+subject+" to the app there, then run the check again"))
	}
	return true
}

// readCredentials finds out whether the carrier is known here and the
// credentials can be decrypted. It reports whether the check can go on.
func (c *checkup) readCredentials(ctx context.Context) bool {
	var err error
	if c.spec, err = c.Service.spec(c.row.Carrier); err != nil {
		c.add(failure("carrier", "this version of Waybill does not support the carrier "+c.row.Carrier, "run a version that supports it, or remove the connection"))
		return false
	}
	if c.base, err = c.baseURL(c.spec, c.row.Tenant.Livemode); err != nil {
		c.add(failure("carrier", describeError(err), "remove the connection"))
		return false
	}
	if c.via == nil {
		c.add(failure("carrier", "this instance does not call carriers", "run the check from an instance that does"))
		return false
	}

	if c.credentials, err = c.unseal(ctx, c.row); err != nil {
		advice := "make sure that the key service in SECRET_KMS can be reached from this host and allows Waybill to decrypt"
		if ship.KindOf(err) == ship.Conflict {
			advice = "add the key that they were encrypted with to SECRET_KEY or SECRET_KMS, after the current one; or enter them again: waybill connection update " + string(c.row.ID)
		}
		c.add(failure("credentials", openingProblem(err), advice))
		return false
	}
	if c.wrapper.Old(c.row.WrappedKey) {
		c.add(warning("credentials", "can be decrypted, with an old key", "encrypt them with the current key: waybill secret-key rotate"))
	} else {
		c.add(passed("credentials", "can be decrypted"))
	}

	if !c.row.RemovedAt.IsZero() {
		c.add(warning("connection", "was removed: it is used only for shipments that were bought with it", ""))
	}
	return true
}

// judgeSignIn judges how signing in ended, and reports whether it succeeded.
func (c *checkup) judgeSignIn(ctx context.Context, err error) bool {
	switch ship.KindOf(err) {
	case "":
		c.add(passed("token", c.spec.Title+" accepts the credentials"))
		return true

	case ship.Limited:
		c.add(warning("token", describeError(err), "the account's quota is used up: wait, then run the check again"))

	case ship.Unavailable, ship.Uncertain:
		c.add(failure("token", describeError(err), "run the check again in a few minutes; if it still fails, ask the carrier whether its API is down"))

	case ship.Forbidden, ship.Invalid:
		// Refused credentials may be those of the carrier's other environment,
		// which is a clearer finding than any of the carrier's messages.
		if c.otherModeAccepts(ctx) {
			c.refused = "mode"
			return false
		}
		if isAboutAccount(err) {
			c.refused = "account"
			c.add(failure("account", describeError(err), accountAdvice))
			return false
		}
		c.refused = "token"
		c.add(failure("token", describeError(err), "compare them with "+c.spec.Title+"'s developer portal: "+c.requiredFields()+". Renewing a secret there invalidates the old one. Enter what differs: waybill connection update "+string(c.row.ID)))

	default:
		c.log.ErrorContext(ctx, "connection check", "connection", c.row.ID, "error", err)
		c.add(failure("token", describeError(err), "this is an error in Waybill or at the carrier: see the log"))
	}
	return false
}

// requiredFields returns the titles of what the carrier asks for.
func (c *checkup) requiredFields() string {
	var titles []string
	for _, field := range c.spec.Fields {
		if field.Required {
			titles = append(titles, field.Title)
		}
	}
	return strings.Join(titles, ", ")
}

// otherModeAccepts reports whether the credentials are those of the carrier's
// other environment: of its sandbox for a live connection, or the reverse. If
// so, it adds the finding.
func (c *checkup) otherModeAccepts(ctx context.Context) bool {
	live := c.row.Tenant.Livemode
	other, err := c.baseURL(c.spec, !live)
	if err != nil || other == c.base {
		return false
	}

	opened, err := c.openAt(c.row.Tenant, c.spec, carrier.Opening{Credentials: c.credentials, BaseURL: other, Live: !live}, c.row.ID)
	if err != nil || opened.Check(ctx) != nil {
		return false
	}

	if live {
		c.add(failure("mode", "the connection is live, but these are credentials of "+c.spec.Title+"'s sandbox",
			"enter the production credentials (waybill connection update "+string(c.row.ID)+"), or remove it and add it without --live"))
	} else {
		c.add(failure("mode", "the connection is for tests, but these are production credentials of "+c.spec.Title,
			"enter those of the sandbox (waybill connection update "+string(c.row.ID)+"), or remove it and add it with --live"))
	}
	return true
}

// openingProblem says why a connection cannot be opened.
func openingProblem(err error) string {
	switch ship.CodeOf(err) {
	case "credentials_unreadable":
		return "the credentials cannot be decrypted: their encryption key is not configured, or the stored data was changed"
	case "key_unavailable":
		return "the encryption key of the credentials is not available right now"
	}
	return describeError(err)
}
