package privacy

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// ResealErasures brings the subjects of erasures that are not done under the box's
// present key, and calls report for each that needs it. The erasures go on
// meanwhile.
func ResealErasures(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedErasures, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		id := ship.ErasureIDOf(row.ID)
		resealed, err := box.ResealEach(row.Secrets, func(int) []string { return binding(row.Tenant, string(id)) })
		if err != nil {
			err = fmt.Errorf("subject of %s: %w", id, err)
		}
		report(err)
		return resealed
	})
}

// ResealExports brings the subjects and the files of exports under the box's
// present key, and calls report for each export that needs it.
func ResealExports(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedExports, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		id := ship.ExportIDOf(row.ID)
		resealed, err := box.ResealEach(row.Secrets, func(i int) []string {
			return [][]string{subjectBinding(row.Tenant, id), fileBinding(row.Tenant, id)}[i]
		})
		if err != nil {
			err = fmt.Errorf("subject or file of %s: %w", id, err)
		}
		report(err)
		return resealed
	})
}

// The bindings of what an export holds.
func subjectBinding(t ship.Tenant, id ship.ExportID) []string { return binding(t, string(id)) }

func fileBinding(t ship.Tenant, id ship.ExportID) []string { return binding(t, string(id)+" file") }
