package shipping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// How files of many labels are made. Some carriers sell labels that take a fifth of a
// second each to be drawn for a label printer, so a day's labels take longer than a
// request may: a job renders them, and keeps each rendering for the file that is
// requested next.
const (
	fewLabels       = 12               // that are always rendered within the request
	convertTogether = 8                // labels between two looks at the clock; other conversions wait meanwhile
	labelFileTurn   = 15 * time.Second // how long a job works before it lets others
	labelFilePause  = 10 * time.Millisecond
	slowestLabels   = 10 * time.Second // that converting and keeping some labels takes
	preparingAgain  = 2 * time.Second  // after which a client asks again

	// Renderings are kept for a few days: most files are printed again soon or not
	// at all.
	renderingRetention = 7 * 24 * time.Hour
)

// Preparing is the error of a file of labels that a job is preparing.
type Preparing struct {
	File  ship.LabelFileID
	Ready int // labels that are rendered
	Total int // that need to be rendered
}

func (p *Preparing) Error() string { return p.Unwrap().Error() }

// Unwrap is the error that clients receive.
func (p *Preparing) Unwrap() error {
	refusal := ship.Coded(ship.Unavailable, "labels_preparing",
		"the file is being prepared: %d of %d labels are ready; wait for the number of seconds in Retry-After and send the same request again", p.Ready, p.Total)
	refusal.RetryAfter = preparingAgain
	refusal.Details = map[string]any{"labelsReady": p.Ready, "labelsTotal": p.Total}
	return refusal
}

// newLabelFile returns the file of these labels, in their order.
func newLabelFile(t ship.Tenant, shipments []ship.ShipmentID, o label.Options) store.LabelFile {
	format := store.LabelFormat{Format: string(o.Format), Size: string(o.Size), DPI: o.DPI}
	sum := sha256.New()
	fmt.Fprintln(sum, format)
	for _, id := range shipments {
		fmt.Fprintln(sum, id)
	}

	return store.LabelFile{
		Tenant:    t,
		Key:       hex.EncodeToString(sum.Sum(nil)[:16]),
		Shipments: shipments,
		Format:    format,
	}
}

// checkPreparing returns a *Preparing if a job is at work on the file with the key.
func (s *Service) checkPreparing(ctx context.Context, key string, t ship.Tenant) error {
	file, err := s.store.LabelFileOfKey(ctx, t, key)
	if ship.KindOf(err) == ship.NotFound || err == nil && file.IsReady {
		return nil
	}
	if err != nil {
		return err
	}
	return s.preparing(ctx, file)
}

// preparing is the error of a file that is not ready, with how far it is.
func (s *Service) preparing(ctx context.Context, file store.LabelFile) error {
	rendered, err := s.store.LabelRenderings(ctx, file.Tenant, file.Shipments, file.Format, false)
	if err != nil {
		return err
	}
	return &Preparing{
		File:  file.ID,
		Ready: min(len(rendered), file.Conversions),
		Total: file.Conversions,
	}
}

// A PreparedLabels is a file of labels that was asked for, and how far it is.
type PreparedLabels struct {
	store.LabelFile
	Ready int // labels that are rendered
}

// LabelFile returns how far a file of labels is.
func (s *Service) LabelFile(ctx context.Context, t ship.Tenant, id ship.LabelFileID) (PreparedLabels, error) {
	file, err := s.store.LabelFile(ctx, t, id)
	if err != nil {
		return PreparedLabels{}, err
	}
	if file.IsReady {
		return PreparedLabels{LabelFile: file, Ready: file.Conversions}, nil
	}

	progress, isPreparing := errors.AsType[*Preparing](s.preparing(ctx, file))
	if !isPreparing {
		return PreparedLabels{LabelFile: file}, nil
	}
	return PreparedLabels{LabelFile: file, Ready: progress.Ready}, nil
}

// labelParts returns the labels of a file, rendered where that takes time. If it takes
// longer than a request may, what is rendered is kept, and a job goes on.
func (s *Service) labelParts(ctx context.Context, file store.LabelFile, o label.Options) ([]label.Part, error) {
	parts, open, err := s.knownParts(ctx, file, o)
	if err != nil {
		return nil, err
	}

	start := time.Now()
	done := 0
	for chunk := range slices.Chunk(open, convertTogether) {
		if done > 0 && len(open) > fewLabels && time.Since(start) > s.waits.Labels {
			if err := s.keepRenderings(ctx, file, parts, open[:done]); err != nil {
				return nil, err
			}
			file.Conversions = countConversions(parts, o)
			return nil, s.startPreparing(ctx, file)
		}
		if err := s.convertParts(parts, chunk, o); err != nil {
			return nil, err
		}
		done += len(chunk)
	}
	return parts, nil
}

// knownParts reads the labels of a file, and what of them was rendered before. open are
// the positions of those that are yet to be rendered.
func (s *Service) knownParts(ctx context.Context, file store.LabelFile, o label.Options) (parts []label.Part, open []int, err error) {
	parts = make([]label.Part, len(file.Shipments))
	size := 0
	for from := 0; from < len(parts); from += labelsAtOnce {
		ids := file.Shipments[from:min(from+labelsAtOnce, len(parts))]
		stored, err := s.store.Labels(ctx, file.Tenant, ids)
		if err != nil {
			return nil, nil, err
		}
		rendered, err := s.store.LabelRenderings(ctx, file.Tenant, ids, file.Format, true)
		if err != nil {
			return nil, nil, err
		}

		for i, id := range ids {
			part := label.Part{Label: stored[id]}
			if size += len(part.Data); checkSize(size) != nil {
				return nil, nil, checkSize(size)
			}
			if known, ok := rendered[id]; ok {
				part = partOf(part.Label.Format, known)
			} else if label.NeedsConversion(part.Label, o) {
				open = append(open, from+i)
			}
			parts[from+i] = part
		}
	}
	return parts, open, nil
}

