// Package team has the pages of the account itself: its members, its audit log,
// its settings, and the profile of the person who is signed in.
package team

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// memberList is the page of an account's members.
type memberList struct {
	List        []member.Member
	Tools       site.ShortList
	Invitations []member.Invitation
	Link        string // of the invitation that was just created; shown only once
	Mailed      bool   // invitations are sent by mail, and their links are not shown
	Sent        string // the address that the invitation was mailed to
	Email       string
	Role        string
	Wrong       site.Problems
	Policy      member.SignInPolicy
	PolicyWrong site.Problems
	SSO         bool // there is an identity provider, or single sign-on is required without one
	Owners      []member.OwnerAccess
	Unprotected int // members without a second factor
}

var roleChoices = []parts.Choice{
	{Value: "owner", Title: "Owner: everything"},
	{Value: "developer", Title: "Developer: everything but members and settings"},
	{Value: "shipper", Title: "Shipper: buys, prints, voids"},
	{Value: "viewer", Title: "Viewer: read-only"},
}

func readMembers(v *site.Visit) (memberList, error) {
	page := memberList{Role: "shipper", Mailed: v.Member.MailPossible()}
	list, err := v.Member.Members(v.Context(), v.Who.Actor)
	if err != nil {
		return page, err
	}
	page.List = list
	for _, person := range list {
		if !person.TwoFactor {
			page.Unprotected++
		}
	}
	if page.Policy, err = v.Member.SignInPolicy(v.Context(), v.Who.Actor); err != nil {
		return page, err
	}
	if page.Owners, err = v.Member.OwnerAccess(v.Context(), v.Who.Actor); err != nil {
		return page, err
	}
	page.SSO = v.Member.OIDCPossible() || page.Policy.RequiresSSO

	if v.Who.Can(member.ManageMembers) {
		page.Invitations, err = v.Member.Invitations(v.Context(), v.Who.Actor)
	}
	return page, err
}

// listMembers handles GET /app/{account}/{mode}/members.
func listMembers(v *site.Visit) error {
	page, err := readMembers(v)
	if err != nil {
		return err
	}
	page.List, page.Tools = site.Shorten(v, "members", page.List, memberStates, memberLine)
	return v.Show(http.StatusOK, membersPage(v.Frame("Members", "members"), page))
}

// invite handles POST /app/{account}/{mode}/members. The link is mailed to the
// person; without a mail server it is shown in this answer and never again.
func invite(v *site.Visit) error {
	email := v.Form("email")
	role := v.Form("role")
	invitation, link, err := v.Member.Invite(v.Context(), v.Who.Actor, member.InviteInput{Email: email, Role: member.Role(role)})
	invalid, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}

	page, listErr := readMembers(v)
	if listErr != nil {
		return listErr
	}
	page.Link = link
	if err == nil && link == "" {
		page.Sent = invitation.Email
	}
	status := http.StatusOK
	if err != nil {
		page.Wrong = invalid
		page.Email = email
		page.Role = role
		status = v.FormStatus(err)
	}
	return v.Show(status, membersPage(v.Frame("Members", "members"), page))
}

// changeMember handles POST /app/{account}/{mode}/members/{id}: it changes a
// member's role, removes the member, or ends their sessions.
func changeMember(v *site.Visit) error {
	id, ok := ship.ParsePersonID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}

	var err error
	done := "saved"
	switch v.Form("do") {
	case "role":
		err = v.Member.SetRole(v.Context(), v.Who.Actor, id, member.Role(v.Form("role")))
	case "remove":
		err = v.Member.Remove(v.Context(), v.Who.Actor, id)
		done = "removed"
	case "limit":
		err = v.Member.SetDailyLimit(v.Context(), v.Who.Actor, id, v.Form("dailyLimit"))
	case "sign-out":
		_, err = v.Member.RevokeSessionsOf(v.Context(), v.Who.Actor, id)
		done = "session-ended"
	default:
		return site.ErrNoPage
	}

	if err != nil {
		return err
	}
	return v.Redirect(v.To("members"), done)
}

// saveSignInPolicy handles POST /app/{account}/{mode}/members/sign-in.
func saveSignInPolicy(v *site.Visit) error {
	if err := v.Request.ParseForm(); err != nil {
		return err
	}

	policy := member.SignInPolicy{RequiresSSO: v.Form("sso") == "on"}
	for _, text := range v.Request.PostForm["breakGlass"] {
		id, ok := ship.ParsePersonID(text)
		if !ok {
			return site.ErrNoPage
		}
		policy.BreakGlass = append(policy.BreakGlass, id)
	}
	for _, role := range v.Request.PostForm["twoFactor"] {
		policy.TwoFactorRoles = append(policy.TwoFactorRoles, member.Role(role))
	}
	err := v.Member.SetSignInPolicy(v.Context(), v.Who.Actor, policy)
	if err == nil {
		return v.Redirect(v.To("members"), "saved")
	}
	if kind := ship.KindOf(err); kind != ship.Invalid && kind != ship.Conflict {
		return err
	}

	page, listErr := readMembers(v)
	if listErr != nil {
		return listErr
	}
	page.Policy = policy
	page.PolicyWrong, _ = site.ProblemsOf(err)
	return v.Show(http.StatusUnprocessableEntity, membersPage(v.Frame("Members", "members"), page))
}

// revokeInvitation handles POST /app/{account}/{mode}/invitations/{id}/revoke.
func revokeInvitation(v *site.Visit) error {
	id, ok := ship.ParseInvitationID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	if err := v.Member.RevokeInvitation(v.Context(), v.Who.Actor, id); err != nil {
		return err
	}
	return v.Redirect(v.To("members"), "removed")
}

// limitAmount returns a daily limit as it is typed; "" for none.
func limitAmount(limit ship.Money) string {
	if limit.IsZero() {
		return ""
	}
	return limit.Amount()
}

// unprotectedText says how many members have no second factor.
func unprotectedText(n int) string {
	switch n {
	case 0:
		return "All members have one."
	case 1:
		return "One member has none yet."
	}
	return strconv.Itoa(n) + " members have none yet."
}

// addressText returns a person's e-mail address, and whether it is verified.
func addressText(p member.Person) string {
	if p.EmailVerified {
		return p.Email
	}
	return p.Email + " (not verified)"
}

var memberLine = site.Line[member.Member]{
	ID:    func(m member.Member) string { return string(m.ID) },
	Text:  func(m member.Member) string { return m.Name + " " + m.Email },
	State: func(m member.Member) string { return string(m.Role) },
}

var memberStates = []parts.Choice{
	{Value: "", Title: "All roles"},
	{Value: "owner", Title: "Owners"},
	{Value: "developer", Title: "Developers"},
	{Value: "shipper", Title: "Shippers"},
	{Value: "viewer", Title: "Viewers"},
}

// exportMembers handles GET /app/{account}/{mode}/members.csv.
func exportMembers(v *site.Visit) error {
	list, err := v.Member.Members(v.Context(), v.Who.Actor)
	if err != nil {
		return err
	}

	out := v.ExportCSV("members", "name", "email", "role", "two-factor", "daily limit", "joined", "last seen")
	for _, person := range site.Matching(v, list, memberLine) {
		out.Row(
			person.Name,
			person.Email,
			string(person.Role),
			strconv.FormatBool(person.TwoFactor),
			person.DailyLimit.String(),
			site.TimeCell(person.JoinedAt),
			site.TimeCell(person.LastSeenAt),
		)
	}
	return nil
}
