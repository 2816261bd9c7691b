package app

import (
	"context"
	"log/slog"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

// newMembers wires the people who sign in to the dashboard.
func newMembers(cfg config.Config, baseURL string, st *store.Store, box *seal.Box, log *slog.Logger) (*member.Service, error) {
	c := member.Config{
		Store:   st,
		Box:     box,
		BaseURL: baseURL,
		Log:     log,
		OIDC: member.OIDC{
			Issuer:       cfg.OIDCIssuer,
			ClientID:     cfg.OIDCClientID,
			ClientSecret: cfg.OIDCClientSecret,
			Transport:    carrierkit.NewTransport(),
		},
	}
	if cfg.SMTPURL != nil {
		c.Mail = webhook.NewMailer(cfg.SMTPURL, cfg.MailFrom).Send
	}
	return member.New(c)
}

// SetupURL returns the link that creates the first owner of the dashboard;
// empty once there is one, or if this copy shows no dashboard. Whoever has it
// can claim the installation, so it is shown to the operator only and is never
// logged.
func (a *App) SetupURL(ctx context.Context) string {
	needed, err := a.services.member.SetupNeeded(ctx)
	if err != nil || !needed {
		return ""
	}

	url, err := a.services.member.SetupURL(ctx)
	if err != nil {
		a.log.WarnContext(ctx, "cannot create the dashboard setup link", "error", err)
		return ""
	}
	return url
}
