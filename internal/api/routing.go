package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// rulesState is the answer of GET /v1/routing.
type rulesState struct {
	Published *ruleVersion `json:"published,omitempty" doc:"The rules that count now; left out while none were published, and then the cheapest offer is bought."`
	Draft     *ruleDraft   `json:"draft,omitempty" doc:"The rules that are being written; left out if there are none."`
	Versions  int          `json:"versions" doc:"How many versions were published."`
}

type ruleVersion struct {
	Version      int              `json:"version" minimum:"1" example:"3" doc:"Number of the version, from 1 without gaps."`
	Book         ruleBook[answer] `json:"book" doc:"The rules."`
	Note         string           `json:"note" example:"Heavy parcels by UPS" doc:"What its publisher said about it."`
	RestoredFrom int              `json:"restoredFrom,omitempty" example:"1" doc:"The earlier version that was published again, after a roll back."`
	PublishedAt  string           `json:"publishedAt" format:"date-time" doc:"When it was published."`
	Warnings     []string         `json:"warnings" doc:"What is allowed and perhaps not meant. Filled in when the version is published."`
}

type ruleDraft struct {
	BasedOn  int              `json:"basedOn" example:"2" doc:"The version that counted when the draft was saved; 0 if there was none."`
	Book     ruleBook[answer] `json:"book" doc:"The rules."`
	SavedAt  string           `json:"savedAt" format:"date-time" doc:"When it was saved."`
	Warnings []string         `json:"warnings" doc:"What is allowed and perhaps not meant, and what became wrong since it was saved."`
}

type ruleSummary struct {
	Version      int    `json:"version" minimum:"1" example:"3" doc:"Number of the version."`
	RuleCount    int    `json:"ruleCount" example:"12" doc:"How many rules it has."`
	Note         string `json:"note" doc:"What its publisher said about it."`
	RestoredFrom int    `json:"restoredFrom,omitempty" doc:"The earlier version that was published again."`
	PublishedAt  string `json:"publishedAt" format:"date-time" doc:"When it was published."`
}

func versionShown(v rulebook.Version) (ruleVersion, error) {
	book, err := bookShown(v.Rules)
	return ruleVersion{
		Version: v.Version, Book: book, Note: v.Note, RestoredFrom: v.Restored, PublishedAt: wire.Time(v.WrittenAt), Warnings: listed(v.Warnings),
	}, err
}

func draftShown(v rulebook.Version) (ruleDraft, error) {
	book, err := bookShown(v.Rules)
	return ruleDraft{BasedOn: v.Version, Book: book, SavedAt: wire.Time(v.WrittenAt), Warnings: listed(v.Warnings)}, err
}

// listed is the list, never null.
func listed(list []string) []string { return append([]string{}, list...) }

// getRouting handles GET /v1/routing.
func (s *server) getRouting(ctx context.Context, _ *noParameters) (reply, error) {
	t := httpkit.From(ctx).Principal.Tenant
	var out rulesState
	switch v, err := s.Rules.Published(ctx, t, 0); {
	case err == nil:
		shown, err := versionShown(v)
		if err != nil {
			return reply{}, err
		}
		out.Published, out.Versions = &shown, v.Version
	case ship.KindOf(err) != ship.NotFound:
		return reply{}, err
	}
	draft, err := s.draft(ctx, t)
	switch {
	case err == nil:
		shown, err := draftShown(draft)
		if err != nil {
			return reply{}, err
		}
		out.Draft = &shown
	case ship.KindOf(err) != ship.NotFound:
		return reply{}, err
	}
	return show(http.StatusOK, out)
}

// draft is the draft. What became wrong since it was saved, such as a carrier
// that is gone, is told in its warnings: it must not keep anybody from reading
// it.
func (s *server) draft(ctx context.Context, t ship.Tenant) (rulebook.Version, error) {
	v, err := s.Rules.Draft(ctx, t)
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		return v, err
	}
	for _, f := range e.Fields {
		v.Warnings = append(v.Warnings, f.Pointer+" "+f.Detail)
	}
	return v, nil
}

type saveDraftRequest struct{ Body ruleBook[request] }

// saveDraft handles PUT /v1/routing/draft.
func (s *server) saveDraft(ctx context.Context, in *saveDraftRequest) (reply, error) {
	book, err := bookOf(in.Body)
	if err != nil {
		return reply{}, err
	}
	v, err := s.Rules.SaveDraft(ctx, httpkit.From(ctx).Principal.Tenant, book)
	if err != nil {
		return reply{}, err
	}
	out, err := draftShown(v)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, out)
}

// dropDraft handles DELETE /v1/routing/draft.
func (s *server) dropDraft(ctx context.Context, _ *noParameters) (reply, error) {
	return reply{status: http.StatusNoContent}, s.Rules.DropDraft(ctx, httpkit.From(ctx).Principal.Tenant)
}

