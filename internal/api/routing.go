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
	Published *ruleVersion `json:"published,omitempty" doc:"The active rules; omitted if none were published, in which case the cheapest offer is bought."`
	Draft     *ruleDraft   `json:"draft,omitempty" doc:"The draft; omitted if there is none."`
	Versions  int          `json:"versions" doc:"Number of published versions."`
}

type ruleVersion struct {
	Version      int              `json:"version" minimum:"1" example:"3" doc:"Number of the version, from 1 without gaps."`
	Book         ruleBook[answer] `json:"book" doc:"The rules."`
	Note         string           `json:"note" example:"Heavy parcels by UPS" doc:"Note given when it was published."`
	RestoredFrom int              `json:"restoredFrom,omitempty" example:"1" doc:"The earlier version that was published again by a rollback."`
	PublishedAt  string           `json:"publishedAt" format:"date-time" doc:"When it was published."`
	Warnings     []string         `json:"warnings" doc:"Likely mistakes in the rules. Set only when the version is published."`
}

type ruleDraft struct {
	BasedOn  int              `json:"basedOn" example:"2" doc:"The version that was active when the draft was saved; 0 if there was none."`
	Book     ruleBook[answer] `json:"book" doc:"The rules."`
	SavedAt  string           `json:"savedAt" format:"date-time" doc:"When it was saved."`
	Warnings []string         `json:"warnings" doc:"Likely mistakes in the rules, including problems that arose after the draft was saved."`
}

type ruleSummary struct {
	Version      int    `json:"version" minimum:"1" example:"3" doc:"Number of the version."`
	RuleCount    int    `json:"ruleCount" example:"12" doc:"Number of rules."`
	Note         string `json:"note" doc:"Note given when it was published."`
	RestoredFrom int    `json:"restoredFrom,omitempty" doc:"The earlier version that was published again by a rollback."`
	PublishedAt  string `json:"publishedAt" format:"date-time" doc:"When it was published."`
}

// versionOf returns a published version as clients see it.
func versionOf(version rulebook.Version) (ruleVersion, error) {
	book, err := encodeBook(version.Rules)
	return ruleVersion{
		Version:      version.Version,
		Book:         book,
		Note:         version.Note,
		RestoredFrom: version.Restored,
		PublishedAt:  wire.Time(version.WrittenAt),
		Warnings:     nonNil(version.Warnings),
	}, err
}

// draftOf returns a draft as clients see it.
func draftOf(draft rulebook.Version) (ruleDraft, error) {
	book, err := encodeBook(draft.Rules)
	return ruleDraft{
		BasedOn:  draft.Version,
		Book:     book,
		SavedAt:  wire.Time(draft.WrittenAt),
		Warnings: nonNil(draft.Warnings),
	}, err
}

// nonNil returns a copy of the list that is never nil, so that JSON has [] and
// not null.
func nonNil(list []string) []string { return append([]string{}, list...) }

// getRouting handles GET /v1/routing.
func (s *server) getRouting(ctx context.Context, _ *noParameters) (reply, error) {
	tenant := httpkit.From(ctx).Principal.Tenant
	var out rulesState

	// An account may have published nothing, and may have no draft: neither is
	// an error here.
	switch version, err := s.Rules.Published(ctx, tenant, 0); {
	case err == nil:
		published, err := versionOf(version)
		if err != nil {
			return reply{}, err
		}
		out.Published = &published
		out.Versions = version.Version
	case ship.KindOf(err) != ship.NotFound:
		return reply{}, err
	}

	switch saved, err := s.draft(ctx, tenant); {
	case err == nil:
		draft, err := draftOf(saved)
		if err != nil {
			return reply{}, err
		}
		out.Draft = &draft
	case ship.KindOf(err) != ship.NotFound:
		return reply{}, err
	}

	return jsonReply(http.StatusOK, out)
}

// draft returns the draft. What became invalid since it was saved, such as a
// carrier that is gone, is listed in its warnings: it must not prevent anybody
// from reading the draft.
func (s *server) draft(ctx context.Context, tenant ship.Tenant) (rulebook.Version, error) {
	draft, err := s.Rules.Draft(ctx, tenant)
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		return draft, err
	}

	for _, field := range e.Fields {
		draft.Warnings = append(draft.Warnings, field.Pointer+" "+field.Detail)
	}
	return draft, nil
}

type saveDraftRequest struct{ Body ruleBook[request] }

// saveDraft handles PUT /v1/routing/draft.
func (s *server) saveDraft(ctx context.Context, in *saveDraftRequest) (reply, error) {
	book, err := decodeBook(in.Body)
	if err != nil {
		return reply{}, err
	}
	saved, err := s.Rules.SaveDraft(ctx, httpkit.From(ctx).Principal.Tenant, book)
	if err != nil {
		return reply{}, err
	}

	out, err := draftOf(saved)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, out)
}

