package shipping_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// manyLabels are more than are always rendered within a request.
const manyLabels = 14

// buyMany buys labels that are sold as PDF, which takes time to be drawn as ZPL.
func (b liveBench) buyMany(t *testing.T, n int) (ids []ship.ShipmentID) {
	t.Helper()
	for i := range n {
		bought, err := b.Buy(t.Context(), b.order(i+1))
		if err != nil || bought.Pending {
			t.Fatalf("label %d: pending %t, %v", i+1, bought.Pending, err)
		}
		ids = append(ids, bought.Shipment.ID)
	}
	return ids
}

// TestALargeFileOfLabelsIsPreparedByAJob asks for a file that takes longer than a
// request may: what the request rendered is kept, the job renders the rest, and then
// the file is answered from what is kept.
func TestALargeFileOfLabelsIsPreparedByAJob(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "dhl_express", func(s *settings) { s.Waits.Labels = time.Nanosecond })
	ids := b.buyMany(t, manyLabels)
	zpl := label.Options{Format: label.ZPL, Size: label.Size4x6, DPI: 203}

	_, err := b.Labels(t.Context(), b.tenant, ids, zpl)
	preparing, ok := errors.AsType[*shipping.Preparing](err)
	if !ok || preparing.Ready == 0 || preparing.Ready == manyLabels || preparing.Total != manyLabels {
		t.Fatalf("%+v, %v; want some of %d labels", preparing, err, manyLabels)
	}
	refusal, ok := errors.AsType[*ship.Error](err)
	if !ok || refusal.Kind != ship.Unavailable || refusal.Code != "labels_preparing" || refusal.RetryAfter == 0 {
		t.Errorf("the client gets %+v", refusal)
	}

	// The same request starts no second job, and no work of its own.
	_, err = b.Labels(t.Context(), b.tenant, ids, zpl)
	if again, ok := errors.AsType[*shipping.Preparing](err); !ok || *again != *preparing {
		t.Errorf("the second request: %+v, %v; want %+v", again, err, preparing)
	}
	conn := storetest.Conn(t, b.url)
	var jobs int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'prepare_labels'`).Scan(&jobs); err != nil || jobs != 1 {
		t.Errorf("%d jobs, %v; want one", jobs, err)
	}

	b.prepare(t, preparing.File)
	progress, err := b.LabelFile(t.Context(), b.tenant, preparing.File)
	if err != nil || !progress.IsReady || progress.Ready != manyLabels {
		t.Errorf("%+v, %v; want ready", progress, err)
	}

	file, err := b.Labels(t.Context(), b.tenant, ids, zpl)
	if err != nil || file.Included != manyLabels || bytes.Count(file.Data, []byte("^XA")) != manyLabels {
		t.Fatalf("%d labels, %v", file.Included, err)
	}
	alone, err := b.Label(t.Context(), b.tenant, ids[0], zpl)
	if err != nil || !bytes.HasPrefix(file.Data, alone.Data) {
		t.Errorf("the first label differs from the one that is printed alone; %v", err)
	}

	// Another format is another file.
	_, err = b.Labels(t.Context(), b.tenant, ids, label.Options{Format: label.ZPL, Size: label.Size4x6, DPI: 300})
	if other, ok := errors.AsType[*shipping.Preparing](err); !ok || other.File == preparing.File {
		t.Errorf("300 dpi: %+v, %v", other, err)
	}

	// A label that is no longer kept is not printed from its rendering.
	if _, err := conn.Exec(t.Context(), `DELETE FROM labels WHERE shipment_id = $1`, [16]byte(ids[0].Raw())); err != nil {
		t.Fatal(err)
	}
	file, err = b.Labels(t.Context(), b.tenant, ids, zpl)
	if err != nil || file.Included != manyLabels-1 || file.Excluded[ids[0]] == nil {
		t.Errorf("without the first label: %d labels, left out %v, %v", file.Included, file.Excluded, err)
	}
}

// prepare does the work of the job.
func (b liveBench) prepare(t *testing.T, id ship.LabelFileID) {
	t.Helper()
	for again := time.Nanosecond; again > 0; {
		var err error
		if again, err = b.PrepareLabels(t.Context(), b.tenant, id); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPreparedLabelsAreDeletedAfterSomeDays prepares a file, lets it expire and asks
// for it again.
func TestPreparedLabelsAreDeletedAfterSomeDays(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "dhl_express", func(s *settings) { s.Waits.Labels = time.Nanosecond })
	ids := b.buyMany(t, manyLabels)
	zpl := label.Options{Format: label.ZPL, Size: label.Size4x6, DPI: 203}
	_, err := b.Labels(t.Context(), b.tenant, ids, zpl)
	preparing, ok := errors.AsType[*shipping.Preparing](err)
	if !ok {
		t.Fatal(err)
	}
	b.prepare(t, preparing.File)

	if err := b.DeleteOldLabelFiles(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.LabelFile(t.Context(), b.tenant, preparing.File); err != nil {
		t.Errorf("a new file: %v", err)
	}
	if err := b.DeleteOldLabelFiles(t.Context(), time.Now().AddDate(0, 0, 8)); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := storetest.Conn(t, b.url).QueryRow(t.Context(), `SELECT count(*) FROM label_renderings`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d renderings are left, %v", left, err)
	}
	if _, err := b.LabelFile(t.Context(), b.tenant, preparing.File); ship.KindOf(err) != ship.NotFound {
		t.Errorf("the file: %v, want not found", err)
	}

	_, err = b.Labels(t.Context(), b.tenant, ids, zpl)
	if again, ok := errors.AsType[*shipping.Preparing](err); !ok || again.Ready == manyLabels {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
}
