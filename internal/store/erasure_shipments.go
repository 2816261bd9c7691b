package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What an erasure changes of shipments, and of the rows that belong to one.

// How much one portion of an erasure looks at, and how many shipments it erases.
const (
	erasureWindow    = 5000
	erasureShipments = 50
)

// sqlShipmentWindow is the end of the next portion of the tenant's shipments; no
// row means that it reaches to the end.
const sqlShipmentWindow = `
SELECT id FROM shipments
WHERE account_id = @account AND livemode = @livemode AND id > @after
ORDER BY id OFFSET @window LIMIT 1`

// sqlShipmentsOfPerson finds the person among either party. It compares phones
// as ship.SamePhone does.
const sqlShipmentsOfPerson = `
SELECT s.id FROM shipments s
WHERE s.account_id = @account AND s.livemode = @livemode AND s.id > @after AND s.id <= @until
  AND EXISTS (
    SELECT FROM (VALUES (s.request -> 'destination'), (s.request -> 'origin')) AS p (address)
    CROSS JOIN LATERAL (
      SELECT ltrim(regexp_replace(coalesce(p.address ->> 'phone', ''), '[^0-9]', '', 'g'), '0') AS digits) d
    WHERE @email <> '' AND lower(p.address ->> 'email') = @email
       OR @phone <> '' AND d.digits = @phone
       OR length(@phone) >= 8 AND length(d.digits) - length(@phone) BETWEEN 1 AND 3 AND right(d.digits, length(@phone)) = @phone
       OR length(d.digits) >= 8 AND length(@phone) - length(d.digits) BETWEEN 1 AND 3 AND right(@phone, length(d.digits)) = d.digits)
ORDER BY s.id LIMIT @limit`

// eraseShipments finds the person's shipments and erases them. Those whose
// purchase is not settled are counted and left: they need the address.
func eraseShipments(ctx context.Context, w *erasureWork) (finished bool, err error) {
	if w.Shipment != "" {
		return true, w.eraseFound(ctx, []ship.ShipmentID{w.Shipment})
	}

	// The cursor is the last shipment that was looked at.
	var after ship.RawID
	if len(w.cursor) == 1 {
		id, _ := ship.ParseShipmentID(w.cursor[0])
		after = id.Raw()
	}
	found, last, err := w.tx.ShipmentsOf(ctx, w.Tenant, w.subject.Person, after, erasureShipments)
	if err != nil {
		return false, err
	}
	w.cursor = []string{string(ship.ShipmentIDOf(last))}
	return last.IsZero(), w.eraseFound(ctx, found)
}

// ShipmentsOf returns the next shipments of the person after an id, and the last
// id that was looked at; that is zero at the end.
func (s *Store) ShipmentsOf(ctx context.Context, t ship.Tenant, person ship.Person, after ship.RawID, limit int) (found []ship.ShipmentID, last ship.RawID, err error) {
	_, end := idBounds(time.Time{}, time.Time{}, ship.RawID{})
	args := tenantArgs(t, nil, pgx.NamedArgs{"after": after, "window": erasureWindow})
	until, err := selectList(ctx, s.system(), pgx.RowTo[ship.RawID], sqlShipmentWindow, args)
	if err != nil {
		return nil, last, err
	}
	if len(until) == 1 {
		end = until[0]
		last = end
	}

	found, err = selectList(ctx, s.system(), pgx.RowTo[ship.ShipmentID], sqlShipmentsOfPerson, tenantArgs(t, nil, pgx.NamedArgs{
		"after": after,
		"until": end,
		"email": person.Email,
		"phone": ship.PhoneDigits(person.Phone),
		"limit": limit,
	}))
	if err == nil && len(found) == limit {
		last = found[limit-1].Raw()
	}
	return found, last, err
}

// openStates are those of a purchase that may still need the address.
var openStates = []ship.State{ship.StateAwaitingApproval, ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview}

