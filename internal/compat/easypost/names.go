package easypost

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed names.tsv
var namesTable string

//go:embed packages.tsv
var packagesTable string

// A serviceName is a service under both names.
type serviceName struct{ carrier, service, theirCarrier, theirService string }

// serviceNames are the services that have another name there, the carrier of test
// tracking codes first.
var serviceNames = sync.OnceValue(func() (list []serviceName) {
	for line := range strings.Lines(namesTable) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) == 4 {
			list = append(list, serviceName{cells[0], cells[1], cells[2], cells[3]})
		}
	}
	return list
})

// theirCarrier returns what EasyPost calls a carrier; its own name if it has none
// there, such as that of a plug-in.
func theirCarrier(carrier string) string {
	for _, name := range serviceNames() {
		if name.carrier == carrier {
			return name.theirCarrier
		}
	}
	return carrier
}

// theirService returns what EasyPost calls a service.
func theirService(carrier, service string) string {
	for _, name := range serviceNames() {
		if name.carrier == carrier && name.service == service {
			return name.theirService
		}
	}
	return service
}

// ownCarrier returns the name of a carrier here. Accounts there have names such as
// UPSDAP or FedExDefault for their own contracts.
func ownCarrier(theirs string) string {
	if theirs == "" {
		return ""
	}
	folded := strings.ToLower(theirs)
	for _, name := range serviceNames() {
		if folded == strings.ToLower(name.theirCarrier) || folded == name.carrier {
			return name.carrier
		}
	}
	for _, suffix := range []string{"default", "dap", "returns"} {
		if short, ok := strings.CutSuffix(folded, suffix); ok && short != "" {
			return ownCarrier(short)
		}
	}
	return folded
}

// ownService reports whether a client means the service.
func isService(theirs, carrier, service string) bool {
	return strings.EqualFold(theirs, theirService(carrier, service)) || strings.EqualFold(theirs, service)
}

// ownPackage returns the code of a packaging here, and whether it is known. Their
// Parcel is the client's own box.
func ownPackage(theirs string) (code string, known bool) {
	if theirs == "" || strings.EqualFold(theirs, "parcel") {
		return "", true
	}
	for line := range strings.Lines(packagesTable) {
		name, code, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.EqualFold(name, theirs) {
			return code, true
		}
	}
	return "", false
}

// carrierAccountID returns the id of a carrier account there: of a connection, or of
// a simulated carrier, which has none.
func carrierAccountID(rate ship.Rate) string {
	if rate.Connection == "" {
		return "ca_" + rate.Carrier
	}
	return rate.Connection.Raw().IDWithPrefix("ca_")
}
