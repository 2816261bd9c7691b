package web

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
)

// referenceRoutes are the API reference.
func (s *Web) referenceRoutes() []route {
	reference := newReferencePages(s.Config)

	return []route{
		get("/app/{account}/{mode}/reference", member.ViewKeys, reference.show),
		get("/app/{account}/{mode}/reference/{operation}", member.ViewKeys, reference.show),
		post("/app/{account}/{mode}/reference", member.ManageKeys, reference.makeKey),
	}
}

// referencePages are the pages that show the API's description of itself.
type referencePages struct {
	groups func() []httpkit.ReferenceGroup // made on first use
}

func newReferencePages(config Config) referencePages {
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
func (p referencePages) routeChoices() []choice {
	list := []choice{{"", "All routes"}}
	for _, group := range p.groups() {
		for _, operation := range group.Operations {
			route := choice{operation.Path, operation.Path}
			if !slices.Contains(list, route) {
				list = append(list, route)
			}
		}
	}
	return list
}

// operationOf returns the page of the operation in the address, or of the first
// one.
func (p referencePages) operationOf(v *visit) (referenceView, error) {
	page := referenceView{Groups: p.groups()}
	wanted := v.r.PathValue("operation")
	for _, group := range page.Groups {
		for _, operation := range group.Operations {
			if operation.ID == wanted || wanted == "" {
				page.Group = group
				page.ReferenceOperation = operation
				return page, nil
			}
		}
	}
	return page, errNoPage
}

// show handles GET /app/{account}/{mode}/reference and GET
// /app/{account}/{mode}/reference/{operation}.
func (p referencePages) show(v *visit) error {
	page, err := p.operationOf(v)
	if err != nil {
		return err
	}

	frame := v.frame("API reference", "reference")
	if v.isPart() {
		return v.show(http.StatusOK, operationView(frame, page))
	}
	return v.show(http.StatusOK, referencePage(frame, page))
}

// A key for trying things out, and how long it works.
const (
	referenceKeyName = "Reference"
	referenceKeyLife = 7 * 24 * time.Hour
)

// makeKey handles POST /app/{account}/test/reference: it creates a test key
// for the examples. The key is in this answer and in no other.
func (p referencePages) makeKey(v *visit) error {
	page, err := p.operationOf(v)
	if err != nil {
		return err
	}
	if v.live {
		return errNoPage // no page ever contains a live key
	}

	ctx := v.audited("key.made", "", map[string]string{"name": referenceKeyName})
	key, _, err := v.Account.NewKey(ctx, account.NewKeyInput{
		Account:   v.who.Account.ID,
		Name:      referenceKeyName,
		Scopes:    []string{"*"},
		ExpiresAt: time.Now().Add(referenceKeyLife),
	})
	if err != nil {
		return err
	}

	page.Key = string(key)
	return v.show(http.StatusOK, referencePage(v.frame("API reference", "reference"), page))
}
