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
	Says    string `json:"says"`             // what was found, without secrets
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

func found(subject, says string) Finding { return Finding{LevelOK, subject, says, ""} }

func doubt(subject, says, advice string) Finding { return Finding{LevelWarn, subject, says, advice} }

func fault(subject, says, advice string) Finding { return Finding{LevelFail, subject, says, advice} }

// Failed reports whether any of the findings is a failure.
func Failed(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Level == LevelFail })
}

// checkTimeout bounds a whole check.
const checkTimeout = 60 * time.Second

// CheckConnection looks at all that a connection needs to work, and says what
// to do about what is wrong. It buys nothing: besides signing in, it asks for a
// price and for a parcel that does not exist. What it finds is kept with the
// connection.
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
	return list, s.store.SetChecked(ctx, t, id, time.Now(), result)
}

// checkup is one check under way.
type checkup struct {
	*Service
	row     store.Connection
	account ship.Account
	spec    carrier.Spec
	base    string
	given   carrier.Credentials
	list    []Finding
	refused string // subject of the credentials that the carrier does not take; empty if it may
}

func (c *checkup) add(f Finding) { c.list = append(c.list, f) }

// run goes from what everything needs to what few things need, and ends where
// the rest cannot work.
func (c *checkup) run(ctx context.Context) []Finding {
	if !c.credentials(ctx) {
		return c.list
	}

	way := &watch{via: c.via(c.spec, string(c.row.ID))}
	opened, err := carrier.Open(c.spec, carrier.Opening{
		Credentials: c.given,
		BaseURL:     c.base,
		Live:        c.row.Tenant.Livemode,
		Via:         way,
	})
	if err != nil {
		c.add(fault("credentials", saysOf(err), "enter them again: waybill connection update "+string(c.row.ID)))
		return c.list
	}

	err = opened.Check(ctx)
	if !c.network(way) || !c.token(ctx, err) {
		return c.list
	}

	can := opened.Abilities()
	if slices.Contains(can, "rates") && !c.permitted(opened, carrier.OpRates, "rates", "the account may ask for prices") {
		c.rates(ctx, opened)
	}
	if slices.Contains(can, "track") && !c.permitted(opened, carrier.OpTrack, "tracking", "the account may ask for parcels") {
		c.tracking(ctx, opened)
	}
	return c.list
}

// permitted judges an operation by the permissions that the carrier sent at
// sign-in, and reports whether it sent any. If it did not, the caller tries the
// operation.
func (c *checkup) permitted(opened *carrier.Carrier, op carrier.Operation, subject, says string) bool {
	may, known := opened.Permits(op)
	switch {
	case !known:
		return false
	case may:
		c.add(found(subject, says))
	default:
		c.add(fault(subject, "the app in the carrier's developer portal lacks the product for "+subject, "add the product for "+subject+" to the app there, and check again"))
	}
	return true
}

// credentials finds out whether they can be read and are complete.
func (c *checkup) credentials(ctx context.Context) bool {
	var err error
	if c.spec, err = c.Service.spec(c.row.Carrier); err != nil {
		c.add(fault("carrier", "this program does not know the carrier "+c.row.Carrier, "run a version of it that does, or remove the connection"))
		return false
	}
	if c.base, err = c.baseURL(c.spec, c.row.Tenant.Livemode); err != nil {
		c.add(fault("carrier", saysOf(err), "remove the connection"))
		return false
	}
	if c.via == nil {
		c.add(fault("carrier", "there is no way to carriers here", "check from a copy of the program that has one"))
		return false
	}
	if c.given, err = c.unseal(ctx, c.row); err != nil {
		advice := "see whether the key service of SECRET_KMS can be reached from here and allows this program to decrypt"
		if ship.KindOf(err) == ship.Conflict {
			advice = "give SECRET_KEY or SECRET_KMS the key that they were encrypted with, behind the present one; or enter them again: waybill connection update " + string(c.row.ID)
		}
		c.add(fault("credentials", problemOf(err), advice))
		return false
	}
	if c.wrapper.Old(c.row.WrappedKey) {
		c.add(doubt("credentials", "can be decrypted, with an old key", "bring them under the present one: waybill connection rotate"))
	} else {
		c.add(found("credentials", "can be decrypted"))
	}
	if !c.row.RemovedAt.IsZero() {
		c.add(doubt("connection", "was removed: it only serves what was bought through it", ""))
	}
	return true
}

// token judges how signing in ended. Credentials that are refused may be those
// of the carrier's other side.
func (c *checkup) token(ctx context.Context, err error) bool {
	switch ship.KindOf(err) {
	case "":
		c.add(found("token", c.spec.Title+" accepts the credentials"))
		return true
	case ship.Limited:
		c.add(doubt("token", saysOf(err), "wait and check again: the account's quota is used up"))
	case ship.Unavailable, ship.Uncertain:
		c.add(fault("token", saysOf(err), "check again in a few minutes; if it stays so, ask the carrier whether its API is down"))
	case ship.Forbidden, ship.Invalid:
		if c.mixedUp(ctx) {
			c.refused = "mode"
			return false
		}
		if ofAccount(err) {
			c.refused = "account"
			c.add(fault("account", saysOf(err), accountAdvice))
			return false
		}
		c.refused = "token"
		c.add(fault("token", saysOf(err), "compare them with "+c.spec.Title+"'s developer portal: "+c.fields()+". A secret that was renewed there ends the old one. Enter what differs: waybill connection update "+string(c.row.ID)))
	default:
		c.log.ErrorContext(ctx, "connection check", "connection", c.row.ID, "error", err)
		c.add(fault("token", saysOf(err), "this is a fault of the program or of the carrier: look at the log"))
	}
	return false
}

// fields names what the carrier asks for.
func (c *checkup) fields() string {
	var titles []string
	for _, f := range c.spec.Fields {
		if f.Required {
			titles = append(titles, f.Title)
		}
	}
	return strings.Join(titles, ", ")
}

// mixedUp reports whether the credentials are those of the carrier's other
// side: of its sandbox for a live connection, or the reverse.
func (c *checkup) mixedUp(ctx context.Context) bool {
	live := c.row.Tenant.Livemode
	other, err := c.baseURL(c.spec, !live)
	if err != nil || other == c.base {
		return false
	}
	opened, err := c.openAt(c.row.Tenant, c.spec, carrier.Opening{Credentials: c.given, BaseURL: other, Live: !live}, c.row.ID)
	if err != nil || opened.Check(ctx) != nil {
		return false
	}
	if live {
		c.add(fault("mode", "the connection is live, and these are credentials of "+c.spec.Title+"'s sandbox",
			"enter the production credentials (waybill connection update "+string(c.row.ID)+"), or remove it and add it without --live"))
	} else {
		c.add(fault("mode", "the connection is for tests, and these are production credentials of "+c.spec.Title,
			"enter those of the sandbox (waybill connection update "+string(c.row.ID)+"), or remove it and add it with --live"))
	}
	return true
}

// problemOf says why a connection cannot be opened.
func problemOf(err error) string {
	switch ship.CodeOf(err) {
	case "credentials_unreadable":
		return "the credentials cannot be decrypted: their key is not here, or the row was changed"
	case "key_unavailable":
		return "the key of the credentials cannot be used now"
	}
	return saysOf(err)
}
