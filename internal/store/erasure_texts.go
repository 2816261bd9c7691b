package store

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What an erasure changes where people are mentioned: in the log, in files of
// orders, and in texts that came from clients, carriers and receivers.

// textWindow is how many rows with texts one portion reads.
const textWindow = 200

// A textTable is a table with texts of others. Its rows are read in the order of
// their keys, and those that mention the person are erased.
type textTable struct {
	name string

	// page selects the key of each row as an array of texts, and its texts. Its
	// arguments are @after, the key of the last row that was read, and @limit.
	page string

	// sql erases the rows with the keys @first and @second.
	sql string

	// withNumbers says that tracking numbers lead to the row too.
	withNumbers bool
}

// erase erases from the next rows of the table.
func (table textTable) erase(ctx context.Context, w *erasureWork) (finished bool, err error) {
	terms := w.terms()
	if table.withNumbers {
		numbers, err := w.numbers(ctx)
		if err != nil {
			return false, err
		}
		terms = append(terms, foldTerms(numbers)...)
	}

	var (
		key           []string
		texts         [][]byte
		first, second = []string{}, []string{}
		rows          int
	)
	after := w.cursor
	err = selectEach(ctx, w.tx.tx, []any{&key, &texts}, func() error {
		rows++
		w.cursor = slices.Clone(key)
		if mentionsPerson(texts, terms, w.subject.Person.Phone) {
			first = append(first, key[0])
			second = append(second, key[len(key)-1])
		}
		return nil
	}, table.page, w.args(pgx.NamedArgs{"after": after, "limit": textWindow}))
	if err != nil {
		return false, err
	}

	if len(first) > 0 {
		n, err := w.tx.run(ctx, table.sql, w.args(pgx.NamedArgs{"first": first, "second": second}))
		if err != nil {
			return false, err
		}
		w.count(table.name, n)
	}
	return rows < textWindow, nil
}

// The tables with texts of others.
var (
	webhookAttemptTexts = textTable{name: "webhook_attempts", page: sqlAttemptTexts, sql: sqlEraseAttemptTexts}
	pushTexts           = textTable{name: "pushes", page: sqlPushTexts, sql: sqlErasePushes, withNumbers: true}
	requestTexts        = textTable{name: "api_requests", page: sqlRequestTexts, sql: sqlEraseRequests}
	returnTexts         = textTable{name: "return_requests", page: sqlReturnTexts, sql: sqlEraseReturnTexts}
	idempotencyTexts    = textTable{name: "idempotency_keys", page: sqlKeyTexts, sql: sqlEraseKeys}
)

