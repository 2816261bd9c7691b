package signin

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes by which people sign in, set up access, and confirm
// who they are.
func Routes() []site.Route {
	return []site.Route{
		site.Open(site.Get("/app/login", "", getLogin)),
		site.Open(site.Post("/app/login", "", signInWithPassword)),
		site.Open(site.Post("/app/login/code", "", signInWithCode)),
		site.Open(site.Post("/app/login/passkey", "", signInWithPasskey)),
		site.Open(site.Post("/app/login/passkey/begin", "", beginPasskeyLogin)),
		site.Open(site.Post("/app/login/oidc", "", beginOIDC)),
		site.Open(site.Get("/app/oidc", "", finishOIDC)),

		site.Open(site.Get("/app/setup", "", getSetup)),
		site.Open(site.Post("/app/setup", "", makeOwner)),
		site.Open(site.Get("/app/invite/{token}", "", getInvitation)),
		site.Open(site.Post("/app/invite/{token}", "", acceptInvitation)),
		site.Open(site.Get("/app/reset/{token}", "", getReset)),
		site.Open(site.Post("/app/reset/{token}", "", setPasswordByLink)),

		site.Post("/app/logout", member.ViewSelf, signOut),
		site.Post(site.ResumePath, member.ViewSelf, resume),
		site.Get("/app/confirm", member.ViewSelf, getConfirm),
		site.Post("/app/confirm", member.ViewSelf, stepUp),
		site.Post("/app/confirm/passkey", member.ViewSelf, stepUpWithPasskey),
		site.Post("/app/passkey/begin", member.ViewSelf, beginPasskey),
		site.Get(secondFactorPath, member.ViewSelf, getSecondFactor),
		site.Post(secondFactorPath, member.ManageOwnSecrets, addSecondFactor),
		site.Get(singleSignOnPath, member.ViewSelf, getSingleSignOn),
		site.Post(singleSignOnPath, member.ManageOwnSecrets, connectSingleSignOn),
		site.Post("/app/{account}/{mode}/you/oidc", member.ManageOwnSecrets, linkOIDC),
	}
}
