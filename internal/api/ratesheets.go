package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// maxSheetBody is the largest request with a rate sheet, in bytes: the largest
// sheet, and what escaping its quotes and line ends in JSON adds.
const maxSheetBody = 6 << 20

// sheetInput is the body of PUT /v1/rate-sheets/{name}.
type sheetInput struct {
	Carrier      string `json:"carrier" minLength:"1" maxLength:"50" example:"ups" doc:"The carrier whose prices these are."`
	ConnectionID string `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"The carrier account that the prices are for; if omitted, every account with the carrier that has no sheet of its own."`
	CSV          string `json:"csv" minLength:"1" maxLength:"4000000" doc:"The sheet as CSV: sections for the currency and units, services, zones, prices, surcharges and fuel."`
}

type sheetShown struct {
	Name         string         `json:"name" example:"ups-2026" doc:"Name of the sheet."`
	Version      int            `json:"version" minimum:"1" example:"2" doc:"Version number, which increases with every import and removal under this name."`
	Carrier      string         `json:"carrier" example:"ups" doc:"The carrier whose prices these are."`
	ConnectionID string         `json:"connectionId,omitempty" doc:"The carrier account that the prices are for."`
	Title        string         `json:"title,omitempty" example:"UPS contract 2026" doc:"Title given in the sheet."`
	Currency     string         `json:"currency" example:"USD" doc:"ISO 4217 code of its prices."`
	ValidFrom    string         `json:"validFrom,omitempty" format:"date" doc:"First ship date that the sheet applies to; omitted if it has no start."`
	ValidUntil   string         `json:"validUntil,omitempty" format:"date" doc:"Last ship date that the sheet applies to; omitted if it has no end."`
	Services     []sheetService `json:"services" doc:"The services in the sheet."`
	Counts       sheetCounts    `json:"counts" doc:"Number of entries in the sheet."`
	Warnings     []sheetProblem `json:"warnings" doc:"Likely mistakes that do not prevent the import, at most 50."`
	ImportedAt   string         `json:"importedAt" format:"date-time" doc:"When this version was imported."`
	CSV          string         `json:"csv,omitempty" doc:"The sheet as it was imported; only when a single sheet is requested."`
}

type sheetService struct {
	Code       string `json:"code" example:"ground" doc:"Service code, as used in rates and rules."`
	Name       string `json:"name" example:"UPS Ground" doc:"Name of the service."`
	Guaranteed bool   `json:"guaranteed" doc:"Whether the delivery date is guaranteed."`
}

type sheetCounts struct {
	Services   int `json:"services" doc:"Services."`
	Zones      int `json:"zones" doc:"Zones."`
	Areas      int `json:"areas" doc:"Areas that are assigned to a zone."`
	Prices     int `json:"prices" doc:"Prices, one per service, zone and weight break."`
	Surcharges int `json:"surcharges" doc:"Surcharges."`
}

type sheetProblem struct {
	Line       int    `json:"line,omitempty" example:"12" doc:"Line of the CSV, from 1; omitted if it concerns the whole sheet."`
	Column     string `json:"column,omitempty" example:"price" doc:"Column, as named in the sheet."`
	Code       string `json:"code" example:"unreachable" doc:"Stable code of the problem."`
	Detail     string `json:"detail" doc:"Explanation of the problem."`
	Suggestion string `json:"suggestion,omitempty" doc:"The likely correction."`
}

type sheetRequest struct {
	Name string `path:"name" example:"ups-2026" doc:"Name of the sheet."`
}

type importSheetRequest struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,59}$" example:"ups-2026" doc:"Name of the sheet: lower-case letters, digits, - and _."`
	Body sheetInput
}

// importSheet handles PUT /v1/rate-sheets/{name}.
func (s *server) importSheet(ctx context.Context, in *importSheetRequest) (reply, error) {
	imported, err := s.Rules.ImportSheet(ctx, httpkit.From(ctx).Principal.Tenant, rulebook.SheetInput{
		Name:       in.Name,
		Carrier:    in.Body.Carrier,
		Connection: ship.ConnectionID(in.Body.ConnectionID),
		CSV:        in.Body.CSV,
	})
	if err != nil {
		return reply{}, err
	}

	status := http.StatusOK
	if imported.Version == 1 {
		status = http.StatusCreated
	}
	out, err := jsonReply(status, sheetOf(imported))
	return out.with("Location", "/v1/rate-sheets/"+imported.Name), err
}

// listSheets handles GET /v1/rate-sheets. They are few, so there is one page.
func (s *server) listSheets(ctx context.Context, _ *noParameters) (reply, error) {
	list, err := s.Rules.Sheets(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}

	data := make([]sheetShown, len(list))
	for i, imported := range list {
		data[i] = sheetOf(imported)
	}
	return jsonReply(http.StatusOK, pageOf(data, false, ""))
}

type getSheetRequest struct {
	Name    string `path:"name" example:"ups-2026" doc:"Name of the sheet."`
	Version int    `query:"version" minimum:"1" maximum:"1000000000" doc:"An earlier version; omit it for the active one."`
}

// getSheet handles GET /v1/rate-sheets/{name}.
func (s *server) getSheet(ctx context.Context, in *getSheetRequest) (reply, error) {
	imported, err := s.Rules.Sheet(ctx, httpkit.From(ctx).Principal.Tenant, in.Name, in.Version)
	if err != nil {
		return reply{}, err
	}
	out := sheetOf(imported)
	out.CSV = imported.CSV
	return jsonReply(http.StatusOK, out)
}

// removeSheet handles DELETE /v1/rate-sheets/{name}.
func (s *server) removeSheet(ctx context.Context, in *sheetRequest) (reply, error) {
	return reply{status: http.StatusNoContent}, s.Rules.RemoveSheet(ctx, httpkit.From(ctx).Principal.Tenant, in.Name)
}

// sheetOf returns a rate sheet as clients see it, without its text.
func sheetOf(imported rulebook.Sheet) sheetShown {
	parsed := &imported.Parsed
	out := sheetShown{
		Name:         imported.Name,
		Version:      imported.Version,
		Carrier:      imported.Carrier,
		ConnectionID: string(imported.Connection),
		Title:        parsed.Name,
		Currency:     parsed.Currency,
		ValidFrom:    string(parsed.ValidFrom),
		ValidUntil:   string(parsed.ValidUntil),
		Services:     make([]sheetService, len(parsed.Services)),
		Counts:       sheetCounts(parsed.Counts()),
		Warnings:     problemsOf(parsed.Warnings),
		ImportedAt:   wire.Time(imported.AddedAt),
	}

	for i, service := range parsed.Services {
		out.Services[i] = sheetService{Code: service.Code, Name: service.Name, Guaranteed: service.Guaranteed}
	}
	return out
}

func problemsOf(list []sheet.Problem) []sheetProblem {
	out := make([]sheetProblem, len(list))
	for i, problem := range list {
		out[i] = sheetProblem(problem)
	}
	return out
}