const (
	// Receivers of webhooks may repeat what was sent to them.
	sqlAttemptTexts = `
SELECT ARRAY[endpoint_id::text, id::text],
  ARRAY[convert_to(coalesce(response_headers, ''), 'UTF8'), convert_to(coalesce(response_body, ''), 'UTF8'), convert_to(coalesce(error, ''), 'UTF8')]
FROM webhook_attempts
WHERE account_id = @account AND livemode = @livemode
  AND (endpoint_id, id) > (coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid,
    coalesce((@after::text[])[2], '00000000-0000-0000-0000-000000000000')::uuid)
ORDER BY endpoint_id, id LIMIT @limit`

	sqlEraseAttemptTexts = `
UPDATE webhook_attempts a SET response_headers = NULL, response_body = NULL, error = NULL
FROM unnest(@first::text[], @second::text[]) AS v (endpoint_id, id)
WHERE a.account_id = @account AND a.livemode = @livemode AND a.endpoint_id = v.endpoint_id::uuid AND a.id = v.id::uuid`

	// A push that waits is left: it is processed within moments, and then
	// deleted because it speaks of an erased shipment.
	sqlPushTexts = `
SELECT ARRAY[p.id::text], ARRAY[convert_to(p.headers::text, 'UTF8'), p.body]
FROM pushes p
WHERE p.account_id = @account AND p.livemode = @livemode
  AND p.id > coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY p.id LIMIT @limit`

	sqlErasePushes = `
DELETE FROM pushes p
USING unnest(@first::text[], @second::text[]) AS v (id, same_id)
WHERE p.account_id = @account AND p.livemode = @livemode AND p.id = v.id::uuid
  AND NOT EXISTS (
    SELECT FROM pending_pushes w
    WHERE w.account_id = p.account_id AND w.livemode = p.livemode AND w.push_id = p.id)`

	sqlRequestTexts = `
SELECT ARRAY[id::text],
  ARRAY[convert_to(path, 'UTF8'), convert_to(coalesce(idempotency_key, ''), 'UTF8'), coalesce(problem, ''::bytea)]
FROM api_requests
WHERE account_id = @account AND livemode = @livemode
  AND id > coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY id LIMIT @limit`

	sqlEraseRequests = `
UPDATE api_requests r SET path = r.route, idempotency_key = NULL, problem = NULL
FROM unnest(@first::text[], @second::text[]) AS v (id, same_id)
WHERE r.account_id = @account AND r.livemode = @livemode AND r.id = v.id::uuid`

	// The answers of purchases that succeeded are not stored: they are rendered
	// from the shipment.
	sqlKeyTexts = `
SELECT ARRAY[key], ARRAY[response_body]
FROM idempotency_keys
WHERE account_id = @account AND livemode = @livemode AND key > coalesce((@after::text[])[1], '')
  AND response_body IS NOT NULL
ORDER BY key LIMIT @limit`

	// A key of a purchase that failed must stay, or the same request would be
	// bought again. Its answer keeps the problem's code.
	sqlEraseKeys = `
WITH mentioned AS (
  SELECT key FROM unnest(@first::text[], @second::text[]) AS v (key, same_key)
), deleted AS (
  DELETE FROM idempotency_keys k USING mentioned m
  WHERE k.account_id = @account AND k.livemode = @livemode AND k.key = m.key AND k.shipment_id IS NULL
  RETURNING 1
), shortened AS (
  UPDATE idempotency_keys k SET response_body = convert_to(json_build_object(
    'type', body.problem -> 'type',
    'title', body.problem -> 'title',
    'status', body.problem -> 'status',
    'code', body.problem -> 'code')::text, 'UTF8')
  FROM mentioned m
  JOIN LATERAL (
    SELECT convert_from(b.response_body, 'UTF8')::json AS problem FROM idempotency_keys b
    WHERE b.account_id = @account AND b.livemode = @livemode AND b.key = m.key AND b.shipment_id IS NOT NULL
  ) body ON true
  WHERE k.account_id = @account AND k.livemode = @livemode AND k.key = m.key AND k.shipment_id IS NOT NULL
  RETURNING 1
)
SELECT FROM deleted UNION ALL SELECT FROM shortened`
)

// terms returns what the person is recognized by in texts, folded.
func (w *erasureWork) terms() []string {
	terms := slices.Clone(w.subject.Terms)
	terms = append(terms, w.subject.Person.Email, w.subject.Person.Phone)
	for _, party := range w.subject.Parties {
		terms = append(terms, party.PersonalTerms()...)
	}
	return foldTerms(terms)
}

func foldTerms(terms []string) []string {
	folded := make([]string, 0, len(terms))
	for _, term := range terms {
		if term = foldText(term); strings.TrimSpace(term) != "" {
			folded = append(folded, term)
		}
	}
	return folded
}

// mentions reports whether one of the texts has one of the folded terms.
func mentions(texts [][]byte, terms []string) bool {
	for _, text := range texts {
		folded := foldText(string(text))
		if slices.ContainsFunc(terms, func(term string) bool { return strings.Contains(folded, term) }) {
			return true
		}
	}
	return false
}

// writtenPhone is what can be a phone number in a text, however it is divided.
var writtenPhone = regexp.MustCompile(`\+?[0-9][0-9 ()./-]{5,}[0-9]`)

