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

// setupFor is how long the link that claims an installation works.
const setupFor = 7 * 24 * time.Hour

// SetupNeeded reports whether nobody owns anything here yet.
func (s *Service) SetupNeeded(ctx context.Context) (bool, error) {
	claimed, err := s.store.AnyOwner(ctx)
	return !claimed, err
}

// SetupURL makes a link to the page that makes the first owner. It is for the
// operator's eyes: whoever has it can claim the installation, once. It is
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
	err = s.store.AddCeremony(ctx, store.Ceremony{Hash: hash, Kind: kindSetup, ExpiresAt: s.clock().Add(setupFor)})
	return s.base + setupPath + token, err
}

func alreadySetUp() error {
	return ship.Coded(ship.Conflict, "already_set_up", "this installation has an owner: sign in, or ask for an invitation")
}

// SetupInput makes the first owner.
type SetupInput struct {
	Token       string // the one-time token of SetupURL
	AccountName string // of the first account; not needed if there is one already
	Email, Name string
	Password    string
	From        Origin
}

// Setup makes the first owner and signs them in. If there are accounts, made
// by commands, they become the owner of all; otherwise a first one is made.
// Of any number of people who try at once, one succeeds.
func (s *Service) Setup(ctx context.Context, in SetupInput) (SignedIn, error) {
	if err := s.checkSetup(ctx, in.Token); err != nil {
		return SignedIn{}, err
	}
	accounts, err := s.store.Accounts(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	now := s.clock()
	p := store.Person{ID: ship.NewPersonID(now), Email: tidyEmail(in.Email), Name: strings.TrimSpace(in.Name), CreatedAt: now}
	wrong := append(checkPerson(p.Email, p.Name), checkPassword(in.Password, p.Email, p.Name)...)
	var first *ship.Account
	if len(accounts) == 0 {
		shard, err := s.store.NewShard(ctx)
		if err != nil {
			return SignedIn{}, err
		}
		first = &ship.Account{ID: ship.NewAccountID(shard, now), Name: strings.TrimSpace(in.AccountName), Units: ship.DefaultUnits, Currency: "USD"}
		wrong = append(wrong, checkName("/accountName", first.Name)...)
		accounts = append(accounts, *first)
	}
	if err := ship.InvalidFields(wrong); err != nil {
		return SignedIn{}, err
	}
	if p.PasswordHash, err = s.passwords.hash(ctx, in.Password); err != nil {
		return SignedIn{}, err
	}
	return s.begin(ctx, p, opening{method: "setup", from: in.From, also: func(tx *store.Store) error {
		return s.claim(ctx, tx, p, in, first, accounts)
	}})
}

// checkSetup tells a wrong token before anything is worked out for it.
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
		return ship.Coded(ship.Forbidden, "setup_token_invalid", "this link is not valid: the program prints a new one when it starts")
	}
	return err
}

// claim makes the owner in the transaction, unless somebody else has.
func (s *Service) claim(ctx context.Context, tx *store.Store, p store.Person, in SetupInput, first *ship.Account, accounts []ship.Account) error {
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
	if err := tx.AddPerson(ctx, p); err != nil {
		return err
	}
	for _, a := range accounts {
		if err := tx.AddMember(ctx, a.ID, p.ID, string(Owner), p.CreatedAt); err != nil {
			return err
		}
	}
	return s.tellAll(ctx, tx, Actor{Person: personOf(p), From: in.From}, Entry{Action: "account.claimed", Target: string(p.ID)})
}

// tidyEmail is an e-mail as it is compared.
func tidyEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// checkPerson says what is wrong with an e-mail and a name.
func checkPerson(email, name string) []ship.FieldError {
	return append(checkEmail(email), checkName("/name", name)...)
}

// checkEmail is loose: whether mail arrives is the sender's to find out.
func checkEmail(email string) []ship.FieldError {
	local, domain, found := strings.Cut(email, "@")
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>()[],;:\"`, r)
	}
	if !found || local == "" || !strings.Contains(strings.Trim(domain, "."), ".") && domain != "localhost" || strings.Contains(domain, "@") ||
		len(email) > 254 || !utf8.ValidString(email) || strings.ContainsFunc(email, odd) {
		return []ship.FieldError{{Pointer: "/email", Code: "invalid", Detail: "is not an e-mail address"}}
	}
	return nil
}

const maxName = 100

func checkName(pointer, name string) []ship.FieldError {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Bidi_Control)
	}
	switch {
	case name == "":
		return []ship.FieldError{{Pointer: pointer, Code: "required", Detail: "is required"}}
	case utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, odd):
		return []ship.FieldError{{Pointer: pointer, Code: "invalid", Detail: "is too long or has characters that cannot be printed"}}
	}
	return nil
}
