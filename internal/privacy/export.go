package privacy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// The bounds of an export. The file is made and downloaded in one piece, and
// while it is encrypted or decrypted it is in memory twice.
const (
	exportLife      = 7 * 24 * time.Hour
	exportWindow    = 100
	maxExported     = 2000    // shipments
	maxExportedSize = 8 << 20 // bytes of labels and exchanges, before they are encoded
)

// RequestExport has a file made with what is held about somebody.
func (s *Service) RequestExport(ctx context.Context, t ship.Tenant, person ship.Person) (store.Export, error) {
	person, invalid := ship.NormalizePerson(person)
	if len(invalid) > 0 {
		return store.Export{}, ship.InvalidFields(invalid)
	}
	hash, err := s.Store.SubjectHash(ctx, t.Account, person)
	if err != nil {
		return store.Export{}, err
	}

	export := store.Export{
		ID:          ship.NewExportID(t.Shard(), s.now()),
		Tenant:      t,
		Kind:        person.Kind(),
		SubjectHash: hash,
		State:       store.ExportPending,
	}
	data, err := json.Marshal(person)
	if err != nil {
		return store.Export{}, fmt.Errorf("encode the subject of %s: %w", export.ID, err)
	}
	export.Encrypted = s.Box.Seal(data, subjectBinding(t, export.ID)...)
	return export, s.Store.AddExport(ctx, export, job.Export{Account: t.Account, Livemode: t.Livemode, Export: export.ID})
}

// Export returns an export, without its file.
func (s *Service) Export(ctx context.Context, t ship.Tenant, id ship.ExportID) (store.Export, error) {
	export, err := s.Store.Export(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return export, ship.Coded(ship.NotFound, "export_not_found", "no such export")
	}
	if err == nil && export.State == store.ExportDone && !s.now().Before(export.ExpiresAt) {
		export.State = store.ExportExpired
	}
	return export, err
}

// Exports lists exports, newest first.
func (s *Service) Exports(ctx context.Context, t ship.Tenant, p ship.Page) ([]store.Export, error) {
	return s.Store.Exports(ctx, t, p)
}

// ExportFile returns the file of an export.
func (s *Service) ExportFile(ctx context.Context, t ship.Tenant, id ship.ExportID) ([]byte, error) {
	export, err := s.Export(ctx, t, id)
	switch {
	case err != nil:
		return nil, err
	case export.State == store.ExportExpired:
		return nil, ship.Coded(ship.Gone, "export_expired", "the file was deleted; request another export")
	case export.State != store.ExportDone:
		e := ship.Coded(ship.Conflict, "export_not_ready", "the file is still being made")
		e.RetryAfter = 2 * time.Second
		return nil, e
	}

	sealed, err := s.Store.ExportFile(ctx, t, id)
	if err != nil {
		return nil, err
	}
	file, err := s.Box.Open(sealed, fileBinding(t, id)...)
	if err != nil {
		return nil, fmt.Errorf("decrypt the file of %s: %w", id, err)
	}
	return file, nil
}

// An exportedFile is what is held about a person.
type exportedFile struct {
	ID        string             `json:"id"`
	MadeAt    string             `json:"madeAt"`
	Person    string             `json:"person"` // the e-mail address or phone number that was given
	Shipments []exportedShipment `json:"shipments"`
	Trackers  []exportedTracker  `json:"trackers"`
	Lines     []exportedLine     `json:"orderFileLines"`
	Returns   []exportedReturn   `json:"returnRequests"`
	Objects   []exportedObject   `json:"compatObjects"`
	Pickups   []exportedPickup   `json:"pickups"`
	Notes     []string           `json:"notes"`

	terms []string // texts by which the person is found in what carriers wrote
}

// An exportedTracker is a tracker whose scans mention the person.
type exportedTracker struct {
	ID             string         `json:"id"`
	Carrier        string         `json:"carrier"`
	TrackingNumber string         `json:"trackingNumber"`
	TrackingEvents []exportedScan `json:"trackingEvents"`
}