// publishInput is the body of POST /v1/routing/publish.
type publishInput struct {
	Note    string       `json:"note,omitempty" maxLength:"500" example:"Heavy parcels by UPS" doc:"What the version is about."`
	Version *wholeNumber `json:"version,omitempty" minimum:"0" maximum:"1000000000" example:"2" doc:"The version that should count now, 0 for none; if another does, nothing is published."`
}

type publishRequest struct{ Body *publishInput }

// publishRules handles POST /v1/routing/publish.
func (s *server) publishRules(ctx context.Context, in *publishRequest) (reply, error) {
	order := rulebook.PublishInput{Tenant: httpkit.From(ctx).Principal.Tenant}
	if b := in.Body; b != nil {
		order.Note = b.Note
		if b.Version != nil {
			order.Replaces = new(int(*b.Version))
		}
	}
	return published(s.Rules.Publish(ctx, order))
}

// rollBackInput is the body of POST /v1/routing/rollback.
type rollBackInput struct {
	Version wholeNumber `json:"version" minimum:"1" maximum:"1000000000" example:"1" doc:"The version to publish again."`
	Note    string      `json:"note,omitempty" maxLength:"500" example:"The new rules were dearer" doc:"Why."`
}

type rollBackRequest struct{ Body rollBackInput }

// rollBackRules handles POST /v1/routing/rollback.
func (s *server) rollBackRules(ctx context.Context, in *rollBackRequest) (reply, error) {
	return published(s.Rules.RollBack(ctx, httpkit.From(ctx).Principal.Tenant, int(in.Body.Version), in.Body.Note))
}

// published answers with a new version.
func published(v rulebook.Version, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	shown, err := versionShown(v)
	if err != nil {
		return reply{}, err
	}
	out, err := show(http.StatusCreated, shown)
	return out.with("Location", "/v1/routing/versions/"+strconv.Itoa(v.Version)), err
}

type listVersionsRequest struct{ PageRequest }

// listVersions handles GET /v1/routing/versions.
func (s *server) listVersions(ctx context.Context, in *listVersionsRequest) (reply, error) {
	before := 0
	if in.Cursor != "" {
		n, ok := versionNumber(in.Cursor)
		if !ok {
			return reply{}, badCursor()
		}
		before = n
	}
	list, err := s.Rules.Versions(ctx, httpkit.From(ctx).Principal.Tenant, before, in.Limit)
	if err != nil {
		return reply{}, err
	}
	data := make([]ruleSummary, len(list))
	last := 0
	for i, v := range list {
		data[i] = ruleSummary{Version: v.Version, RuleCount: len(v.Rules.Rules), Note: v.Note, RestoredFrom: v.Restored, PublishedAt: wire.Time(v.WrittenAt)}
		last = v.Version
	}
	return show(http.StatusOK, pageOf(data, last > 1, strconv.Itoa(last))) // versions have no gaps
}

// versionNumber reads the number of a version as the service writes it.
func versionNumber(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0 && strconv.Itoa(int(n)) == text
}

type versionRequest struct {
	Version string `path:"version" example:"3" doc:"Number of the version."`
}

// getVersion handles GET /v1/routing/versions/{version}.
func (s *server) getVersion(ctx context.Context, in *versionRequest) (reply, error) {
	n, ok := versionNumber(in.Version)
	if !ok {
		return reply{}, ship.Coded(ship.NotFound, "version_not_found", "there is no such version of the rules")
	}
	v, err := s.Rules.Published(ctx, httpkit.From(ctx).Principal.Tenant, n)
	if err != nil {
		return reply{}, err
	}
	shown, err := versionShown(v)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, shown)
}

// ruleVariables is the answer of GET /v1/routing/variables.
type ruleVariables struct {
	Variables   []ruleVariable `json:"variables" doc:"What conditions can read, in groups of the same first part."`
	OfferFields []ruleVariable `json:"offerFields" doc:"What they can read of each of the quotes, behind the name of the loop: q.carrier."`
}

type ruleVariable struct {
	Name    string   `json:"name" example:"destination.country" doc:"Name of the variable."`
	Type    string   `json:"type" enum:"text,whole number,number,true or false,map of text,list of offers" doc:"What it holds."`
	Doc     string   `json:"doc" doc:"What it means, in one line."`
	Example string   `json:"example" doc:"A condition that reads it."`
	Values  []string `json:"values,omitempty" doc:"All that it can be, where that is a short list."`
}

// listVariables handles GET /v1/routing/variables.
func (s *server) listVariables(context.Context, *noParameters) (reply, error) {
	return show(http.StatusOK, ruleVariables{Variables: variablesShown(routing.Variables()), OfferFields: variablesShown(routing.OfferFields())})
}

func variablesShown(list []routing.Variable) []ruleVariable {
	out := make([]ruleVariable, len(list))
	for i, v := range list {
		out[i] = ruleVariable{Name: v.Name, Type: v.Type, Doc: v.Doc, Example: v.Example, Values: v.Values}
	}
	return out
}
