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

// referenceRoutes are the reference of the API.
func (s *Web) referenceRoutes() []route {
	return []route{
		get("/app/{mode}/reference", member.ViewKeys, s.reference),
		get("/app/{mode}/reference/{operation}", member.ViewKeys, s.reference),
		post("/app/{mode}/reference", member.ManageKeys, s.referenceKey),
	}
}

// A refGroup is a part of the reference, as the API tells it.
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

// A refField is a field or a parameter; an object's own fields are below it.
type refField struct {
	Name, Type, About, Rules string
	Required                 bool
	Fields                   []refField
}

// readReference decodes what the API tells of itself.
func readReference(tell func() ([]byte, error)) (groups []refGroup, err error) {
	if tell == nil {
		return nil, nil
	}
	text, err := tell()
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
	Key string // that was just made; shown this once
}

// routeChoices are the routes to filter requests by.
func (s *Web) routeChoices() []choice {
	list := []choice{{"", "All routes"}}
	for _, g := range s.groups() {
		for _, o := range g.Operations {
			c := choice{o.Path, o.Path}
			if !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// referenceAt is the operation of the address, or the first.
func (v *visit) referenceAt() (referenceView, error) {
	p, wanted := referenceView{Groups: v.groups()}, v.r.PathValue("operation")
	for _, g := range p.Groups {
		for _, o := range g.Operations {
			if o.ID == wanted || wanted == "" {
				p.Group, p.refOperation = g, o
				return p, nil
			}
		}
	}
	return p, errNoPage
}

// reference handles GET /app/{mode}/reference and GET
// /app/{mode}/reference/{operation}.
func (s *Web) reference(v *visit) error {
	p, err := v.referenceAt()
	if err != nil {
		return err
	}
	f := v.frame("API reference", "reference")
	if v.isPart() {
		return v.show(http.StatusOK, operationView(f, p))
	}
	return v.show(http.StatusOK, referencePage(f, p))
}

// A key for trying things out, and how long it works.
const (
	referenceKeyName = "Reference"
	referenceKeyLife = 7 * 24 * time.Hour
)

// referenceKey handles POST /app/test/reference: it makes a test key for the
// examples. The key is in this answer and never again in another.
func (s *Web) referenceKey(v *visit) error {
	p, err := v.referenceAt()
	if err != nil {
		return err
	}
	if v.live {
		return errNoPage // no page is made with a live key in it
	}
	key, _, err := s.Account.NewKey(v.audited("key.made", "", map[string]string{"name": referenceKeyName}), account.NewKeyInput{
		Account: v.who.Account.ID, Name: referenceKeyName, Scopes: []string{"*"}, ExpiresAt: time.Now().Add(referenceKeyLife),
	})
	if err != nil {
		return err
	}
	p.Key = string(key)
	return v.show(http.StatusOK, referencePage(v.frame("API reference", "reference"), p))
}

// A phrase is text, or code in it.
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