// partOf is a label that was rendered before. Its own bytes are not needed.
func partOf(format string, known store.LabelRendering) label.Part {
	part := label.Part{Label: ship.Label{Format: format}, Rendered: known.Data}
	if known.Code != "" {
		kind := ship.Conflict
		if known.Code == "format_unavailable" {
			kind = ship.Unsupported
		}
		part.Refused = ship.Coded(kind, known.Code, "%s", known.Message)
	}
	return part
}

// convertParts renders some of the parts.
func (s *Service) convertParts(parts []label.Part, positions []int, o label.Options) error {
	labels := make([]ship.Label, len(positions))
	for i, position := range positions {
		labels[i] = parts[position].Label
	}

	converted, err := s.labels.Convert(labels, o)
	if err != nil {
		return err
	}
	for i, position := range positions {
		parts[position] = converted[i]
	}
	return nil
}

// countConversions is how many of the parts need to be rendered, or were.
func countConversions(parts []label.Part, o label.Options) (n int) {
	for _, part := range parts {
		if label.NeedsConversion(part.Label, o) {
			n++
		}
	}
	return n
}

// keepRenderings keeps the parts at the positions for the files that follow.
func (s *Service) keepRenderings(ctx context.Context, file store.LabelFile, parts []label.Part, positions []int) error {
	for chunk := range slices.Chunk(positions, labelsAtOnce) {
		var list []store.LabelRendering
		for _, position := range chunk {
			list = append(list, renderingOf(file.Shipments[position], parts[position]))
		}
		if err := s.store.SaveLabelRenderings(ctx, file.Tenant, file.Format, list); err != nil {
			return err
		}
	}
	return nil
}

// renderingOf is what is kept of a part that was rendered.
func renderingOf(id ship.ShipmentID, part label.Part) store.LabelRendering {
	if part.Refused != nil {
		return store.LabelRendering{Shipment: id, Code: ship.CodeOf(part.Refused), Message: part.Refused.Error()}
	}
	return store.LabelRendering{Shipment: id, Data: part.Rendered}
}

// startPreparing has a job render the labels of a file, and returns how far it is.
func (s *Service) startPreparing(ctx context.Context, file store.LabelFile) error {
	file.ID = ship.NewLabelFileID(file.Tenant.Shard(), time.Now())
	err := s.store.InTx(ctx, file.Tenant, func(tx *store.Store) error {
		isNew, err := tx.PrepareLabelFile(ctx, file)
		if err != nil || !isNew {
			return err
		}

		// A file that was prepared before keeps its id.
		stored, err := tx.LabelFileOfKey(ctx, file.Tenant, file.Key)
		if err != nil {
			return err
		}
		return tx.Enqueue(ctx, job.PrepareLabels{
			Account:  file.Tenant.Account,
			Livemode: file.Tenant.Livemode,
			File:     stored.ID,
		}, 0)
	})
	if err != nil {
		return err
	}

	stored, err := s.store.LabelFileOfKey(ctx, file.Tenant, file.Key)
	if err != nil {
		return err
	}
	return s.preparing(ctx, stored)
}

// PrepareLabels goes on with a file of labels for a while. What it returns beside the
// error is after how long to continue; zero when it is done. What was rendered is kept,
// so it can end anywhere and be called again.
func (s *Service) PrepareLabels(ctx context.Context, t ship.Tenant, id ship.LabelFileID) (time.Duration, error) {
	file, err := s.store.LabelFile(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound || err == nil && file.IsReady {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}

	until := time.Now().Add(labelFileTurn)
	isLate := job.Lateness(ctx, slowestLabels)
	options := label.Options{
		Format: label.Format(file.Format.Format),
		Size:   label.Size(file.Format.Size),
		DPI:    file.Format.DPI,
		Owner:  t.Account,
	}
	for ids := range slices.Chunk(file.Shipments, convertTogether) {
		if time.Now().After(until) || isLate() {
			return labelFilePause, nil
		}
		if err := s.renderLabels(ctx, file, ids, options); err != nil {
			return 0, err
		}
	}
	return 0, s.store.FinishLabelFile(ctx, t, id)
}

// renderLabels renders and keeps those of the labels that are not yet rendered. Labels
// that were voided or erased meanwhile are left out.
func (s *Service) renderLabels(ctx context.Context, file store.LabelFile, ids []ship.ShipmentID, o label.Options) error {
	rendered, err := s.store.LabelRenderings(ctx, file.Tenant, ids, file.Format, false)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id ship.ShipmentID) bool {
		_, isRendered := rendered[id]
		return isRendered
	})
	if ids, err = s.readyLabels(ctx, file.Tenant, ids); err != nil || len(ids) == 0 {
		return err
	}

	file.Shipments = ids
	parts, open, err := s.knownParts(ctx, file, o)
	if err != nil || len(open) == 0 {
		return err
	}
	if err := s.convertParts(parts, open, o); err != nil {
		return err
	}
	return s.keepRenderings(ctx, file, parts, open)
}

// DeleteOldLabelFiles deletes files of labels past their time, and their renderings.
func (s *Service) DeleteOldLabelFiles(ctx context.Context, now time.Time) error {
	for {
		n, err := s.store.DeleteOldLabelFiles(ctx, now.Add(-renderingRetention))
		if err != nil || n == 0 {
			return err
		}
	}
}
