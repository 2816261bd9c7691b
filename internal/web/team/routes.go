package team

import (
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the account's members, its audit log, its
// settings, personal data, and the person's own profile.
func Routes() []site.Route {
	logo := site.Post("/app/{account}/{mode}/settings/logo", member.ManageSettings, changeLogo)
	logo.Memory = budget.Picture

	return []site.Route{
		site.Get("/app/{account}/{mode}/members", member.ViewMembers, listMembers),
		site.Get("/app/{account}/{mode}/members.csv", member.ViewMembers, exportMembers),
		site.Post("/app/{account}/{mode}/members", member.ManageMembers, invite),
		site.Post("/app/{account}/{mode}/members/{id}", member.ManageMembers, changeMember),
		site.Post("/app/{account}/{mode}/members/sign-in", member.ManageMembers, saveSignInPolicy),
		site.Post("/app/{account}/{mode}/invitations/{id}/revoke", member.ManageMembers, revokeInvitation),

		site.Get("/app/{account}/{mode}/audit", member.ViewAudit, listAuditEntries),
		site.Get("/app/{account}/{mode}/audit.csv", member.ViewAudit, exportAuditEntries),
		site.Get("/app/{account}/{mode}/settings", member.ViewSettings, getSettings),
		site.Post("/app/{account}/{mode}/settings", member.ManageSettings, saveSettings),

		site.Get("/app/{account}/{mode}/privacy", member.ViewPrivacy, getPrivacy),
		site.Post("/app/{account}/{mode}/privacy", member.ManagePrivacy, requestPrivacy),
		site.Post("/app/{account}/{mode}/privacy/retention", member.ManageSettings, saveRetention),
		site.Get("/app/{account}/{mode}/privacy/exports/{id}", member.ManagePrivacy, downloadExport),

		site.Get("/app/{account}/{mode}/you", member.ViewSelf, getProfile),
		site.Post("/app/{account}/{mode}/you", member.ManageSelf, changeYou),
		site.Post("/app/{account}/{mode}/you/secrets", member.ManageOwnSecrets, changeSecrets),

		site.Get("/app/{account}/{mode}/settings/logo/{hash}", member.ViewSettings, getLogo),
		logo,
	}
}
