package job_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
)

// kinds are all kinds of jobs.
var kinds = []interface{ Kind() string }{
	job.SettlePurchase{},
	job.SettleVoid{},
	job.SweepPurchases{},
	job.MaintainPartitions{},
	job.DeleteIdempotencyKeys{},
	job.DeleteBatches{},
	job.NotifyOwners{},
	job.ProbeEndpoint{},
	job.VoidOrphanedLabel{},
	job.SweepAttempts{},
	job.WorkBatch{},
	job.BuyBatch{},
	job.WorkBulkAction{},
	job.PrepareLabels{},
	job.Erase{},
	job.Export{},
	job.DeleteExports{},
	job.EraseExpired{},
	job.ExpireShipments{},
	job.NotifyBreakGlass{},
	job.SettlePickup{},
	job.SettleManifest{},
	job.SendDocuments{},
	job.FulfilReturn{},
	job.MeasureDelay{},
}

// texts are the arguments that are no ids, and why a job has them. Nothing that
// names a person belongs here: jobs are kept for a while after they have run.
var texts = map[string]string{
	"void_orphaned_label.carrier": "the name of a carrier",
	"void_orphaned_label.number":  "an orphaned label is identified by its number; no parcel travels under it",

	"measure_delay.carrier":        certified,
	"measure_delay.service":        certified,
	"measure_delay.selection":      certified,
	"measure_delay.sample":         certified,
	"measure_delay.reference":      certified,
	"measure_delay.carrierRef":     certified,
	"measure_delay.trackingNumber": certified,
	"measure_delay.pieces":         certified,
	"measure_delay.preparedAt":     certified,
	"measure_delay.boughtAt":       certified,
	"measure_delay.measured":       certified,
}

const certified = "of a label that a certification bought, to a sample address; no row has it"

// TestTheArgumentsOfJobsNameATenantAndNobodyElse walks the arguments of every
// kind. The policy of the queue's table compares account and livemode with the
// tenant of the transaction, so a job about a tenant must have both.
func TestTheArgumentsOfJobsNameATenantAndNobodyElse(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, kind := range kinds {
		arguments := reflect.TypeOf(kind)
		known[arguments.Name()] = true
		if arguments.NumField() == 0 {
			continue
		}

		types := map[string]reflect.Type{}
		for i := range arguments.NumField() {
			field := arguments.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			types[name] = field.Type

			isID := field.Type.Kind() == reflect.String && field.Type.PkgPath() == reflect.TypeFor[ship.AccountID]().PkgPath() && strings.HasSuffix(field.Type.Name(), "ID")
			if path := kind.Kind() + "." + name; !isID && name != "livemode" && texts[path] == "" {
				t.Errorf("%s is no id: the queue's table is no place for what a client has sent", path)
			}
		}
		if types["account"] != reflect.TypeFor[ship.AccountID]() || types["livemode"] != reflect.TypeFor[bool]() {
			t.Errorf("%s has arguments, and no account and livemode: row-level security cannot tell whose job it is", kind.Kind())
		}
	}

	file, err := parser.ParseFile(token.NewFileSet(), "job.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok && function.Name.Name == "Kind" {
			if name := function.Recv.List[0].Type.(*ast.Ident).Name; !known[name] {
				t.Errorf("this test does not know %s", name)
			}
		}
	}
}