// eraseFound erases shipments, and counts those that are still open.
func (w *erasureWork) eraseFound(ctx context.Context, ids []ship.ShipmentID) error {
	erased, open, err := w.tx.eraseShipmentRows(ctx, w.Tenant, ids, w.hash, w.count, w.remember)
	if err != nil {
		return err
	}
	w.count(CountOpen, len(open))
	_, err = w.tx.run(ctx, sqlNoteErasureShipments, w.args(pgx.NamedArgs{"shipments": rawIDs(erased)}))
	return err
}

const sqlNoteErasureShipments = `
INSERT INTO erasure_shipments (account_id, livemode, erasure_id, shipment_id)
SELECT @account, @livemode, @id, unnest(@shipments::uuid[])
ON CONFLICT DO NOTHING`

// remember keeps the texts of an order by which its traces are found.
func (w *erasureWork) remember(order ship.Order) {
	order.Destination.Residential = nil
	order.Origin.Residential = nil
	parties := []ship.Address{order.Destination, order.Origin}
	isTheirs := func(a ship.Address) bool { return a.Is(w.subject.Person) }
	if w.Shipment != "" {
		// A shipment is asked for because of its customer: the recipient, or
		// the sender of a return.
		customer := order.Destination
		if order.IsReturn {
			customer = order.Origin
		}
		isTheirs = func(a ship.Address) bool { return a == customer }
	}

	for _, party := range parties {
		isKnown := slices.Contains(w.subject.Parties, party)
		if isTheirs(party) && !isKnown && len(w.subject.Parties) < maxErasedParties {
			w.subject.Parties = append(w.subject.Parties, party)
		}
	}
	for _, term := range orderTerms(order) {
		if !slices.Contains(w.subject.Terms, term) && len(w.subject.Terms) < maxErasedTerms {
			w.subject.Terms = append(w.subject.Terms, term)
		}
	}
}

// orderTerms are the personal texts of an order, besides its parties', that are
// long enough to be recognized.
func orderTerms(order ship.Order) []string {
	var terms []string
	for _, value := range order.Metadata {
		terms = append(terms, value)
	}
	if order.Customs != nil {
		terms = append(terms, order.Customs.Signer)
		for _, id := range order.Customs.TaxNumbers() {
			terms = append(terms, id.Number)
		}
	}
	terms = slices.DeleteFunc(terms, func(text string) bool { return len(text) < 6 })
	slices.Sort(terms)
	return slices.Compact(terms)
}

// sqlHoldRollUp keeps the roll-up from running: it would read the words of a
// recipient before the erasure, and write them after it.
const sqlHoldRollUp = `SELECT FROM facts_progress FOR UPDATE`

const sqlErasable = `
SELECT s.id, s.request, s.purchase
FROM shipments s
WHERE s.account_id = @account AND s.livemode = @livemode AND s.id = ANY (@shipments::uuid[])`

const sqlEraseOrders = `
UPDATE shipments s SET request = v.request::json, purchase = v.purchase::json
FROM unnest(@ids::uuid[], @requests::text[], @purchases::text[]) AS v (id, request, purchase)
WHERE s.account_id = @account AND s.livemode = @livemode AND s.id = v.id`

// The statements that erase what belongs to shipments.
const (
	sqlMarkErased = `
UPDATE shipment_states SET erased_at = coalesce(erased_at, now()), metadata = NULL
WHERE account_id = @account AND livemode = @livemode AND id = ANY (@shipments::uuid[])`

	sqlEraseLabels = `
DELETE FROM labels WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseRenderings = `
DELETE FROM label_renderings WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseDocuments = `
DELETE FROM documents WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseAttempts = `
UPDATE purchase_attempts SET error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[]) AND error_message IS NOT NULL`

	sqlEraseBulkRows = `
UPDATE bulk_action_rows SET error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[]) AND error_message IS NOT NULL`

	sqlEraseSubmissions = `
