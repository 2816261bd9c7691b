// Package job holds the arguments of background jobs as plain data. A job
// commits with the row it belongs to.
package job

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Lateness returns what reports whether a job may be cut off before one more step of
// it is done, of which the slowest takes so long. A job that has little time begins
// steps in the first half of it.
func Lateness(ctx context.Context, slowest time.Duration) (isLate func() bool) {
	end, isLimited := ctx.Deadline()
	last := end.Add(-min(slowest, time.Until(end)/2))
	return func() bool { return isLimited && time.Now().After(last) }
}

// SettlePurchase finds out what became of a purchase that was left open.
type SettlePurchase struct {
	Account  ship.AccountID  `json:"account"`
	Livemode bool            `json:"livemode"`
	Shipment ship.ShipmentID `json:"shipment"`
}

// Kind names the job in the queue.
func (SettlePurchase) Kind() string { return "settle_purchase" }

// SettleVoid finds out what became of a void that was left open.
type SettleVoid struct {
	Account  ship.AccountID  `json:"account"`
	Livemode bool            `json:"livemode"`
	Shipment ship.ShipmentID `json:"shipment"`
}

// Kind names the job in the queue.
func (SettleVoid) Kind() string { return "settle_void" }

// SweepPurchases enqueues the jobs of open purchases and voids whose job was lost.
type SweepPurchases struct{}

// Kind names the job in the queue.
func (SweepPurchases) Kind() string { return "sweep_purchases" }

// MaintainPartitions makes the partitions that the near future needs and drops
// what is past its time.
type MaintainPartitions struct{}

// Kind names the job in the queue.
func (MaintainPartitions) Kind() string { return "maintain_partitions" }

// DeleteIdempotencyKeys deletes idempotency keys past their time.
type DeleteIdempotencyKeys struct{}

// Kind names the job in the queue.
func (DeleteIdempotencyKeys) Kind() string { return "delete_idempotency_keys" }

// DeleteBatches deletes files of orders past their time.
type DeleteBatches struct{}

// Kind names the job in the queue.
func (DeleteBatches) Kind() string { return "delete_batches" }

// NotifyOwners writes to those whose webhook endpoints were given up.
type NotifyOwners struct{}

// Kind names the job in the queue.
func (NotifyOwners) Kind() string { return "notify_owners" }

// ProbeEndpoint tries a parked webhook endpoint until it answers.
type ProbeEndpoint struct {
	Account  ship.AccountID  `json:"account"`
	Livemode bool            `json:"livemode"`
	Endpoint ship.EndpointID `json:"endpoint"`
}

// Kind names the job in the queue.
func (ProbeEndpoint) Kind() string { return "probe_endpoint" }

// Queue is the job's own: endpoints that are down must not hold up money.
func (ProbeEndpoint) Queue() string { return "webhooks" }

// VoidOrphanedLabel takes a label back that was sold and that nobody may use.
type VoidOrphanedLabel struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Carrier  string         `json:"carrier"`
	Number   string         `json:"number"`
}

// Kind names the job in the queue.
func (VoidOrphanedLabel) Kind() string { return "void_orphaned_label" }

// MeasureDelay looks up a label that a certification bought, until the carrier
// shows it, and then voids the label.
type MeasureDelay struct {
	Account    ship.AccountID    `json:"account"`
	Livemode   bool              `json:"livemode"`
	Connection ship.ConnectionID `json:"connection"`
	Shipment   ship.ShipmentID   `json:"shipment"` // of the certification; it has no row

	Carrier        string    `json:"carrier"`
	Service        string    `json:"service"`
	Selection      string    `json:"selection,omitempty"`
	Sample         string    `json:"sample"` // which order was bought
	Reference      string    `json:"reference"`
	CarrierRef     string    `json:"carrierRef,omitempty"`
	TrackingNumber string    `json:"trackingNumber"`
	Pieces         []string  `json:"pieces,omitempty"`
	PreparedAt     time.Time `json:"preparedAt"` // of the orders of the certification
	BoughtAt       time.Time `json:"boughtAt"`

	Measured bool `json:"measured"` // only the void is left
}

// Kind names the job in the queue.
func (MeasureDelay) Kind() string { return "measure_delay" }

// Queue is that of handovers: copies of v0.1.0 do not work on it.
func (MeasureDelay) Queue() string { return "handover" }

// SweepAttempts looks for labels that turned up late.
type SweepAttempts struct{}

// Kind names the job in the queue.
func (SweepAttempts) Kind() string { return "sweep_attempts" }

// WorkBatch goes on with a batch: asks for its rates, or buys it.
type WorkBatch struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Batch    ship.BatchID   `json:"batch"`
}

// Kind names the job in the queue.
func (WorkBatch) Kind() string { return "work_batch" }

// BuyBatch buys a batch that came by the API.
type BuyBatch struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Batch    ship.BatchID   `json:"batch"`
}

// Kind names the job in the queue.
func (BuyBatch) Kind() string { return "buy_batch" }

// Queue is the job's own: thousands of lines must not hold up the settlement of
// purchases, and a copy of an earlier release does not take jobs that it would
// read as files.
func (BuyBatch) Queue() string { return "batches" }

