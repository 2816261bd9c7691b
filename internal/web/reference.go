package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
)

// referenceRoutes are the API reference.
func (s *Web) referenceRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/reference", member.ViewKeys, s.reference),
		get("/app/{account}/{mode}/reference/{operation}", member.ViewKeys, s.reference),
		post("/app/{account}/{mode}/reference", member.ManageKeys, s.referenceKey),
	}
}

// referenceView is the page of one operation.
type referenceView struct {
	Groups []httpkit.ReferenceGroup
	Group  httpkit.ReferenceGroup
	httpkit.ReferenceOperation
	Key string // the key that was just created; shown only once
}

// routeChoices lists the routes that requests can be filtered by.
func (s *Web) routeChoices() []choice {
	list := []choice{{"", "All routes"}}
	for _, group := range s.groups() {
		for _, operation := range group.Operations {
			route := choice{operation.Path, operation.Path}
			if !slices.Contains(list, route) {
				list = append(list, route)
			}
		}
	}
	return list
}

// referenceAt returns the page of the operation in the address, or of the first
// one.
func (v *visit) referenceAt() (referenceView, error) {
	page := referenceView{Groups: v.groups()}
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

// reference handles GET /app/{account}/{mode}/reference and GET
// /app/{account}/{mode}/reference/{operation}.
func (s *Web) reference(v *visit) error {
	page, err := v.referenceAt()
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

// referenceKey handles POST /app/{account}/test/reference: it creates a test key
// for the examples. The key is in this answer and in no other.
func (s *Web) referenceKey(v *visit) error {
	page, err := v.referenceAt()
	if err != nil {
		return err
	}
	if v.live {
		return errNoPage // no page ever contains a live key
	}

	ctx := v.audited("key.made", "", map[string]string{"name": referenceKeyName})
	key, _, err := s.Account.NewKey(ctx, account.NewKeyInput{
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
