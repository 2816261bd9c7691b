package member

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// setupLifetime is how long the link that claims an installation works.
const setupLifetime = 7 * 24 * time.Hour

// SetupNeeded reports whether the installation has no owner yet.
func (s *Service) SetupNeeded(ctx context.Context) (bool, error) {
	claimed, err := s.store.AnyOwner(ctx)
	return !claimed, err
}

// SetupURL creates a link to the page that creates the first owner. It is for
// the operator alone: whoever has it can claim the installation, once. It is
// ship.Conflict with the code "already_set_up" if somebody has.
func (s *Service) SetupURL(ctx context.Context) (string, error) {
	needed, err := s.SetupNeeded(ctx)
	if err != nil {
		return "", err
	}
	if !needed {
		return "", alreadySetUp()
	}

	token, hash := newToken()
	err = s.store.AddCeremony(ctx, store.Ceremony{Hash: hash, Kind: kindSetup, ExpiresAt: s.clock().Add(setupLifetime)})
	return s.base + setupPath + token, err
}

func alreadySetUp() error {
	return ship.Coded(ship.Conflict, "already_set_up", "this installation already has an owner: sign in, or ask for an invitation")
}

// SetupInput is the first owner.
type SetupInput struct {
	Token       string // the one-time token of SetupURL
	AccountName string // of the first account; not needed if there is one already
	Email, Name string
	Password    string
	From        Origin
}

// Setup creates the first owner and signs them in. If there are accounts,
// created by commands, they become the owner of all; otherwise a first one is
// created. Of any number of people who try at once, one succeeds.
func (s *Service) Setup(ctx context.Context, in SetupInput) (SignedIn, error) {
	if err := s.checkSetup(ctx, in.Token); err != nil {
		return SignedIn{}, err
	}
	accounts, err := s.store.Accounts(ctx)
	if err != nil {
		return SignedIn{}, err
	}

	now := s.clock()
	person := store.Person{
		ID:        ship.NewPersonID(now),
		Email:     normalizeEmail(in.Email),
		Name:      strings.TrimSpace(in.Name),
		CreatedAt: now,

		// Only the operator has the link, so the address counts as proved.
		EmailVerifiedAt: now,
	}
	known := []string{person.Email, person.Name, in.AccountName}
	for _, account := range accounts {
		known = append(known, account.Name)
	}
	invalid := append(checkPerson(person.Email, person.Name), checkPassword(in.Password, known...)...)

	var first *ship.Account
	if len(accounts) == 0 {
		shard, err := s.store.NewShard(ctx)
		if err != nil {
			return SignedIn{}, err
		}
		first = &ship.Account{
			ID:       ship.NewAccountID(shard, now),
			Name:     strings.TrimSpace(in.AccountName),
			Units:    ship.DefaultUnits,
			Currency: "USD",
		}
		invalid = append(invalid, checkName("/accountName", first.Name)...)
		accounts = append(accounts, *first)
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return SignedIn{}, err
	}

	if person.PasswordHash, err = s.passwords.hash(ctx, in.Password); err != nil {
		return SignedIn{}, err
	}
	return s.startSession(ctx, person, sessionStart{
		method: "setup",
		from:   in.From,
		prepare: func(tx *store.Store) error {
			return s.claim(ctx, tx, person, in, first, accounts)
		},
	})
}

// checkSetup refuses an invalid token before a password is hashed for it.
func (s *Service) checkSetup(ctx context.Context, token string) error {
	needed, err := s.SetupNeeded(ctx)
	if err != nil {
		return err
	}
	if !needed {
		return alreadySetUp()
	}
	_, err = s.store.Ceremony(ctx, hashOf(token), kindSetup, s.clock())
	return setupTokenError(err)
}

func setupTokenError(err error) error {
	if isKind(err, ship.Gone) {
		return ship.Coded(ship.Forbidden, "setup_token_invalid", "this link is not valid: restart the service to print a new one")
	}
	return err
}

// claim creates the owner in the transaction, unless somebody else has.
func (s *Service) claim(ctx context.Context, tx *store.Store, person store.Person, in SetupInput, first *ship.Account, accounts []ship.Account) error {
	// Of several who set up at once, the lock lets one in; the others find an
	// owner.
	if err := tx.LockClaim(ctx); err != nil {
		return err
	}
	claimed, err := tx.AnyOwner(ctx)
	if err != nil {
		return err
	}
	if claimed {
		return alreadySetUp()
	}

	// Every start of the program prints a link; all of them end with the first
	// that is used.
	if _, err := tx.TakeCeremony(ctx, hashOf(in.Token), kindSetup, s.clock()); err != nil {
		return setupTokenError(err)
	}
	if err := tx.DropCeremonies(ctx, kindSetup, ""); err != nil {
		return err
	}

	if first != nil {
		if err := tx.AddAccount(ctx, *first); err != nil {
			return err
		}
	}
	if err := tx.AddPerson(ctx, person); err != nil {
		return err
	}
	for _, account := range accounts {
		if err := tx.AddMember(ctx, account.ID, person.ID, string(Owner), person.CreatedAt); err != nil {
			return err
		}
	}
	return s.auditAll(ctx, tx, Actor{Person: personOf(person), From: in.From}, Entry{Action: "account.claimed", Target: string(person.ID)})
}

// normalizeEmail returns an e-mail in the form in which it is compared.
func normalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// checkPerson returns what is invalid in an e-mail and a name.
func checkPerson(email, name string) []ship.FieldError {
	return append(checkEmail(email), checkName("/name", name)...)
}

// checkEmail is lenient: only sending a mail would show whether it arrives.
func checkEmail(email string) []ship.FieldError {
	local, domain, found := strings.Cut(email, "@")
	isForbidden := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>()[],;:\"`, r)
	}

	hasHost := strings.Contains(strings.Trim(domain, "."), ".") || domain == "localhost"
	if !found || local == "" || !hasHost || strings.Contains(domain, "@") ||
		len(email) > 254 || !utf8.ValidString(email) || strings.ContainsFunc(email, isForbidden) {
		return []ship.FieldError{{Pointer: "/email", Code: "invalid", Detail: "must be an e-mail address such as ada@example.com"}}
	}
	return nil
}

const maxName = 100

// checkName returns what is invalid in a name.
func checkName(pointer, name string) []ship.FieldError {
	isForbidden := func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Bidi_Control)
	}

	switch {
	case name == "":
		return []ship.FieldError{{Pointer: pointer, Code: "required", Detail: "is required"}}
	case utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, isForbidden):
		return []ship.FieldError{{Pointer: pointer, Code: "invalid", Detail: "is too long or contains unprintable characters"}}
	}
	return nil
}
