package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// memberList is the page of an account's people.
type memberList struct {
	List        []member.Member
	Tools       shortList
	Invitations []member.Invitation
	Link        string // of the invitation that was just made; shown this once
	Email       string
	Role        string
	Wrong       problems
}

var roleChoices = []choice{
	{"owner", "Owner: everything"},
	{"developer", "Developer: everything but members and settings"},
	{"shipper", "Shipper: buys, prints, voids"},
	{"viewer", "Viewer: looks"},
}

func (v *visit) memberList() (memberList, error) {
	p := memberList{Role: "shipper"}
	var err error
	if p.List, err = v.Member.Members(v.ctx(), v.who.Actor); err != nil {
		return p, err
	}
	if v.who.Can(member.ManageMembers) {
		p.Invitations, err = v.Member.Invitations(v.ctx(), v.who.Actor)
	}
	return p, err
}

// members handles GET /app/{mode}/members.
func (s *Web) members(v *visit) error {
	p, err := v.memberList()
	if err != nil {
		return err
	}
	p.List, p.Tools = shorten(v, "members", p.List, memberStates, memberLine)
	return v.show(http.StatusOK, membersPage(v.frame("Members", "members"), p))
}

// invite handles POST /app/{mode}/members. The link is shown this once.
func (s *Web) invite(v *visit) error {
	email, role := v.form("email"), v.form("role")
	_, link, err := s.Member.Invite(v.ctx(), v.who.Actor, member.InviteInput{Email: email, Role: member.Role(role)})
	wrong, mendable := problemsOf(err)
	if err != nil && !mendable {
		return err
	}
	p, broken := v.memberList()
	if broken != nil {
		return broken
	}
	status := http.StatusOK
	p.Link = link
	if err != nil {
		p.Wrong, p.Email, p.Role, status = wrong, email, role, http.StatusUnprocessableEntity
	}
	return v.show(status, membersPage(v.frame("Members", "members"), p))
}

// changeMember handles POST /app/{mode}/members/{id}: what the button says.
func (s *Web) changeMember(v *visit) error {
	id, ok := ship.ParsePersonID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	var err error
	done := "saved"
	switch v.form("do") {
	case "role":
		err = s.Member.SetRole(v.ctx(), v.who.Actor, id, member.Role(v.form("role")))
	case "remove":
		err, done = s.Member.Remove(v.ctx(), v.who.Actor, id), "removed"
	case "sign-out":
		_, err = s.Member.RevokeSessionsOf(v.ctx(), v.who.Actor, id)
		done = "session-ended"
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("members"), done)
}

// revokeInvitation handles POST /app/{mode}/invitations/{id}/revoke.
func (s *Web) revokeInvitation(v *visit) error {
	id, ok := ship.ParseInvitationID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	if err := s.Member.RevokeInvitation(v.ctx(), v.who.Actor, id); err != nil {
		return err
	}
	return v.redirect(v.to("members"), "removed")
}
