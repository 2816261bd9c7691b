package journal

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Exchange is one thing said to a carrier about a shipment, and its answer.
// It has no secrets.
type Exchange struct {
	carrier.Exchange
	Connection ship.ConnectionID
}

// said is what is compressed of an exchange.
type said struct {
	Header http.Header `json:"header,omitempty"`
	Body   string      `json:"body,omitempty"`
	Answer http.Header `json:"answer,omitempty"`
	Told   string      `json:"told,omitempty"`
}

// NoteExchange takes an exchange down. It never waits for the database.
func (s *Service) NoteExchange(t ship.Tenant, shipment ship.ShipmentID, connection ship.ConnectionID, x carrier.Exchange) {
	if !s.Exchanges {
		return
	}
	packed, err := pack(said{x.Header, x.Body, x.Answer, x.Answered})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.bytes+len(packed) > maxExchanges {
		s.droppedExchanges.Add(1)
		return
	}
	s.bytes += len(packed)
	s.exchanges = append(s.exchanges, store.CarrierExchange{
		ID: ship.NewRawID(t.Shard(), x.At), Tenant: t, Shipment: shipment, Connection: connection, Operation: string(x.Operation),
		Method: x.Method, URL: cut(x.URL, 2000), Status: x.Status, Took: x.Took, Error: cut(x.Error, 500), Said: packed,
	})
}

// maxShown bounds the exchanges of one shipment: a purchase in doubt is looked
// up for a day.
const maxShown = 200

// OfShipment lists what was said to carriers about the shipment, oldest first.
func (s *Service) OfShipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]Exchange, error) {
	rows, err := s.Store.Exchanges(ctx, t, id, maxShown)
	if err != nil {
		return nil, err
	}
	list := make([]Exchange, len(rows))
	for i, row := range rows {
		text, err := unpack(row.Said)
		if err != nil {
			return nil, fmt.Errorf("exchange of %s: %w", id, err)
		}
		list[i] = Exchange{Connection: row.Connection, Exchange: carrier.Exchange{
			Operation: carrier.Operation(row.Operation), At: row.ID.Time(), Took: row.Took, Method: row.Method, URL: row.URL, Status: row.Status, Error: row.Error,
			Header: text.Header, Body: text.Body, Answer: text.Answer, Answered: text.Told,
		}}
	}
	return list, nil
}

func pack(v said) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func unpack(b []byte) (v said, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return v, err
	}
	text, err := io.ReadAll(io.LimitReader(z, 16<<20))
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// Curl is the request as a command, with what was secret to be filled in.
func (x Exchange) Curl() string {
	lines := []string{"curl -X " + x.Method + " " + quote(x.URL)}
	for _, line := range HeadLines(x.Header) {
		lines = append(lines, "-H "+quote(strings.ReplaceAll(line, "[secret]", "YOUR-SECRET")))
	}
	if x.Body != "" {
		lines = append(lines, "-d "+quote(x.Body))
	}
	return strings.Join(lines, " \\\n  ")
}

// quote is text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// HeadLines are the lines of a head, in order.
func HeadLines(h http.Header) []string {
	var lines []string
	for name, values := range h {
		for _, v := range values {
			lines = append(lines, name+": "+v)
		}
	}
	slices.Sort(lines)
	return lines
}
