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

// An Exchange is one request to a carrier about a shipment, and its answer. It
// holds no secrets.
type Exchange struct {
	carrier.Exchange
	Connection ship.ConnectionID
}

// exchangeText is the part of an exchange that is compressed.
type exchangeText struct {
	Header   http.Header `json:"header,omitempty"`
	Body     string      `json:"body,omitempty"`
	Answer   http.Header `json:"answer,omitempty"`
	Answered string      `json:"told,omitempty"`
}

// NoteExchange records an exchange. It never waits for the database.
func (s *Service) NoteExchange(t ship.Tenant, shipment ship.ShipmentID, connection ship.ConnectionID, exchange carrier.Exchange) {
	if !s.Exchanges {
		return
	}

	// Compressing takes longest, so it is done before the lock is held.
	compressed, err := compress(exchangeText{
		Header:   exchange.Header,
		Body:     exchange.Body,
		Answer:   exchange.Answer,
		Answered: exchange.Answered,
	})

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.bytes+len(compressed) > maxExchanges {
		s.droppedExchanges.Add(1)
		return
	}

	s.bytes += len(compressed)
	s.exchanges = append(s.exchanges, store.CarrierExchange{
		ID:          ship.NewRawID(t.Shard(), exchange.At),
		Tenant:      t,
		Shipment:    shipment,
		Connection:  connection,
		Operation:   string(exchange.Operation),
		Method:      exchange.Method,
		URL:         truncate(exchange.URL, 2000),
		Status:      exchange.Status,
		Took:        exchange.Took,
		Error:       truncate(exchange.Error, 500),
		CarrierCode: compressed,
	})
}

// maxShown bounds the exchanges of one shipment: an uncertain purchase is looked
// up for a day.
const maxShown = 200

// OfShipment lists the exchanges with carriers about the shipment, oldest first.
func (s *Service) OfShipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]Exchange, error) {
	rows, err := s.Store.Exchanges(ctx, t, id, maxShown)
	if err != nil {
		return nil, err
	}

	list := make([]Exchange, len(rows))
	for i, row := range rows {
		text, err := decompress(row.CarrierCode)
		if err != nil {
			return nil, fmt.Errorf("exchange of %s: %w", id, err)
		}
		list[i] = Exchange{
			Connection: row.Connection,
			Exchange: carrier.Exchange{
				Operation: carrier.Operation(row.Operation),
				At:        row.ID.Time(),
				Took:      row.Took,
				Method:    row.Method,
				URL:       row.URL,
				Status:    row.Status,
				Error:     row.Error,
				Header:    text.Header,
				Body:      text.Body,
				Answer:    text.Answer,
				Answered:  text.Answered,
			},
		}
	}
	return list, nil
}

func compress(text exchangeText) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if err := json.NewEncoder(zip).Encode(text); err != nil {
		return nil, err
	}
	err := zip.Close()
	return b.Bytes(), err
}

func decompress(compressed []byte) (text exchangeText, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return text, err
	}
	encoded, err := io.ReadAll(io.LimitReader(zip, 16<<20))
	if err != nil {
		return text, err
	}
	return text, json.Unmarshal(encoded, &text)
}

// Curl is the request as a command, with placeholders for its secrets.
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
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// HeadLines are the lines of a header, in order.
func HeadLines(header http.Header) []string {
	var lines []string
	for name, values := range header {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return lines
}