// WorkBulkAction goes on with an action on many shipments.
type WorkBulkAction struct {
	Account  ship.AccountID    `json:"account"`
	Livemode bool              `json:"livemode"`
	Action   ship.BulkActionID `json:"action"`
}

// Kind names the job in the queue.
func (WorkBulkAction) Kind() string { return "work_bulk_action" }

// Queue is that of batches: hundreds of shipments must not hold up the settlement
// of purchases. Copies of v0.1.0 do not work on it.
func (WorkBulkAction) Queue() string { return "batches" }

// PrepareLabels renders the labels of a file that takes longer than a request may.
type PrepareLabels struct {
	Account  ship.AccountID   `json:"account"`
	Livemode bool             `json:"livemode"`
	File     ship.LabelFileID `json:"file"`
}

// Kind names the job in the queue.
func (PrepareLabels) Kind() string { return "prepare_labels" }

// Queue is that of batches: hundreds of labels must not hold up the settlement of
// purchases.
func (PrepareLabels) Queue() string { return "batches" }

// Erase goes on with an erasure of personal data.
type Erase struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Erasure  ship.ErasureID `json:"erasure"`
}

// Kind names the job in the queue.
func (Erase) Kind() string { return "erase" }

// Queue is the job's own: an erasure that reads a large account must not hold up
// money.
func (Erase) Queue() string { return "privacy" }

// Export makes a file with what is held about somebody.
type Export struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Export   ship.ExportID  `json:"export"`
}

// Kind names the job in the queue.
func (Export) Kind() string { return "export" }

// Queue is that of erasures: a large account must not hold up money.
func (Export) Queue() string { return "privacy" }

// DeleteExports deletes files of exports past their time.
type DeleteExports struct{}

// Kind names the job in the queue.
func (DeleteExports) Kind() string { return "delete_exports" }

// Queue is that of erasures. Copies of v0.1.0 do not know the job, and take those of
// the default queue.
func (DeleteExports) Queue() string { return "privacy" }

// ExpireShipments drops the years of shipments that are kept no longer.
type ExpireShipments struct{}

// Kind names the job in the queue.
func (ExpireShipments) Kind() string { return "expire_shipments" }

// Queue is that of erasures. Copies of v0.1.0 do not know the job, and take those of
// the default queue.
func (ExpireShipments) Queue() string { return "privacy" }

// EraseExpired erases the personal data that accounts or the installation keep no
// longer.
type EraseExpired struct{}

// Kind names the job in the queue.
func (EraseExpired) Kind() string { return "erase_expired" }

// Queue is that of erasures. Copies of v0.1.0 do not know the job, and take those of
// the default queue.
func (EraseExpired) Queue() string { return "privacy" }

// NotifyBreakGlass writes to the owners of an account that one of them has reached
// it without the single sign-on that it requires.
type NotifyBreakGlass struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"` // always false: people belong to both modes
	Person   ship.PersonID  `json:"person"`
}

// Kind names the job in the queue.
func (NotifyBreakGlass) Kind() string { return "notify_break_glass" }

// Queue is that of erasures. Copies of v0.1.0 do not know the job, and take those of
// the default queue.
func (NotifyBreakGlass) Queue() string { return "privacy" }

// SettlePickup finds out what became of a pickup, or of its cancellation, that
// was left open.
type SettlePickup struct {
	Account  ship.AccountID `json:"account"`
	Livemode bool           `json:"livemode"`
	Pickup   ship.PickupID  `json:"pickup"`
}

// Kind names the job in the queue.
func (SettlePickup) Kind() string { return "settle_pickup" }

// Queue is the job's own. Copies of v0.1.0 do not know the job, and take those of
// the other queues.
func (SettlePickup) Queue() string { return "handover" }

// SettleManifest finds out what became of a manifest that was left open.
type SettleManifest struct {
	Account  ship.AccountID  `json:"account"`
	Livemode bool            `json:"livemode"`
	Manifest ship.ManifestID `json:"manifest"`
}

// Kind names the job in the queue.
func (SettleManifest) Kind() string { return "settle_manifest" }

// Queue is that of pickups.
func (SettleManifest) Queue() string { return "handover" }

// SendDocuments sends the uploaded documents of a shipment to its carrier, and
// finds out what became of those whose answer was lost.
type SendDocuments struct {
	Account  ship.AccountID  `json:"account"`
	Livemode bool            `json:"livemode"`
	Shipment ship.ShipmentID `json:"shipment"`
}

// Kind names the job in the queue.
func (SendDocuments) Kind() string { return "send_documents" }

// Queue is that of pickups.
func (SendDocuments) Queue() string { return "handover" }

// FulfilReturn buys and sends the label of a return that a recipient asked for and
// that was approved, or mails that it was denied.
type FulfilReturn struct {
	Account  ship.AccountID       `json:"account"`
	Livemode bool                 `json:"livemode"`
	Request  ship.ReturnRequestID `json:"request"`
}

// Kind names the job in the queue.
func (FulfilReturn) Kind() string { return "fulfil_return" }

// Queue is the job's own: a mail server that is down must not hold up other work,
// and copies of v0.1.0 do not know the job.
func (FulfilReturn) Queue() string { return "returns" }
