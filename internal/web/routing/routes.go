package routing

import (
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the routing rules and the rate sheets.
func Routes() []site.Route {
	upload := site.Post("/app/{account}/{mode}/rate-sheets", member.ManageRouting, importSheet)
	upload.MaxBytes = sheet.MaxBytes + 1<<16 // the file and the other fields
	upload.Memory = budget.Sheet

	return []site.Route{
		site.Get("/app/{account}/{mode}/routing", member.ViewRouting, getRules),
		site.Post("/app/{account}/{mode}/routing", member.ManageRouting, changeRules),

		site.Get("/app/{account}/{mode}/routing/rule", member.ViewRouting, getRule),
		site.Post("/app/{account}/{mode}/routing/rule", member.ManageRouting, saveRule),
		site.Post("/app/{account}/{mode}/routing/rule/form", member.ManageRouting, getRuleForm),
		site.Post("/app/{account}/{mode}/routing/rule/check", member.ManageRouting, checkRule),

		site.Get("/app/{account}/{mode}/routing/try", member.BuyShipments, getTry),
		site.Post("/app/{account}/{mode}/routing/try", member.BuyShipments, tryRules),

		site.Get("/app/{account}/{mode}/routing/backtest", member.ViewRouting, getBacktest),
		site.Post("/app/{account}/{mode}/routing/backtest", member.ViewRouting, runBacktest),
		site.Post("/app/{account}/{mode}/routing/backtest.csv", member.ExportShipments, exportBacktest),

		site.Get("/app/{account}/{mode}/routing/publish", member.ManageRouting, getPublish),
		site.Post("/app/{account}/{mode}/routing/publish", member.ManageRouting, publishRules),

		site.Get("/app/{account}/{mode}/routing/history", member.ViewRouting, listVersions),
		site.Get("/app/{account}/{mode}/routing/history.csv", member.ViewRouting, exportVersions),
		site.Get("/app/{account}/{mode}/routing/versions/{id}", member.ViewRouting, getVersion),
		site.Get("/app/{account}/{mode}/routing/versions/{id}/rules.json", member.ViewRouting, downloadVersion),
		site.Post("/app/{account}/{mode}/routing/versions/{id}", member.ManageRouting, rollBack),

		site.Get("/app/{account}/{mode}/rate-sheets", member.ViewRouting, listSheets),
		site.Get("/app/{account}/{mode}/rate-sheets.csv", member.ViewRouting, exportSheets),
		upload,
		site.Get("/app/{account}/{mode}/rate-sheets/{id}", member.ViewRouting, getSheet),
		site.Get("/app/{account}/{mode}/rate-sheets/{id}/sheet.csv", member.ViewRouting, downloadSheet),
		site.Get("/app/{account}/{mode}/rate-sheets/{id}/versions.csv", member.ViewRouting, exportSheetVersions),
		site.Post("/app/{account}/{mode}/rate-sheets/{id}", member.ManageRouting, removeSheet),
		site.Get("/app/{account}/{mode}/rate-sheet-template.csv", member.ViewRouting, downloadSheetTemplate),
	}
}
