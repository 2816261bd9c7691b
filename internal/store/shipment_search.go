package store

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The search for shipments: a part of a number, or words of the recipient.

// minPart is the shortest part of a number that is looked for: the index is
// made of three characters each.
const minPart = 3

// A search is a parsed query. A shipment matches if its numbers contain the
// part, or if it has all words of one reading.
type search struct {
	text     string
	part     string
	readings [][]string
}

// newSearch parses what was typed.
//
// A word with punctuation can be read in two ways: "jane.doe" is the first half
// of an e-mail address, and "Byron-King" two words of a name.
func newSearch(text string) search {
	found := search{text: strings.TrimSpace(text)}
	if part := plainNumber(text); len(part) >= minPart {
		found.part = part
	}

	var whole, split []string
	for token := range strings.FieldsSeq(text) {
		if strings.Contains(token, "@") {
			whole = append(whole, emailWords(token)...)
			split = append(split, emailWords(token)...)
			continue
		}
		whole = append(whole, strings.ToLower(token))
		split = append(split, Words(token)...)
	}

	for _, words := range [][]string{split, whole} {
		slices.Sort(words)
		words = slices.Compact(words)
		known := slices.ContainsFunc(found.readings, func(other []string) bool { return slices.Equal(other, words) })
		if len(words) > 0 && !known {
			found.readings = append(found.readings, words)
		}
	}
	return found
}

// matches reports whether the search finds the shipment.
func (q search) matches(shipment ship.Shipment) bool {
	order := shipment.Order.OrderID
	if order == q.text || order == strings.ToUpper(q.text) {
		return true // also a number that is too short for the index
	}
	if q.part != "" && strings.Contains(searchNumbers(shipment), q.part) {
		return true
	}

	words := recipientOf(shipment.Order.Destination).words()
	return slices.ContainsFunc(q.readings, func(reading []string) bool {
		return !slices.ContainsFunc(reading, func(word string) bool { return !slices.Contains(words, word) })
	})
}

// The statements of a search, without the shipments in the tail.
const (
	searchFilters = `
  AND (@status::text IS NULL OR f.status = @status)
  AND (@carrier::text IS NULL OR f.carrier = @carrier)
  AND (@states::text[] IS NULL OR f.state = ANY (@states))`

	// passesFilters is the condition that the shipment named after it passes the
	// filters.
	passesFilters = `
  AND (@status::text IS NULL AND @carrier::text IS NULL AND @states::text[] IS NULL OR EXISTS (
    SELECT FROM shipment_facts f
    WHERE f.account_id = @account AND f.livemode = @livemode` + searchFilters + ` AND f.shipment_id = `

	searchedFacts = `
SELECT f.shipment_id FROM shipment_facts f
WHERE f.account_id = @account AND f.livemode = @livemode
  AND f.shipment_id >= @from AND f.shipment_id < @before AND f.shipment_id <> ALL (@tail::uuid[])` + searchFilters

	// sqlRecentNumbers looks through the newest shipments alone. A part that
	// many numbers have is found there at once. OFFSET 0 has their numbers
	// looked up by key: a join would read those of all shipments.
	sqlRecentNumbers = `
SELECT r.shipment_id FROM (` + searchedFacts + `
  ORDER BY f.shipment_id DESC LIMIT 2000
) r
CROSS JOIN LATERAL (
  SELECT numbers FROM search_numbers
  WHERE account_id = @account AND livemode = @livemode AND shipment_id = r.shipment_id OFFSET 0) n
WHERE n.numbers LIKE @pattern
ORDER BY r.shipment_id DESC LIMIT @limit`

	// sqlOldestRecent finds the oldest shipment that sqlRecentNumbers looks at;
	// no row means that it looks at all.
	sqlOldestRecent = searchedFacts + `
ORDER BY f.shipment_id DESC OFFSET 1999 LIMIT 1`

	// sqlAllNumbers finds a rare part by its index. All matches are read before
	// they are sorted: the planner would otherwise go through all shipments in
	// their order. It runs as the system's role, because row-level security
	// keeps LIKE out of index conditions; it returns ids alone, and the
	// shipments are read under row-level security.
	sqlAllNumbers = `
WITH found AS MATERIALIZED (
  SELECT n.shipment_id FROM search_numbers n
  WHERE n.account_id = @account AND n.livemode = @livemode AND n.numbers LIKE @pattern
    AND n.shipment_id >= @from AND n.shipment_id < @before AND n.shipment_id <> ALL (@tail::uuid[])` + passesFilters + `n.shipment_id))
)
SELECT shipment_id FROM found ORDER BY shipment_id DESC LIMIT @limit`

	// sqlFactIDsOfWords goes through the shipments of one word, newest first,
	// and keeps those that have all other words.
	sqlFactIDsOfWords = `
SELECT w.shipment_id FROM search_words w
WHERE w.account_id = @account AND w.livemode = @livemode AND w.word_hash = @word
  AND w.shipment_id >= @from AND w.shipment_id < @before AND w.shipment_id <> ALL (@tail::uuid[])
  AND NOT EXISTS (
    SELECT FROM unnest(@other_words::bytea[]) AS other (word_hash)
    WHERE NOT EXISTS (
      SELECT FROM search_words o
      WHERE o.account_id = @account AND o.livemode = @livemode AND o.word_hash = other.word_hash AND o.shipment_id = w.shipment_id))` + passesFilters + `w.shipment_id))
ORDER BY w.shipment_id DESC LIMIT @limit`

	// sqlCountWord tells a rare word from a common one.
	sqlCountWord = `
SELECT count(*) FROM (
  SELECT FROM search_words w
  WHERE w.account_id = $1 AND w.livemode = $2 AND w.word_hash = $3 LIMIT 2000) x`

	// sqlIDsOfOrder finds the shipments of an order by its complete number.
	sqlIDsOfOrder = `
SELECT DISTINCT l.subject_id FROM lookup_keys l
WHERE l.account_id = @account AND l.livemode = @livemode
  AND l.subject_id >= @from AND l.subject_id < @before AND l.subject_id <> ALL (@tail::uuid[])
  AND l.kind IN ('o', 'p') AND l.value IN (@text, upper(@text))
  AND EXISTS (
    SELECT FROM shipment_facts f
    WHERE f.account_id = @account AND f.livemode = @livemode AND f.shipment_id = l.subject_id` + searchFilters + `)
ORDER BY l.subject_id DESC LIMIT @limit`

	// sqlSearchByIndex has a search use the indexes of its texts.
	sqlSearchByIndex = `SELECT set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true)`
)