type exportedShipment struct {
	wire.Shipment
	TrackingEvents []exportedScan     `json:"trackingEvents"`
	Label          *exportedLabel     `json:"label,omitempty"`
	Exchanges      []ExportedExchange `json:"carrierExchanges"`
}

type exportedScan struct {
	At          string `json:"timestamp"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Location    string `json:"location,omitempty"`
}

type exportedLabel struct {
	Format string `json:"format"`
	Data   []byte `json:"data"` // base64
}

// An ExportedExchange is a request to a carrier about a shipment, and its answer.
type ExportedExchange struct {
	At       string `json:"timestamp"`
	Request  string `json:"request"`
	Response string `json:"response"`
}

type exportedLine struct {
	Batch  string            `json:"batchId"`
	Number int               `json:"line"`
	Values map[string]string `json:"values"`
}

// An exportedReturn is a return that somebody asked for.
type exportedReturn struct {
	ID           string `json:"id"`
	At           string `json:"timestamp"`
	Shipment     string `json:"shipmentId"`
	Status       string `json:"status"`
	Reason       string `json:"reason"`
	Items        string `json:"items,omitempty"`
	Comment      string `json:"comment,omitempty"`
	Email        string `json:"email,omitempty"`
	DenialReason string `json:"denialReason,omitempty"`
}

// An exportedObject is an address or a shipment that a client of another API created
// under /v2 and that mentions the person.
type exportedObject struct {
	Kind      string          `json:"kind"`
	At        string          `json:"timestamp"`
	Reference string          `json:"reference,omitempty"`
	Body      json.RawMessage `json:"body"`
}

// An exportedPickup is a pickup at the person's place, or with them as its contact.
type exportedPickup struct {
	ID      string           `json:"id"`
	Carrier string           `json:"carrier"`
	Status  string           `json:"status"`
	Request ship.PickupOrder `json:"request"`
}

// WorkExport makes the file of an export. If it is interrupted, it begins again.
func (s *Service) WorkExport(ctx context.Context, t ship.Tenant, id ship.ExportID) error {
	export, err := s.Store.Export(ctx, t, id)
	if err != nil || export.State != store.ExportPending {
		return err
	}
	data, err := s.Box.Open(export.Encrypted, subjectBinding(t, id)...)
	if err != nil {
		return fmt.Errorf("decrypt the subject of %s: %w", id, err)
	}
	var person ship.Person
	if err := json.Unmarshal(data, &person); err != nil {
		return fmt.Errorf("decode the subject of %s: %w", id, err)
	}

	file := exportedFile{
		ID:        string(id),
		MadeAt:    wire.Time(s.now()),
		Person:    person.Email + person.Phone,
		Shipments: []exportedShipment{},
		Trackers:  []exportedTracker{},
		Lines:     []exportedLine{},
		Returns:   []exportedReturn{},
		Objects:   []exportedObject{},
		Pickups:   []exportedPickup{},
		Notes: []string{
			"Events show the data of their shipments and are not repeated here.",
			"The search index has keyed hashes of words of name, company, city and e-mail address.",
		},
		terms: []string{person.Email, person.Phone},
	}
	if err := s.exportShipments(ctx, t, person, &file); err != nil {
		return err
	}
	if err := s.exportTrackers(ctx, t, &file); err != nil {
		return err
	}
	if err := s.exportLines(ctx, t, person, &file); err != nil {
		return err
	}
	if err := s.exportReturns(ctx, t, person, &file); err != nil {
		return err
	}
	if err := s.exportObjects(ctx, t, person, &file); err != nil {
		return err
	}
	if err := s.exportPickups(ctx, t, person, &file); err != nil {
		return err
	}

	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", id, err)
	}
	export.Counts = map[string]int{
		"shipments":      len(file.Shipments),
		"trackers":       len(file.Trackers),
		"lines":          len(file.Lines),
		"returnRequests": len(file.Returns),
		"compatObjects":  len(file.Objects),
		"pickups":        len(file.Pickups),
	}
	export.FinishedAt = s.now()
	export.ExpiresAt = s.now().Add(exportLife)
	return s.Store.FinishExport(ctx, export, s.Box.Seal(text, fileBinding(t, id)...))
}

// exportShipments adds the person's shipments to the file.
func (s *Service) exportShipments(ctx context.Context, t ship.Tenant, person ship.Person, file *exportedFile) error {
	var after ship.RawID
	size := 0
	for {
		ids, last, err := s.Store.ShipmentsOf(ctx, t, person, after, exportWindow)
		if err != nil {
			return err
		}

		for _, id := range ids {
			if len(file.Shipments) == maxExported || size > maxExportedSize {
				file.Notes = append(file.Notes, "There are more shipments than fit into one file; these are the oldest.")
				return nil
			}

			shipment, bytes, err := s.exportShipment(ctx, t, id, person, file)
			if err != nil {
				return err
			}
			size += bytes
			file.Shipments = append(file.Shipments, shipment)
		}

		if last.IsZero() {
			return nil
		}
		after = last
	}
}

// exportShipment returns what is held about a shipment, and about how large it
// is.
func (s *Service) exportShipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID, person ship.Person, file *exportedFile) (out exportedShipment, size int, err error) {
	shipment, err := s.Store.Shipment(ctx, t, id)
	if err != nil {
		return out, 0, err
	}
	out.Shipment = wire.WholeShipmentOf(shipment, s.BaseURL, "")
	file.remember(shipment, person)

	_, scans, err := s.Store.TrackingState(ctx, t, id.Raw())
	if err != nil {
		return out, 0, err
	}
	out.TrackingEvents = exportScans(scans)

	label, err := s.Store.Label(ctx, t, id)
	switch ship.KindOf(err) {
	case "":
		out.Label = &exportedLabel{Format: label.Format, Data: label.Data}
		size += len(label.Data)
	case ship.NotFound:
	default:
		return out, 0, err
	}

	out.Exchanges = []ExportedExchange{}
	if s.Exchanges != nil {
		if out.Exchanges, err = s.Exchanges(ctx, t, id); err != nil {
			return out, 0, err
		}
		for _, exchange := range out.Exchanges {
			size += len(exchange.Request) + len(exchange.Response)
		}
	}
	return out, size + 4<<10, nil
}

// maxExportTerms is how many texts trackers are searched for: a person has few
// addresses.
const maxExportTerms = 500

// remember keeps the texts by which carriers name the person: theirs in a shipment,
// and its number.
func (f *exportedFile) remember(shipment ship.Shipment, person ship.Person) {
	found := []string{shipment.Purchase.TrackingNumber}
	for _, party := range []ship.Address{shipment.Order.Destination, shipment.Order.Origin} {
		if party.Is(person) {
			found = append(found, party.PersonalTerms()...)
		}
	}
	for _, term := range found {
		if len(f.terms) < maxExportTerms && !slices.Contains(f.terms, term) {
			f.terms = append(f.terms, term)
		}
	}
}

func exportScans(scans []ship.Scan) (list []exportedScan) {
	for _, scan := range ship.Timeline(scans) {
		list = append(list, exportedScan{
			At:          wire.Time(scan.At),
			Status:      string(scan.Status),
			Description: scan.Description,
			Location:    scan.Location,
		})
	}
	return list
}

// exportTrackers adds the trackers that mention the person, or that have the number
// of one of the shipments.
func (s *Service) exportTrackers(ctx context.Context, t ship.Tenant, file *exportedFile) error {
	var after ship.RawID
	for {
		ids, last, err := s.Store.TrackersMentioning(ctx, t, file.terms, after)
		if err != nil {
			return err
		}

		for _, id := range ids {
			if len(file.Trackers) == maxExported {
				file.Notes = append(file.Notes, "There are more trackers than fit into one file; these are the oldest.")
				return nil
			}
			state, scans, err := s.Store.TrackingState(ctx, t, id.Raw())
			if err != nil {
				return err
			}
			file.Trackers = append(file.Trackers, exportedTracker{
				ID:             string(id),
				Carrier:        state.Carrier,
				TrackingNumber: state.Number,
				TrackingEvents: exportScans(scans),
			})
		}

		if last.IsZero() {
			return nil
		}
		after = last
	}
}

// exportLines adds the person's lines in order files.
func (s *Service) exportLines(ctx context.Context, t ship.Tenant, person ship.Person, file *exportedFile) error {
	lines, err := s.Store.LinesOf(ctx, t, store.ErasureSubject{Person: person})
	if err != nil {
		return err
	}
	for _, line := range lines {
		values := map[string]string{}
		for i, cell := range line.Cells {
			if i < len(line.Header) && cell != "" {
				values[line.Header[i]] = cell
			}
		}
		file.Lines = append(file.Lines, exportedLine{Batch: string(line.Batch), Number: line.Number, Values: values})
	}
	return nil
}

// exportReturns adds what was asked for about the person's shipments, or under their
// e-mail address.
func (s *Service) exportReturns(ctx context.Context, t ship.Tenant, person ship.Person, file *exportedFile) error {
	shipments := make([]ship.ShipmentID, len(file.Shipments))
	for i, shipment := range file.Shipments {
		shipments[i] = ship.ShipmentID(shipment.ID)
	}
	requests, err := s.Store.ReturnRequestsOf(ctx, t, shipments, person.Email, maxExported)
	if err != nil {
		return err
	}

	for _, request := range requests {
		file.Returns = append(file.Returns, exportedReturn{
			ID:           string(request.ID),
			At:           wire.Time(request.ID.Raw().Time()),
			Shipment:     string(request.Shipment),
			Status:       string(request.State),
			Reason:       request.Reason,
			Items:        request.Items,
			Comment:      request.Comment,
			Email:        request.Email,
			DenialReason: request.Denial,
		})
	}
	return nil
}

// exportObjects adds what clients of another API created about the person.
func (s *Service) exportObjects(ctx context.Context, t ship.Tenant, person ship.Person, file *exportedFile) error {
	objects, err := s.Store.CompatObjectsMentioning(ctx, t, file.terms, person.Phone, maxExported)
	if err != nil {
		return err
	}
	for _, object := range objects {
		file.Objects = append(file.Objects, exportedObject{
			Kind:      object.Kind,
			At:        wire.Time(object.ID.Time()),
			Reference: object.Reference,
			Body:      object.Body,
		})
	}
	return nil
}

// exportPickups adds the pickups that mention the person. The number of a parcel does
// not lead to its pickup: that has parcels of others.
func (s *Service) exportPickups(ctx context.Context, t ship.Tenant, person ship.Person, file *exportedFile) error {
	terms := slices.DeleteFunc(slices.Clone(file.terms), func(term string) bool {
		return slices.ContainsFunc(file.Shipments, func(shipment exportedShipment) bool { return term == shipment.TrackingNumber })
	})
	pickups, err := s.Store.PickupsMentioning(ctx, t, terms, person.Phone, maxExported)
	if err != nil {
		return err
	}
	for _, pickup := range pickups {
		pickup.Order.TrackingNumbers = nil
		file.Pickups = append(file.Pickups, exportedPickup{
			ID:      string(pickup.ID),
			Carrier: pickup.Carrier,
			Status:  string(pickup.State),
			Request: pickup.Order,
		})
	}
	return nil
}

// DeleteExports deletes the files that are past their time.
func (s *Service) DeleteExports(ctx context.Context) error {
	return s.Store.ExpireExports(ctx, s.now())
}
