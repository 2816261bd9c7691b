package api

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/budget"
)

// maxBatchBody is the size of a batch in bytes. It is read as a stream.
const maxBatchBody = 16 << 20

// batchRoutes buy many shipments with one request.
func (s *server) batchRoutes() []*route {
	labels := func(path, id, format string) *route {
		rt := &route{
			method:  http.MethodGet,
			path:    path,
			id:      id,
			tag:     "Batches",
			summary: "Get the labels of a batch as " + format,
			scope:   "labels",
			notes:   "batch.printed",
			outcomes: []outcome{{
				status:  http.StatusOK,
				about:   "Up to 500 labels, in the order of the lines.",
				headers: []string{"X-Labels", "X-Labels-Excluded", "Cache-Control", "Content-Disposition"},
			}},
			codes: []string{"batch_not_found", "label_not_ready", "format_unavailable", "label_quarantined", "label_erased", "labels_preparing"},
		}
		rt.handler = handle(s.batchPDF)
		if format == "ZPL" {
			rt.handler = handle(s.batchZPL)
		}
		return rt
	}

	return []*route{
		{
			method:  http.MethodPost,
			path:    "/v1/batches",
			id:      "createBatch",
			tag:     "Batches",
			summary: "Create a batch",
			scope:   "shipments:write",
			maxBody: maxBatchBody,
			memory:  budget.Orders,
			list:    "shipments",

			// The key is stored together with the batch: a crash must not leave
			// one without the other.
			purchase: true,

			handler: handle(s.createBatch),
			outcomes: []outcome{{
				status:  http.StatusAccepted,
				about:   "The batch, which is bought in the background.",
				body:    batchShown{},
				headers: []string{"Location", "Retry-After", "Idempotent-Replayed"},
			}},
			codes: []string{"storage_quota_reached"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/batches",
			id:       "listBatches",
			tag:      "Batches",
			summary:  "List batches",
			scope:    "shipments:read",
			handler:  handle(s.listBatches),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of batches, newest first.", body: page[batchShown]{}}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/batches/{id}",
			id:       "getBatch",
			notes:    "batch.listed",
			tag:      "Batches",
			summary:  "Get a batch",
			scope:    "shipments:read",
			handler:  handle(s.getBatch),
			outcomes: []outcome{{status: http.StatusOK, about: "The batch and a page of its lines, in their order.", body: batchWithLines{}}},
			codes:    []string{"batch_not_found", "invalid_cursor"},
		},
		labels("/v1/batches/{id}/labels.pdf", "getBatchLabelsPdf", "PDF"),
		labels("/v1/batches/{id}/labels.zpl", "getBatchLabelsZpl", "ZPL"),
	}
}
