//go:build chaos

package tracking

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A forgery is a push that must change nothing.
type forgery struct {
	kind string // forged, replayed, oversized or unreadable
	what string
	push pushed
	want int // status
	raw  io.Reader
}

// TestProveForged pushes what is not the carrier's, what is too large, what
// cannot be read and what was pushed before. None of it changes anything.
func TestProveForged(t *testing.T) {
	rounds := proving.Pick(t, 1, 25)
	proving.Beside(t)
	m := model{seed: proving.Seed(t), began: time.Now().UTC().Truncate(time.Second), scans: 8}
	w := newWorld(t, 1)
	w.seed(0, 32*(rounds+1))
	var real []pushed
	for n := range 8 { // two of each, and four of USPS
		real = append(real, w.request(m.parcel(n), delivery{scans: 1}))
	}
	w.push(texts(real...))
	if n := w.count(`SELECT count(*) FROM tracking_events WHERE code = ANY ($1)`, []string{"OA", "P/PU/038", "PU"}); n < len(real) {
		t.Fatalf("%d of %d pushes were believed", n, len(real))
	}
	before := w.state()
	counts := map[string]int{}
	var took []time.Duration
	for n := range rounds {
		for _, f := range w.forgeries(m, real, 32*n) {
			counts[f.kind]++
			took = append(took, w.try(f))
		}
	}
	w.awaitHeard()
	time.Sleep(time.Second)
	if after := w.state(); after != before {
		t.Errorf("forged pushes changed something:\n before %s\n after  %s", before, after)
	}
	// The service is well, and believes the carrier still.
	w.push(texts(w.request(m.parcel(32*rounds), delivery{scans: 1})))
	if w.state() == before {
		t.Error("a real push changes nothing")
	}
	p99 := proving.Quantile(took, 0.99)
	report(t, nil, map[string]any{"pushes": len(took), "kinds": counts, "changes": 0, "answerP99": p99, "answerMax": proving.Quantile(took, 1)})
	// The gate runs on any machine: the full proof measures the time.
	if proving.Pick(t, false, true) && p99 > 100 {
		t.Errorf("they are answered within %.0f ms, want at most 100", p99)
	}
}

// try pushes and reports how long the answer took.
func (w *world) try(f forgery) time.Duration {
	w.t.Helper()
	req := f.push.http(w.copies[0])
	if f.raw != nil {
		req.Body, req.ContentLength = io.NopCloser(f.raw), -1
	}
	start := time.Now()
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Errorf("%s: %v", f.what, err)
		return 0
	}
	took := time.Since(start)
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != f.want {
		w.t.Errorf("%s: answered %d %.200s, want %d", f.what, resp.StatusCode, answer, f.want)
	}
	return took
}

// state is all that pushes could change: timelines, statuses, the log, and what
// is to be asked about.
func (w *world) state() (text string) {
	w.t.Helper()
	err := w.pool.QueryRow(w.t.Context(), `SELECT concat_ws(' ',
		(SELECT count(*) || ' scans ' || md5(string_agg(t::text, ' ' ORDER BY t.subject_id, t.code, t.occurred_at)) FROM tracking_events t),
		(SELECT count(*) || ' parcels ' || md5(string_agg(concat(st.id, st.status, st.sequence, st.reason, st.estimated_delivery_at), ' ' ORDER BY st.id)) FROM shipment_states st),
		(SELECT count(*) || ' events' FROM events), (SELECT count(*) || ' carrier_polls' FROM carrier_polls))`).Scan(&text)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// forgeries are made from real pushes, and from news of the parcels behind from.
func (w *world) forgeries(m model, real []pushed, from int) (list []forgery) {
	for i, p := range real {
		list = append(list, w.untrue(i, p, w.request(m.parcel(from+12+i), delivery{scans: 1}))...)
		name := parcel{n: i}.carrier()
		list = append(list, forgery{kind: "replayed", what: "a replay of " + name, push: p, want: http.StatusOK})
		for version := range uint8(5) {
			again := w.request(m.parcel(i), delivery{scans: 1, version: version + uint8(from)%100 + 1})
			list = append(list, forgery{kind: "replayed", what: "the same told again by " + name, push: again, want: http.StatusOK})
		}
	}
	for _, s := range w.stands {
		for i, body := range []string{"", "null", "[]", "{}", "<html>Gateway</html>", `{"payload":`, "\xff\xfe\x00", strings.Repeat("[", 50_000), `{"payload":{"trackingEvents":[[[1]]]},"output":7,"trackingNumber":["x"]}`} {
			body += strings.Repeat(" ", from/32) // not the same as in the last round
			list = append(list, forgery{kind: "unreadable", what: fmt.Sprintf("%s with nonsense %d", s.Name, i), push: s.signed([]byte(body)), want: http.StatusOK})
		}
	}
	return list
}

// untrue are pushes of news that the ith carrier did not send, or that are too
// large. p is one that it did.
func (w *world) untrue(i int, p, news pushed) (list []forgery) {
	name := parcel{n: i}.carrier()
	add := func(kind, what string, want int, change func(*pushed)) {
		q := news
		change(&q)
		list = append(list, forgery{kind: kind, what: name + " " + what, push: q, want: want})
	}
	slash := strings.LastIndexByte(news.path, '/')
	add("forged", "without a proof", http.StatusOK, func(q *pushed) { q.proof = "" })
	add("forged", "with another's proof", http.StatusOK, func(q *pushed) { q.value = p.value + "x" })
	add("forged", "with an empty proof", http.StatusOK, func(q *pushed) { q.value = "" })
	if name != "ups" { // which does not sign: whoever has its secret may say anything
		add("forged", "with the proof of another push", http.StatusOK, func(q *pushed) { q.value = p.value })
		add("forged", "changed after it was signed", http.StatusOK, func(q *pushed) { q.body = bytes.Replace(q.body, []byte("0"), []byte("1"), 1) })
	}
	add("forged", "at no address", http.StatusNotFound, func(q *pushed) { q.path = q.path[:len(q.path)-1] + "0" })
	add("forged", "without a token", http.StatusNotFound, func(q *pushed) { q.path = q.path[:slash] })
	add("forged", "at no connection", http.StatusNotFound, func(q *pushed) { q.path = "/in/con_nothing/" + strings.Repeat("a", 32) })
	add("forged", "at another's address", http.StatusNotFound, func(q *pushed) {
		own := max(0, i%4-1)
		other := w.stands[(own+1)%len(w.stands)].path
		q.path = q.path[:slash] + other[strings.LastIndexByte(other, '/'):]
	})
	add("oversized", "that is too large", http.StatusRequestEntityTooLarge, func(q *pushed) { q.body = append(bytes.Repeat([]byte(" "), 1<<20), q.body...) })
	add("oversized", "that never ends", http.StatusRequestEntityTooLarge, func(*pushed) {})
	list[len(list)-1].raw = io.LimitReader(endless{}, 8<<20)
	return list
}

// signed is a push of any body with the carrier's own proof.
func (s *stand) signed(body []byte) pushed {
	switch s.Name {
	case "ups":
		return pushed{s.path, "Credential", s.secret, body}
	case "usps":
		return pushed{s.path, "X-HMAC", signature(s.secret, "", body), body}
	}
	return pushed{s.path, "Fdx-Signature", signature(s.secret, "", body), body}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