// mentionsPerson is mentions, and also finds a phone number that is written otherwise.
func mentionsPerson(texts [][]byte, terms []string, phone string) bool {
	if mentions(texts, terms) {
		return true
	}
	if phone == "" {
		return false
	}
	return slices.ContainsFunc(texts, func(text []byte) bool {
		return slices.ContainsFunc(writtenPhone.FindAll(text, -1), func(found []byte) bool { return ship.SamePhone(string(found), phone) })
	})
}

var escapedRune = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)

// foldText returns a text as texts are compared: in lower case, without accents,
// and without the escapes of JSON.
func foldText(text string) string {
	if strings.Contains(text, `\u`) {
		text = escapedRune.ReplaceAllStringFunc(text, func(escape string) string {
			code, err := strconv.ParseUint(escape[2:], 16, 32)
			if err != nil {
				return escape
			}
			return string(rune(code))
		})
	}

	return foldLetters(strings.ToValidUTF8(text, " "))
}

// sqlEventWindow is the end of the next portion of the tenant's log; no row
// means that it reaches to the end.
const sqlEventWindow = `
SELECT txid::text, id::text FROM events
WHERE account_id = @account AND livemode = @livemode
  AND (txid, id) > (coalesce((@after::text[])[1], '0')::xid8, coalesce((@after::text[])[2], '00000000-0000-0000-0000-000000000000')::uuid)
ORDER BY txid, id OFFSET @window LIMIT 1`

const sqlErasableEvents = `
SELECT e.txid::text, e.id, e.snapshot
FROM events e
JOIN erasure_shipments x ON x.account_id = e.account_id AND x.livemode = e.livemode AND x.erasure_id = @id AND x.shipment_id = e.subject_id
WHERE e.account_id = @account AND e.livemode = @livemode
  AND (e.txid, e.id) > (coalesce((@after::text[])[1], '0')::xid8, coalesce((@after::text[])[2], '00000000-0000-0000-0000-000000000000')::uuid)
  AND ((@until::text[]) IS NULL OR (e.txid, e.id) <= ((@until::text[])[1]::xid8, (@until::text[])[2]::uuid))`

const sqlEraseEvents = `
UPDATE events e SET snapshot = v.snapshot::json
FROM unnest(@txids::text[], @ids::uuid[], @snapshots::text[]) AS v (txid, id, snapshot)
WHERE e.account_id = @account AND e.livemode = @livemode AND e.txid = v.txid::xid8 AND e.id = v.id`

// eraseEvents takes the texts of carriers out of the log. What else a body shows
// of people is read from the shipment.
func eraseEvents(ctx context.Context, w *erasureWork) (finished bool, err error) {
	args := w.args(pgx.NamedArgs{"after": w.cursor, "window": erasureWindow})
	var txid, id string
	var until []string
	err = selectEach(ctx, w.tx.tx, []any{&txid, &id}, func() error {
		until = []string{txid, id}
		return nil
	}, sqlEventWindow, args)
	if err != nil {
		return false, err
	}

	changed := columns{}
	var event ship.EventID
	var snapshot []byte
	err = selectEach(ctx, w.tx.tx, []any{&txid, &event, &snapshot}, func() error {
		var read ship.Snapshot
		if err := json.Unmarshal(snapshot, &read); err != nil {
			return fmt.Errorf("read the snapshot of %s: %w", event, err)
		}
		erased, err := json.Marshal(read.WithoutPersonalData())
		if err != nil {
			return fmt.Errorf("write the snapshot of %s: %w", event, err)
		}

		changed.add("txids", txid)
		changed.add("ids", event)
		changed.add("snapshots", string(erased))
		return nil
	}, sqlErasableEvents, withArg(args, "until", until))
	if err != nil {
		return false, err
	}

	if len(changed) > 0 {
		n, err := w.tx.run(ctx, sqlEraseEvents, w.args(changed.args()))
		if err != nil {
			return false, err
		}
		w.count("events", n)
	}
	w.cursor = until
	return until == nil, nil
}