// searchedIDs returns the next shipments that a search finds by their facts: the
// page is among them. The arguments are the filter's.
func (s *Store) searchedIDs(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page, args pgx.NamedArgs) (idArray, error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return nil, err
	}
	args["text"] = f.search.text
	args["pattern"] = containing(f.search.part)

	ids := idArray{}
	recent := idArray{}
	oldest := idArray{} // of the newest shipments, if there are older ones
	counts := map[string]int{}
	batch := s.newBatch(t)
	batch.Queue(sqlPlanAnew)
	batch.Queue(sqlIDsOfOrder, args).Query(collectIDs(&ids))
	if f.search.part != "" {
		batch.Queue(sqlRecentNumbers, args).Query(collectIDs(&recent))
		batch.Queue(sqlOldestRecent, args).Query(collectIDs(&oldest))
	}
	for _, word := range slices.Concat(f.search.readings...) {
		batch.Queue(sqlCountWord, t.Account, t.Livemode, hash(t.Account, word)).QueryRow(func(r pgx.Row) error {
			var count int
			err := r.Scan(&count)
			counts[word] = count
			return err
		})
	}
	if err := s.send(ctx, batch); err != nil {
		return nil, err
	}
	ids = append(ids, recent...)

	byWords, err := s.idsOfWords(ctx, t, f, counts, hash, args)
	if err != nil {
		return nil, err
	}
	ids = append(ids, byWords...)

	// The newest shipments were all looked through, so the index is asked only
	// if an older one can still be on the page.
	if f.search.part != "" && len(oldest) > 0 && !fillsPage(ids, p.Limit, oldest[0]) {
		rest, err := s.idsOfNumbers(ctx, args)
		if err != nil {
			return nil, err
		}
		ids = append(ids, rest...)
	}

	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids), nil
}

// fillsPage reports whether enough of the ids for a page are not older than
// oldest.
func fillsPage(ids idArray, limit int, oldest ship.RawID) bool {
	newestFirst := slices.Clone(ids)
	slices.SortFunc(newestFirst, func(a, b ship.RawID) int { return compareIDs(b, a) })
	newestFirst = slices.Compact(newestFirst)
	return len(newestFirst) >= limit && compareIDs(newestFirst[limit-1], oldest) >= 0
}

// containing returns the LIKE pattern of texts that contain the part. A part has
// no character that is special in a pattern: plainNumber leaves them out.
func containing(part string) string { return "%" + part + "%" }

// idsOfWords returns the next shipments that have all words of a reading. The
// rarest word of each leads, because it leaves the fewest shipments to check.
func (s *Store) idsOfWords(ctx context.Context, t ship.Tenant, f ShipmentFilter, counts map[string]int, hash wordHash, args pgx.NamedArgs) (idArray, error) {
	ids := idArray{}
	batch := s.newBatch(t)
	batch.Queue(sqlPlanAnew)
	for _, words := range f.search.readings {
		words = slices.Clone(words)
		slices.SortFunc(words, func(a, b string) int { return counts[a] - counts[b] })
		if counts[words[0]] == 0 {
			continue // no shipment has this word
		}

		others := make([][]byte, 0, len(words))
		for _, word := range words[1:] {
			others = append(others, hash(t.Account, word))
		}
		wordArgs := withArg(args, "word", hash(t.Account, words[0]))
		wordArgs["other_words"] = others
		batch.Queue(sqlFactIDsOfWords, wordArgs).Query(collectIDs(&ids))
	}

	err := s.send(ctx, batch)
	return ids, err
}

// idsOfNumbers returns the next shipments that sqlAllNumbers finds.
func (s *Store) idsOfNumbers(ctx context.Context, args pgx.NamedArgs) (idArray, error) {
	ids := idArray{}
	batch := &pgx.Batch{}
	batch.Queue(sqlPlanAnew)
	batch.Queue(sqlSearchByIndex)
	batch.Queue(sqlAllNumbers, args).Query(collectIDs(&ids))
	err := s.sys.SendBatch(ctx, batch).Close()
	return ids, explain(err)
}
