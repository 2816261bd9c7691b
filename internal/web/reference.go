package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
)

// referenceRoutes are the API reference.
func (s *Web) referenceRoutes() []route {
	return []route{
		get("/app/{mode}/reference", member.ViewKeys, s.reference),
		get("/app/{mode}/reference/{operation}", member.ViewKeys, s.reference),
		post("/app/{mode}/reference", member.ManageKeys, s.referenceKey),
	}
}

// A refGroup is a section of the reference, as the API describes it.
type refGroup struct {
	Name, About string
	Operations  []refOperation
}

// A refOperation is one operation of the API.
type refOperation struct {
	ID, Method, Path, Summary, About, Scope string
	Parameters, Body                        []refField
	BodyRequired                            bool
	Curl                                    string
	Answers                                 []refAnswer
	Errors                                  []refFailure
}

type refAnswer struct {
	Status  int
	About   string
	Kind    string
	Fields  []refField
	Example string
}

type refFailure struct {
	Status int
	Codes  []string
}

// A refField is a field or a parameter; Fields are those of an object.
type refField struct {
	Name, Type, About, Rules string
	Required                 bool
	Fields                   []refField
}

// readReference decodes the API's description of itself.
func readReference(describe func() ([]byte, error)) (groups []refGroup, err error) {
	if describe == nil {
		return nil, nil
	}

	text, err := describe()
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &groups)
	return groups, err
}

// referenceView is the page of one operation.
type referenceView struct {
	Groups []refGroup
	Group  refGroup
	refOperation
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
				page.refOperation = operation
				return page, nil
			}
		}
	}
	return page, errNoPage
}

// reference handles GET /app/{mode}/reference and GET
// /app/{mode}/reference/{operation}.
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

// referenceKey handles POST /app/test/reference: it creates a test key for the
// examples. The key is in this answer and in no other.
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

// A phrase is a run of text or of code.
type phrase struct {
	Text string
	Code bool
}

// phrases splits a paragraph at its `code`.
func phrases(text string) []phrase {
	var list []phrase
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			list = append(list, phrase{part, i%2 == 1})
		}
	}
	return list
}

func paragraphs(text string) []string { return strings.Split(text, "\n\n") }