// sqlBatchRowPage reads lines with what their columns mean.
const sqlBatchRowPage = `
SELECT r.batch_id, r.row_number, r.state, r.cells, b.mapping,
  coalesce(r.shipment_id IN (
    SELECT x.shipment_id FROM erasure_shipments x
    WHERE x.account_id = @account AND x.livemode = @livemode AND x.erasure_id = @id), false)
FROM batch_rows r JOIN batches b ON b.account_id = r.account_id AND b.livemode = r.livemode AND b.id = r.batch_id
WHERE r.account_id = @account AND r.livemode = @livemode
  AND (r.batch_id, r.row_number) > (coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid, coalesce((@after::text[])[2], '0')::int)
ORDER BY r.batch_id, r.row_number LIMIT @limit
FOR UPDATE OF r`

// sqlEraseBatchRows has a line that was not bought skipped: it can no longer be.
const sqlEraseBatchRows = `
UPDATE batch_rows r SET
  cells = v.cells::jsonb,
  request = NULL,
  errors = NULL,
  revision = revision + 1,
  state = CASE WHEN r.state = 'purchased' THEN r.state ELSE 'skipped' END
FROM unnest(@batches::uuid[], @numbers::int[], @cells::text[]) AS v (batch_id, row_number, cells)
WHERE r.account_id = @account AND r.livemode = @livemode AND r.batch_id = v.batch_id AND r.row_number = v.row_number`

// eraseBatchRows erases the person's lines in files of orders. A line that is
// being bought is counted as open.
func eraseBatchRows(ctx context.Context, w *erasureWork) (finished bool, err error) {
	var (
		batch          ship.RawID
		number, rows   int
		state          string
		cells, mapping []byte
		isErased       bool
		changed        = columns{}
	)
	after := w.cursor
	err = selectEach(ctx, w.tx.tx, []any{&batch, &number, &state, &cells, &mapping, &isErased}, func() error {
		rows++
		w.cursor = []string{uuidText(batch), strconv.Itoa(number)}

		var list []string
		if err := json.Unmarshal(cells, &list); err != nil {
			return fmt.Errorf("read line %d of a batch: %w", number, err)
		}
		if !isErased && !w.subject.owns(list) {
			return nil
		}
		if state == "purchasing" || state == "pending" {
			w.Counts[CountOpen]++
			return nil
		}

		redacted := w.tools.RedactCells(mapping, list)
		if slices.Equal(redacted, list) {
			return nil // by an earlier round
		}
		text, err := json.Marshal(redacted)
		if err != nil {
			return fmt.Errorf("write line %d of a batch: %w", number, err)
		}
		changed.add("batches", batch)
		changed.add("numbers", number)
		changed.add("cells", string(text))
		return nil
	}, sqlBatchRowPage, w.args(pgx.NamedArgs{"after": after, "limit": textWindow}))
	if err != nil {
		return false, err
	}

	if len(changed) > 0 {
		n, err := w.tx.run(ctx, sqlEraseBatchRows, w.args(changed.args()))
		if err != nil {
			return false, err
		}
		w.count("batch_rows", n)
	}
	return rows < textWindow, nil
}

// owns reports whether a line of a file is the person's: it has the e-mail
// address or the phone number, or both name and street of one of the addresses.
func (p ErasureSubject) owns(cells []string) bool {
	has := func(text string) bool {
		return text != "" && slices.ContainsFunc(cells, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), text) })
	}
	if has(p.Person.Email) {
		return true
	}
	if phone := p.Person.Phone; phone != "" {
		if slices.ContainsFunc(cells, func(cell string) bool { return ship.SamePhone(cell, phone) }) {
			return true
		}
	}
	return slices.ContainsFunc(p.Parties, func(a ship.Address) bool { return has(a.Name) && has(a.Address1) })
}
