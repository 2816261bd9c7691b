package carriers

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the carrier connections.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/carriers", member.ViewConnections, listConnections),
		site.Get("/app/{account}/{mode}/carriers.csv", member.ViewConnections, exportConnections),
		site.Get("/app/{account}/{mode}/differences.csv", member.ViewConnections, exportDifferences),
		site.Get("/app/{account}/{mode}/connect/{carrier}", member.ManageConnections, getConnectForm),
		site.Post("/app/{account}/{mode}/connect/{carrier}", member.ManageConnections, connect),
		site.Get("/app/{account}/{mode}/carriers/{id}", member.ViewConnections, getConnection),
		site.Post("/app/{account}/{mode}/carriers/{id}", member.ManageConnections, changeConnection),
		site.Post("/app/{account}/{mode}/carriers/{id}/check", member.CheckConnections, checkConnection),
	}
}
