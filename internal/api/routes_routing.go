package api

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/budget"
)

// routingRoutes change the rules that choose carriers.
func (s *server) routingRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     "/v1/routing",
			id:       "getRouting",
			tag:      "Routing",
			summary:  "Get routing rules",
			scope:    "routing",
			handler:  handle(s.getRouting),
			outcomes: []outcome{{status: http.StatusOK, about: "The active rules and the draft.", body: rulesState{}}},
		},

		{
			method:   http.MethodPut,
			path:     "/v1/routing/draft",
			id:       "saveRoutingDraft",
			tag:      "Routing",
			summary:  "Save a draft",
			scope:    "routing",
			handler:  handle(s.saveDraft),
			outcomes: []outcome{{status: http.StatusOK, about: "The draft, with warnings about it.", body: ruleDraft{}}},
		},

		{
			method:   http.MethodDelete,
			path:     "/v1/routing/draft",
			id:       "dropRoutingDraft",
			tag:      "Routing",
			summary:  "Delete the draft",
			scope:    "routing",
			handler:  handle(s.dropDraft),
			outcomes: []outcome{{status: http.StatusNoContent, about: "The draft was deleted."}},
		},

		{
			method:  http.MethodPost,
			path:    "/v1/routing/publish",
			id:      "publishRouting",
			tag:     "Routing",
			summary: "Publish the draft",
			scope:   "routing",
			terms:   true,
			handler: handle(s.publishRules),
			outcomes: []outcome{{
				status:  http.StatusCreated,
				about:   "The new version, which is active from the next purchase on.",
				body:    ruleVersion{},
				headers: []string{"Location"},
			}},
			codes: []string{"draft_not_found", "rules_changed", "draft_changed"},
		},

		{
			method:  http.MethodPost,
			path:    "/v1/routing/rollback",
			id:      "rollBackRouting",
			tag:     "Routing",
			summary: "Roll back to a version",
			scope:   "routing",
			terms:   true,
			handler: handle(s.rollBackRules),
			outcomes: []outcome{{
				status:  http.StatusCreated,
				about:   "The new version, with the rules of the earlier one.",
				body:    ruleVersion{},
				headers: []string{"Location"},
			}},
			codes: []string{"version_not_found", "rules_changed"},
		},
	}
}

// rulesRoutes read rules and try them.
func (s *server) rulesRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     "/v1/routing/versions",
			id:       "listRoutingVersions",
			tag:      "Routing",
			summary:  "List versions",
			scope:    "routing",
			handler:  handle(s.listVersions),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of versions, newest first.", body: page[ruleSummary]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/routing/versions/{version}",
			id:       "getRoutingVersion",
			tag:      "Routing",
			summary:  "Get a version",
			scope:    "routing",
			handler:  handle(s.getVersion),
			outcomes: []outcome{{status: http.StatusOK, about: "The rules as they were published.", body: ruleVersion{}}},
			codes:    []string{"version_not_found"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/routing/try",
			id:        "tryRouting",
			tag:       "Routing",
			summary:   "Try rules on a shipment",
			scope:     "routing",
			unaudited: changesNothing,
			handler:   handle(s.tryRules),
			outcomes:  []outcome{{status: http.StatusOK, about: "What would be bought, and why.", body: tried{}}},
			codes:     []string{"carrier_rejected", "origin_required", "unknown_location", "no_carrier", "no_rate", "carrier_unavailable", "draft_not_found"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/routing/simulate",
			id:        "simulateRouting",
			tag:       "Routing",
			summary:   "Simulate rules on past shipments",
			scope:     "routing",
			unaudited: changesNothing,
			handler:   handle(s.simulateRules),
			outcomes:  []outcome{{status: http.StatusOK, about: "What would have changed, and what it would have saved.", body: Simulation{}}},
			codes:     []string{"draft_not_found", "version_not_found"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/routing/variables",
			id:       "listRoutingVariables",
			tag:      "Routing",
			summary:  "List condition variables",
			scope:    "routing",
			handler:  handle(s.listVariables),
			outcomes: []outcome{{status: http.StatusOK, about: "The variables that conditions can use.", body: ruleVariables{}}},
		},
	}
}

// sheetRoutes manage rate sheets, the prices of contracts.
func (s *server) sheetRoutes() []*route {
	notFound := []string{"rate_sheet_not_found"}

	return []*route{
		{
			method:  http.MethodPut,
			path:    "/v1/rate-sheets/{name}",
			id:      "importRateSheet",
			tag:     "Rate sheets",
			summary: "Import a rate sheet",
			scope:   "routing",
			maxBody: maxSheetBody,
			memory:  budget.Sheet,
			terms:   true,
			handler: handle(s.importSheet),
			outcomes: []outcome{
				{
					status:  http.StatusOK,
					about:   "The sheet, which replaces the previous one.",
					body:    sheetShown{},
					headers: []string{"Location"},
				},
				{
					status:  http.StatusCreated,
					about:   "The new sheet.",
					body:    sheetShown{},
					headers: []string{"Location"},
				},
			},
			codes: []string{"invalid_rate_sheet", "rate_sheet_overlap"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/rate-sheets",
			id:       "listRateSheets",
			tag:      "Rate sheets",
			summary:  "List rate sheets",
			scope:    "routing",
			handler:  handle(s.listSheets),
			outcomes: []outcome{{status: http.StatusOK, about: "The active sheets, by name.", body: page[sheetShown]{}}},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/rate-sheets/{name}",
			id:       "getRateSheet",
			tag:      "Rate sheets",
			summary:  "Get a rate sheet",
			scope:    "routing",
			handler:  handle(s.getSheet),
			outcomes: []outcome{{status: http.StatusOK, about: "The sheet, with its text.", body: sheetShown{}}},
			codes:    notFound,
		},

		{
			method:   http.MethodDelete,
			path:     "/v1/rate-sheets/{name}",
			id:       "removeRateSheet",
			tag:      "Rate sheets",
			summary:  "Remove a rate sheet",
			scope:    "routing",
			terms:    true,
			handler:  handle(s.removeSheet),
			outcomes: []outcome{{status: http.StatusNoContent, about: "The sheet was removed."}},
			codes:    notFound,
		},
	}
}