DELETE FROM document_submissions WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseScans = `
UPDATE tracking_events t SET
  raw = NULL,
  description = coalesce((
    SELECT v.text FROM unnest(@statuses::text[], @texts::text[]) AS v (status, text)
    WHERE v.status = coalesce(t.status::text, '')), '')
WHERE account_id = @account AND livemode = @livemode AND subject_id = ANY (@shipments::uuid[]) AND code NOT LIKE '.%'`

	sqlEraseOrphans = `
UPDATE orphaned_labels SET message = NULL, purchase = (purchase::jsonb - 'warnings' - 'routing')::json
WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseExchanges = `
DELETE FROM carrier_exchanges
WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])`

	sqlEraseWords = `
DELETE FROM search_words w
USING unnest(@ids::uuid[], @words::bytea[]) AS v (shipment_id, word_hash)
WHERE w.account_id = @account AND w.livemode = @livemode AND w.shipment_id = v.shipment_id AND w.word_hash = v.word_hash`
)

// eraseShipmentRows erases the personal data of shipments in the transaction,
// and reports which were erased and which are still open. Before each is
// erased, remember is called with its order.
func (s *Store) eraseShipmentRows(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, hash wordHash, count func(string, int), remember func(ship.Order)) (erased, open []ship.ShipmentID, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	if _, err := s.tx.Exec(ctx, sqlHoldRollUp); err != nil {
		return nil, nil, explain(err)
	}

	// The lock comes first: whoever writes about a shipment holds it, and reads
	// under it whether the shipment is erased.
	subjects := make([]ship.Subject, len(ids))
	for i, id := range ids {
		subjects[i] = ship.Subject{Tenant: t, ID: id.Raw()}
	}
	states, err := s.LockTrackingStates(ctx, subjects)
	if err != nil {
		return nil, nil, err
	}
	for _, state := range states {
		if slices.Contains(openStates, state.State) {
			open = append(open, ship.ShipmentIDOf(state.ID))
		} else if !state.IsErased && !state.Followed {
			erased = append(erased, ship.ShipmentIDOf(state.ID))
		}
	}
	if len(erased) == 0 {
		return nil, open, nil
	}

	orders, words, err := s.erasedOrders(ctx, t, erased, hash, remember)
	if err != nil {
		return nil, nil, err
	}

	args := tenantArgs(t, nil, pgx.NamedArgs{"shipments": rawIDs(erased)})
	statuses, texts := scanTexts()
	args["statuses"] = statuses
	args["texts"] = texts
	for _, statement := range []struct {
		table string
		sql   string
		args  pgx.NamedArgs
	}{
		{"shipments", sqlEraseOrders, orders},
		{"shipment_states", sqlMarkErased, args},
		{"labels", sqlEraseLabels, args},
		{"label_renderings", sqlEraseRenderings, args},
		{"documents", sqlEraseDocuments, args},
		{"purchase_attempts", sqlEraseAttempts, args},
		{"bulk_action_rows", sqlEraseBulkRows, args},
		{"document_submissions", sqlEraseSubmissions, args},
		{"tracking_events", sqlEraseScans, args},
		{"orphaned_labels", sqlEraseOrphans, args},
		{"carrier_exchanges", sqlEraseExchanges, args},
		{"return_requests", sqlEraseReturnRequests, args},
		{"search_words", sqlEraseWords, words},
	} {
		n, err := s.run(ctx, statement.sql, statement.args)
		if err != nil {
			return nil, nil, fmt.Errorf("erase from %s: %w", statement.table, err)
		}
		if statement.table != "shipment_states" { // they are counted as shipments
			count(statement.table, n)
		}
	}
	return erased, open, nil
}

// erasedOrders returns the arguments that rewrite the orders of shipments
// without personal data, and those that delete the words that go with it.
func (s *Store) erasedOrders(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, hash wordHash, remember func(ship.Order)) (orders, words pgx.NamedArgs, err error) {
	var (
		id                ship.ShipmentID
		request, purchase []byte
		rewritten         = columns{}
		forgotten         = columns{}
	)
	err = selectEach(ctx, s.tx, []any{&id, &request, &purchase}, func() error {
		var shipment ship.Shipment
		if err := json.Unmarshal(request, &shipment.Order); err != nil {
			return fmt.Errorf("read the order of %s: %w", id, err)
		}
		if err := json.Unmarshal(purchase, &shipment.Purchase); err != nil {
			return fmt.Errorf("read the purchase of %s: %w", id, err)
		}
		remember(shipment.Order)

		// The city stays, and so do its words.
		before := recipientOf(shipment.Order.Destination).words()
		shipment.Order = shipment.Order.WithoutPersonalData()
		shipment.Purchase = shipment.Purchase.WithoutPersonalData()
		after := recipientOf(shipment.Order.Destination).words()
		for _, word := range before {
			if !slices.Contains(after, word) {
				forgotten.add("ids", id)
				forgotten.add("words", hash(t.Account, word))
			}
		}

		newRequest, newPurchase, err := orderJSON(shipment)
		if err != nil {
			return err
		}
		rewritten.add("ids", id)
		rewritten.add("requests", string(newRequest))
		rewritten.add("purchases", string(newPurchase))
		return nil
	}, sqlErasable, tenantArgs(t, nil, pgx.NamedArgs{"shipments": rawIDs(ids)}))
	if err != nil {
		return nil, nil, err
	}

	orders = tenantArgs(t, nil, rewritten.args())
	words = tenantArgs(t, nil, forgotten.args())
	delete(orders, "id")
	for _, name := range []string{"ids", "words"} {
		if words[name] == nil {
			words[name] = []any{}
		}
	}
	return orders, words, nil
}

// scanTexts returns the statuses and the texts that replace those of carriers.
func scanTexts() (statuses, texts []string) {
	for _, status := range append([]ship.Status{""}, ship.Statuses...) {
		statuses = append(statuses, string(status))
		texts = append(texts, status.Text())
	}
	return statuses, texts
}

// sqlErasedNumbers are the tracking numbers of the shipments of an erasure.
const sqlErasedNumbers = `
SELECT coalesce(s.purchase ->> 'trackingNumber', ''), coalesce(s.purchase ->> 'pieces', '[]')
FROM erasure_shipments x
JOIN shipments s ON s.account_id = x.account_id AND s.livemode = x.livemode AND s.id = x.shipment_id
WHERE x.account_id = @account AND x.livemode = @livemode AND x.erasure_id = @id`

// numbers returns the tracking numbers of the shipments that were erased.
func (w *erasureWork) numbers(ctx context.Context) ([]string, error) {
	var list []string
	var number, pieces string
	err := selectEach(ctx, w.tx.tx, []any{&number, &pieces}, func() error {
		var further []string
		if err := json.Unmarshal([]byte(pieces), &further); err != nil {
			return fmt.Errorf("read the pieces of a purchase: %w", err)
		}
		list = append(list, number)
		list = append(list, further...)
		return nil
	}, sqlErasedNumbers, w.args(nil))

	list = slices.DeleteFunc(list, func(number string) bool { return strings.TrimSpace(number) == "" })
	return list, err
}

// eraseExchanges deletes what was said to carriers about the shipments, and was
// written while they were erased.
func eraseExchanges(ctx context.Context, w *erasureWork) (bool, error) {
	ids, err := selectList(ctx, w.tx.tx, pgx.RowTo[ship.RawID], sqlErasureShipments, w.args(nil))
	if err != nil {
		return false, err
	}
	n, err := w.tx.run(ctx, sqlEraseExchanges, w.args(pgx.NamedArgs{"shipments": idArray(ids)}))
	w.count("carrier_exchanges", n)
	return true, err
}

const sqlErasureShipments = `
SELECT shipment_id FROM erasure_shipments
WHERE account_id = @account AND livemode = @livemode AND erasure_id = @id`
