package member

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An e-mail address is one person in all accounts, so it must be theirs. It is
// proved by a link that was mailed to the address or that the operator has given
// out, or by an identity provider that vouches for it. An owner who invites
// somebody without a mail server sees the link, and could accept it in their
// name: such a person is unverified, is a member of that account alone, and
// loses everything they could sign in with as soon as somebody proves the address.

// claimEmail makes the person, whom the transaction has locked, the one whose
// address it is. What somebody could sign in with before goes, because whoever
// set it had not proved the address.
func (s *Service) claimEmail(ctx context.Context, tx *store.Store, a Actor) error {
	if err := tx.DropWaysIn(ctx, a.Person.ID); err != nil {
		return err
	}
	if err := tx.DropSecondFactors(ctx, a.Person.ID); err != nil {
		return err
	}
	if err := tx.VerifyEmail(ctx, a.Person.ID, s.clock()); err != nil {
		return err
	}
	return s.auditAll(ctx, tx, a, Entry{
		Action:  "email.verified",
		Target:  string(a.Person.ID),
		Details: map[string]string{"email": a.Person.Email},
	})
}

// MailPossible reports whether there is a mail server.
func (s *Service) MailPossible() bool { return s.mail != nil }

// SendVerification mails the actor a link to prove that the address is theirs. It
// sets a new password, because whoever set the present one may be somebody else.
func (s *Service) SendVerification(ctx context.Context, a Actor) error {
	if err := a.Allow(ManageSelf); err != nil {
		return err
	}
	if s.mail == nil {
		return ship.Coded(ship.Unsupported, "no_mail", "this service sends no mail: ask its operator for a link, which waybill member reset prints")
	}
	if err := s.store.CountMail(ctx, a.Account, s.clock()); err != nil {
		return err
	}

	var link string
	err := s.changeSelf(ctx, a, Entry{Action: "email.verification_sent"}, func(tx *store.Store, person store.Person) (err error) {
		if !person.EmailVerifiedAt.IsZero() {
			return ship.Coded(ship.Conflict, "already_verified", "this e-mail address is already verified")
		}
		link, err = s.addReset(ctx, tx, person.ID)
		return err
	})
	if err != nil {
		return err
	}

	return s.sendMail(ctx, a.Person.Email, "Verify your e-mail address", fmt.Sprintf(`Open this link to verify your e-mail address and to choose a new password. It
works once, within a day:

%s

Your present password, passkeys and sessions end when you do. If you did not
request this, ignore this message.
`, link))
}

// mailTimeout is how long the page of whoever sends a message waits for the mail
// server.
const mailTimeout = 15 * time.Second

// sendMail sends a text to one address.
func (s *Service) sendMail(ctx context.Context, to, subject, text string) error {
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()

	if err := s.mail(ctx, []string{to}, subject, text); err != nil {
		failed := ship.Coded(ship.Unavailable, "mail_failed", "the mail server did not accept the message: try again, or ask the operator of this service")
		failed.Err = err
		return failed
	}
	return nil
}