// dropDraft handles DELETE /v1/routing/draft.
func (s *server) dropDraft(ctx context.Context, _ *noParameters) (reply, error) {
	return reply{status: http.StatusNoContent}, s.Rules.DropDraft(ctx, httpkit.From(ctx).Principal.Tenant)
}

// publishInput is the body of POST /v1/routing/publish.
type publishInput struct {
	Note    string       `json:"note,omitempty" maxLength:"500" example:"Heavy parcels by UPS" doc:"Note about the version."`
	Version *wholeNumber `json:"version,omitempty" minimum:"0" maximum:"1000000000" example:"2" doc:"The version that you expect to be active, 0 for none; if another one is, nothing is published."`
}

type publishRequest struct{ Body *publishInput }

// publishRules handles POST /v1/routing/publish.
func (s *server) publishRules(ctx context.Context, in *publishRequest) (reply, error) {
	input := rulebook.PublishInput{Tenant: httpkit.From(ctx).Principal.Tenant}
	if body := in.Body; body != nil {
		input.Note = body.Note
		if body.Version != nil {
			input.Replaces = new(int(*body.Version))
		}
	}
	return publishedReply(s.Rules.Publish(ctx, input))
}

// rollBackInput is the body of POST /v1/routing/rollback.
type rollBackInput struct {
	Version wholeNumber `json:"version" minimum:"1" maximum:"1000000000" example:"1" doc:"The version to publish again."`
	Note    string      `json:"note,omitempty" maxLength:"500" example:"The new rules cost more" doc:"Note about the rollback."`
}

type rollBackRequest struct{ Body rollBackInput }

// rollBackRules handles POST /v1/routing/rollback.
func (s *server) rollBackRules(ctx context.Context, in *rollBackRequest) (reply, error) {
	return publishedReply(s.Rules.RollBack(ctx, httpkit.From(ctx).Principal.Tenant, int(in.Body.Version), in.Body.Note))
}

// publishedReply answers with a new version.
func publishedReply(version rulebook.Version, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	published, err := versionOf(version)
	if err != nil {
		return reply{}, err
	}

	out, err := jsonReply(http.StatusCreated, published)
	return out.with("Location", "/v1/routing/versions/"+strconv.Itoa(version.Version)), err
}

type listVersionsRequest struct{ PageRequest }

// listVersions handles GET /v1/routing/versions.
func (s *server) listVersions(ctx context.Context, in *listVersionsRequest) (reply, error) {
	before := 0
	if in.Cursor != "" {
		number, ok := versionNumber(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		before = number
	}

	list, err := s.Rules.Versions(ctx, httpkit.From(ctx).Principal.Tenant, before, in.Limit)
	if err != nil {
		return reply{}, err
	}

	data := make([]ruleSummary, len(list))
	last := 0
	for i, version := range list {
		data[i] = ruleSummary{
			Version:      version.Version,
			RuleCount:    len(version.Rules.Rules),
			Note:         version.Note,
			RestoredFrom: version.Restored,
			PublishedAt:  wire.Time(version.WrittenAt),
		}
		last = version.Version
	}

	// Versions count from 1 without gaps, so there are more unless the last one
	// is the first.
	return jsonReply(http.StatusOK, pageOf(data, last > 1, strconv.Itoa(last)))
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
	number, ok := versionNumber(in.Version)
	if !ok {
		return reply{}, ship.Coded(ship.NotFound, "version_not_found", "there is no such version of the rules")
	}
	version, err := s.Rules.Published(ctx, httpkit.From(ctx).Principal.Tenant, number)
	if err != nil {
		return reply{}, err
	}

	out, err := versionOf(version)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, out)
}

// ruleVariables is the answer of GET /v1/routing/variables.
type ruleVariables struct {
	Variables   []ruleVariable `json:"variables" doc:"The variables that conditions can use, grouped by prefix."`
	OfferFields []ruleVariable `json:"offerFields" doc:"Fields of each quote, accessed through the loop variable, such as q.carrier."`
}

type ruleVariable struct {
	Name    string   `json:"name" example:"destination.country" doc:"Name of the variable."`
	Type    string   `json:"type" enum:"text,whole number,number,true or false,map of text,list of offers" doc:"Type of the value."`
	Doc     string   `json:"doc" doc:"What it means, in one line."`
	Example string   `json:"example" doc:"A condition that reads it."`
	Values  []string `json:"values,omitempty" doc:"All possible values, if there are few."`
}

// listVariables handles GET /v1/routing/variables.
func (s *server) listVariables(context.Context, *noParameters) (reply, error) {
	return jsonReply(http.StatusOK, ruleVariables{
		Variables:   variablesOf(routing.Variables()),
		OfferFields: variablesOf(routing.OfferFields()),
	})
}

func variablesOf(list []routing.Variable) []ruleVariable {
	out := make([]ruleVariable, len(list))
	for i, variable := range list {
		out[i] = ruleVariable{
			Name:    variable.Name,
			Type:    variable.Type,
			Doc:     variable.Doc,
			Example: variable.Example,
			Values:  variable.Values,
		}
	}
	return out
}
