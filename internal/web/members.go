package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// memberList is the page of an account's members.
type memberList struct {
	List        []member.Member
	Tools       shortList
	Invitations []member.Invitation
	Link        string // of the invitation that was just created; shown only once
	Email       string
	Role        string
	Wrong       problems
}

var roleChoices = []choice{
	{"owner", "Owner: everything"},
	{"developer", "Developer: everything but members and settings"},
	{"shipper", "Shipper: buys, prints, voids"},
	{"viewer", "Viewer: read-only"},
}

func (v *visit) memberList() (memberList, error) {
	page := memberList{Role: "shipper"}
	list, err := v.Member.Members(v.ctx(), v.who.Actor)
	if err != nil {
		return page, err
	}
	page.List = list

	if v.who.Can(member.ManageMembers) {
		page.Invitations, err = v.Member.Invitations(v.ctx(), v.who.Actor)
	}
	return page, err
}

// members handles GET /app/{account}/{mode}/members.
func (s *Web) members(v *visit) error {
	page, err := v.memberList()
	if err != nil {
		return err
	}
	page.List, page.Tools = shorten(v, "members", page.List, memberStates, memberLine)
	return v.show(http.StatusOK, membersPage(v.frame("Members", "members"), page))
}

// invite handles POST /app/{account}/{mode}/members. The link is shown in this
// answer and never again.
func (s *Web) invite(v *visit) error {
	email := v.form("email")
	role := v.form("role")
	_, link, err := s.Member.Invite(v.ctx(), v.who.Actor, member.InviteInput{Email: email, Role: member.Role(role)})
	invalid, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}

	page, listErr := v.memberList()
	if listErr != nil {
		return listErr
	}
	page.Link = link
	status := http.StatusOK
	if err != nil {
		page.Wrong = invalid
		page.Email = email
		page.Role = role
		status = http.StatusUnprocessableEntity
	}
	return v.show(status, membersPage(v.frame("Members", "members"), page))
}

// changeMember handles POST /app/{account}/{mode}/members/{id}: it changes a
// member's role, removes the member, or ends their sessions.
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
		err = s.Member.Remove(v.ctx(), v.who.Actor, id)
		done = "removed"
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

// revokeInvitation handles POST /app/{account}/{mode}/invitations/{id}/revoke.
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
