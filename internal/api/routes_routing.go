package api

import "net/http"

// routingRoutes change the rules that choose carriers.
func (s *server) routingRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: "/v1/routing", id: "getRouting", tag: "Routing", scope: "routing",
			summary: "Get the rules", handler: handle(s.getRouting),
			outcomes: []outcome{{http.StatusOK, "The rules that count and the draft.", rulesState{}, nil, false}},
		},
		{
			method: http.MethodPut, path: "/v1/routing/draft", id: "saveRoutingDraft", tag: "Routing", scope: "routing",
			summary: "Save a draft", handler: handle(s.saveDraft),
			outcomes: []outcome{{http.StatusOK, "The draft, with what looks wrong with it.", ruleDraft{}, nil, false}},
		},
		{
			method: http.MethodDelete, path: "/v1/routing/draft", id: "dropRoutingDraft", tag: "Routing", scope: "routing",
			summary: "Delete the draft", handler: handle(s.dropDraft),
			outcomes: []outcome{{http.StatusNoContent, "There is no draft now.", nil, nil, false}},
		},
		{
			method: http.MethodPost, path: "/v1/routing/publish", id: "publishRouting", tag: "Routing", scope: "routing",
			summary: "Publish the draft", handler: handle(s.publishRules),
			outcomes: []outcome{{http.StatusCreated, "The new version, which counts from the next purchase on.", ruleVersion{}, []string{"Location"}, false}},
			codes:    []string{"draft_not_found", "rules_changed", "draft_changed"},
		},
		{
			method: http.MethodPost, path: "/v1/routing/rollback", id: "rollBackRouting", tag: "Routing", scope: "routing",
			summary: "Roll back", handler: handle(s.rollBackRules),
			outcomes: []outcome{{http.StatusCreated, "The new version, with the rules of the earlier one.", ruleVersion{}, []string{"Location"}, false}},
			codes:    []string{"version_not_found", "rules_changed"},
		},
	}
}

// rulesRoutes read rules and try them.
func (s *server) rulesRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: "/v1/routing/versions", id: "listRoutingVersions", tag: "Routing", scope: "routing",
			summary: "List versions", handler: handle(s.listVersions),
			outcomes: []outcome{{http.StatusOK, "A page of versions, newest first.", page[ruleSummary]{}, nil, false}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method: http.MethodGet, path: "/v1/routing/versions/{version}", id: "getRoutingVersion", tag: "Routing", scope: "routing",
			summary: "Get a version", handler: handle(s.getVersion),
			outcomes: []outcome{{http.StatusOK, "The rules as they were published.", ruleVersion{}, nil, false}},
			codes:    []string{"version_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/routing/try", id: "tryRouting", tag: "Routing", scope: "routing", untold: changesNothing,
			summary: "Try rules on a shipment", handler: handle(s.tryRules),
			outcomes: []outcome{{http.StatusOK, "What would be bought, and why.", tried{}, nil, false}},
			codes:    []string{"carrier_rejected", "origin_required", "no_carrier", "no_rate", "carrier_unavailable", "draft_not_found"},
		},
		{
			method: http.MethodPost, path: "/v1/routing/simulate", id: "simulateRouting", tag: "Routing", scope: "routing", untold: changesNothing,
			summary: "Try rules on the past", handler: handle(s.simulateRules),
			outcomes: []outcome{{http.StatusOK, "What would have changed, and what it would have saved.", Simulation{}, nil, false}},
			codes:    []string{"draft_not_found", "version_not_found"},
		},
		{
			method: http.MethodGet, path: "/v1/routing/variables", id: "listRoutingVariables", tag: "Routing", scope: "routing",
			summary: "List the variables of conditions", handler: handle(s.listVariables),
			outcomes: []outcome{{http.StatusOK, "What conditions can read.", ruleVariables{}, nil, false}},
		},
	}
}

// sheetRoutes are about the prices of contracts.
func (s *server) sheetRoutes() []*route {
	missing := []string{"rate_sheet_not_found"}
	return []*route{
		{
			method: http.MethodPut, path: "/v1/rate-sheets/{name}", id: "importRateSheet", tag: "Rate sheets", scope: "routing", maxBody: maxSheetBody,
			summary: "Import a rate sheet", handler: handle(s.importSheet),
			outcomes: []outcome{
				{http.StatusOK, "The sheet, in place of the one before.", sheetShown{}, []string{"Location"}, false},
				{http.StatusCreated, "The first sheet of this name.", sheetShown{}, []string{"Location"}, false},
			},
			codes: []string{"invalid_rate_sheet", "rate_sheet_overlap"},
		},
		{
			method: http.MethodGet, path: "/v1/rate-sheets", id: "listRateSheets", tag: "Rate sheets", scope: "routing",
			summary: "List rate sheets", handler: handle(s.listSheets),
			outcomes: []outcome{{http.StatusOK, "The sheets that count, by name.", page[sheetShown]{}, nil, false}},
		},
		{
			method: http.MethodGet, path: "/v1/rate-sheets/{name}", id: "getRateSheet", tag: "Rate sheets", scope: "routing",
			summary: "Get a rate sheet", handler: handle(s.getSheet), codes: missing,
			outcomes: []outcome{{http.StatusOK, "The sheet, with its text.", sheetShown{}, nil, false}},
		},
		{
			method: http.MethodDelete, path: "/v1/rate-sheets/{name}", id: "removeRateSheet", tag: "Rate sheets", scope: "routing",
			summary: "Remove a rate sheet", handler: handle(s.removeSheet), codes: missing,
			outcomes: []outcome{{http.StatusNoContent, "The sheet counts no more.", nil, nil, false}},
		},
	}
}
