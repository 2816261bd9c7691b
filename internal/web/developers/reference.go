// Package developers has the pages for developers: events, webhooks, API keys,
// the log of requests, the sandbox, and the API reference.
package developers

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// referencePages are the pages that show the API's description of itself.
type referencePages struct {
	groups func() []httpkit.ReferenceGroup // made on first use
}

func newReferencePages(config site.Config) referencePages {
	return referencePages{groups: sync.OnceValue(func() []httpkit.ReferenceGroup {
		if config.Reference == nil {
			return nil
		}
		groups, err := config.Reference()
		if err != nil {
			config.Log.Error("the API reference cannot be shown", "error", err)
		}
		return groups
	})}
}

// referenceView is the page of one operation.
type referenceView struct {
	Groups []httpkit.ReferenceGroup
	Group  httpkit.ReferenceGroup
	httpkit.ReferenceOperation
	Key string // the key that was just created; shown only once
}

// routeChoices lists the routes that requests can be filtered by.
func (p referencePages) routeChoices() []parts.Choice {
	list := []parts.Choice{{Value: "", Title: "All routes"}}
	for _, group := range p.groups() {
		for _, operation := range group.Operations {
			route := parts.Choice{Value: operation.Path, Title: operation.Path}
			if !slices.Contains(list, route) {
				list = append(list, route)
			}
		}
	}
	return list
}

// operationOf returns the page of the operation in the address, or of the first
// one.
func (p referencePages) operationOf(v *site.Visit) (referenceView, error) {
	page := referenceView{Groups: p.groups()}
	wanted := v.Request.PathValue("operation")
	for _, group := range page.Groups {
		for _, operation := range group.Operations {
			if operation.ID == wanted || wanted == "" {
				page.Group = group
				page.ReferenceOperation = operation
				return page, nil
			}
		}
	}
	return page, site.ErrNoPage
}

// show handles GET /app/{account}/{mode}/reference and GET
// /app/{account}/{mode}/reference/{operation}.
func (p referencePages) show(v *site.Visit) error {
	page, err := p.operationOf(v)
	if err != nil {
		return err
	}

	frame := v.Frame("API reference", "reference")
	if v.IsPart() {
		return v.Show(http.StatusOK, operationView(frame, page))
	}
	return v.Show(http.StatusOK, referencePage(frame, page))
}

// A key for trying things out, and how long it works.
const (
	referenceKeyName = "Reference"
	referenceKeyLife = 7 * 24 * time.Hour
)

// makeKey handles POST /app/{account}/test/reference: it creates a test key
// for the examples. The key is in this answer and in no other.
func (p referencePages) makeKey(v *site.Visit) error {
	page, err := p.operationOf(v)
	if err != nil {
		return err
	}
	if v.Live {
		return site.ErrNoPage // no page ever contains a live key
	}

	ctx := v.Audited("key.made", "", map[string]string{"name": referenceKeyName})
	key, _, err := v.Account.NewKey(ctx, account.NewKeyInput{
		Account:   v.Who.Account.ID,
		Name:      referenceKeyName,
		Scopes:    []string{"*"},
		ExpiresAt: time.Now().Add(referenceKeyLife),
	})
	if err != nil {
		return err
	}

	page.Key = string(key)
	return v.Show(http.StatusOK, referencePage(v.Frame("API reference", "reference"), page))
}
