// Command carrier-plugin-go is a carrier plug-in for Waybill, with the standard
// library alone.
//
//	PLUGIN_SECRET=whsec_... go run . [PORT] [LEDGER]
//
// It sells labels of a carrier that it makes up, Pigeon Post, so that you can run
// it at once. To connect a real carrier, replace the type Carrier: it must keep
// our reference with each purchase, and find the purchase by it. docs/plugins.md
// explains the rest, and "waybill carrier verify" says whether it is right.
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tolerance = 5 * time.Minute // that clocks may be apart

var abilities = []string{"rates", "buy", "find", "void", "track"}

var description = map[string]any{
	"protocol":        1,
	"title":           "Pigeon Post",
	"abilities":       abilities,
	"fields":          []map[string]any{{"name": "api_key", "title": "API key", "secret": true, "required": true}},
	"services":        []map[string]string{{"code": "ground", "name": "Pigeon Ground"}, {"code": "air", "name": "Pigeon Air"}},
	"labelFormats":    []string{"zpl"},
	"trackBatch":      20,
	"statuses":        []map[string]string{{"code": "LABEL", "status": "label_generated"}, {"code": "DONE", "status": "delivered"}},
	"trackingNumbers": []string{"PP[0-9]{12}"},
	"examples":        map[string]any{"credentials": map[string]string{"api_key": "test-key-of-pigeons"}},
}

// A pluginError is an answer that is an error, of one of the contract's kinds.
type pluginError struct {
	Kind    string `json:"kind"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

func (e *pluginError) Error() string { return e.Message }

// A sale is what the carrier keeps.
type sale struct {
	Reference string    `json:"reference"`
	Number    string    `json:"number"`
	Service   string    `json:"service"`
	Cents     int       `json:"cents"`
	To        string    `json:"to"`
	At        time.Time `json:"at"`
	Voided    bool      `json:"voided"`
}

var prices = map[string]int{"ground": 790, "air": 1890}

// Carrier is the carrier. Replace its methods with calls to a real one.
//
// A call that may have sold, and whose answer was lost, must return an error of
// kind "uncertain": Waybill then calls find before anything else.
type Carrier struct {
	mu     sync.Mutex
	sales  map[string]sale // by reference
	ledger *os.File
}

func openCarrier(path string) *Carrier {
	ledger, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	c := &Carrier{sales: map[string]sale{}, ledger: ledger}
	for lines := bufio.NewScanner(ledger); lines.Scan(); {
		var sold sale
		if json.Unmarshal(lines.Bytes(), &sold) == nil { // a line that a crash cut off was never answered
			c.sales[sold.Reference] = sold
		}
	}
	_, err = ledger.WriteString("\n") // what follows begins on a line of its own
	check(err)
	return c
}

// write keeps what was sold before anybody hears of it.
func (c *Carrier) write(sold sale) error {
	line, err := json.Marshal(sold)
	check(err)
	if _, err = c.ledger.Write(append(line, '\n')); err != nil || c.ledger.Sync() != nil {
		return &pluginError{Kind: "uncertain", Message: "the ledger could not be written"}
	}
	c.sales[sold.Reference] = sold
	return nil
}

func (c *Carrier) sell(reference, service, city string) (sale, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sold, ok := c.sales[reference]; ok {
		return sold, nil // the request came twice: sell once
	}
	if prices[service] == 0 || reference == "" {
		return sale{}, &pluginError{Kind: "invalid", Code: "SERVICE", Message: "there is no such service"}
	}

	hash := sha256.Sum256([]byte(reference))
	sold := sale{
		Reference: reference,
		Number:    fmt.Sprintf("PP%012d", binary.BigEndian.Uint64(hash[:8])%1e12),
		Service:   service,
		Cents:     prices[service],
		To:        city,
		At:        time.Now().UTC().Truncate(time.Second),
	}
	return sold, c.write(sold)
}

func (c *Carrier) find(match func(sale) bool) (sale, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sold := range c.sales {
		if match(sold) {
			return sold, true
		}
	}
	return sale{}, false
}

func (c *Carrier) void(number string) error {
	sold, ok := c.find(func(s sale) bool { return s.Number == number })
	if !ok {
		return &pluginError{Kind: "invalid", Code: "UNKNOWN", Message: "there is no such label"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sold.Voided = true
	return c.write(sold)
}

// A request is what the operations here read; there is more in the contract.
type request struct {
	Credentials     map[string]string `json:"credentials"`
	Reference       string            `json:"reference"`
	Service         string            `json:"service"`
	CarrierRef      string            `json:"carrierRef"`
	TrackingNumbers []string          `json:"trackingNumbers"`
	Order           struct {
		Destination struct {
			City string `json:"city"`
		} `json:"destination"`
	} `json:"order"`
}

// answer performs one operation.
func (c *Carrier) answer(operation string, in request) (any, error) {
	if in.Credentials["api_key"] != "test-key-of-pigeons" {
		return nil, &pluginError{Kind: "forbidden", Code: "KEY", Message: "unknown API key"}
	}

	switch operation {
	case "rates":
		var rates []map[string]any
		for service, cents := range prices {
			rates = append(rates, map[string]any{"service": service, "price": money(cents), "transitDays": 3})
		}
		return map[string]any{"rates": rates}, nil
	case "buy":
		sold, err := c.sell(in.Reference, in.Service, in.Order.Destination.City)
		return saleOf(sold), err
	case "find":
		sold, ok := c.find(func(s sale) bool { return s.Reference == in.Reference })
		if !ok {
			return nil, &pluginError{Kind: "not_found", Message: "nothing was bought under this reference"}
		}
		return saleOf(sold), nil
	case "void":
		return map[string]string{"status": "voided"}, c.void(in.CarrierRef)
	case "track":
		updates := []map[string]any{}
		for _, number := range in.TrackingNumbers {
			if sold, ok := c.find(func(s sale) bool { return s.Number == number }); ok {
				updates = append(updates, map[string]any{"trackingNumber": number, "code": "LABEL", "at": sold.At, "description": "Label created"})
			}
		}
		return map[string]any{"updates": updates}, nil
	}
	return map[string]bool{"ok": true}, nil // check
}

// saleOf is a purchase as Waybill wants it: complete, or not at all.
func saleOf(sold sale) map[string]any {
	label := fmt.Sprintf("^XA^FO50,50^ADN,36,20^FDPigeon Post %s^FS^FO50,120^BCN,100^FD%s^FS^XZ", sold.To, sold.Number)
	return map[string]any{
		"reference":      sold.Reference,
		"carrierRef":     sold.Number,
		"trackingNumber": sold.Number,
		"service":        sold.Service,
		"price":          money(sold.Cents),
		"label":          map[string]any{"format": "zpl", "data": []byte(label)},
	}
}

func money(cents int) map[string]string {
	return map[string]string{"amount": fmt.Sprintf("%d.%02d", cents/100, cents%100), "currency": "USD"}
}

// sign makes a signature of Standard Webhooks.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + string(body)))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func isSigned(key []byte, header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	wanted := sign(key, id, timestamp, body)
	return slices.ContainsFunc(strings.Fields(header.Get("webhook-signature")), func(given string) bool {
		return hmac.Equal([]byte(given), []byte(wanted))
	})
}

func main() {
	arguments := append(os.Args[1:], []string{"9700", "pigeon-post.jsonl"}[min(len(os.Args)-1, 2):]...)
	secret, hasPrefix := strings.CutPrefix(os.Getenv("PLUGIN_SECRET"), "whsec_")
	key, err := base64.StdEncoding.DecodeString(secret)
	if !hasPrefix || err != nil {
		log.Fatal("set PLUGIN_SECRET to whsec_ and the base64 of 32 random bytes")
	}
	carrier := openCarrier(arguments[1])
	listener, err := net.Listen("tcp", "127.0.0.1:"+arguments[0])
	check(err)
	fmt.Printf("listening on http://%s\n", listener.Addr())
	check(http.Serve(listener, handler(carrier, key)))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func handler(carrier *Carrier, key []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || r.Method != http.MethodPost || !isSigned(key, r.Header, body) {
			http.Error(w, `{"error":{"kind":"forbidden","message":"the signature is not valid"}}`, http.StatusUnauthorized)
			return
		}

		status, answer := http.StatusOK, any(description)
		operation := strings.Trim(r.URL.Path, "/")
		if operation != "describe" {
			status, answer = perform(carrier, operation, body)
		}
		text, err := json.Marshal(answer)
		check(err) // maps of texts and numbers

		// An answer repeats the id of its request.
		id, timestamp := r.Header.Get("webhook-id"), strconv.FormatInt(time.Now().Unix(), 10)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("webhook-id", id)
		w.Header().Set("webhook-timestamp", timestamp)
		w.Header().Set("webhook-signature", sign(key, id, timestamp, text))
		w.WriteHeader(status)
		_, _ = w.Write(text) // whoever does not read it looks the purchase up
	}
}

func perform(carrier *Carrier, operation string, body []byte) (int, any) {
	var in request
	if operation != "check" && !slices.Contains(abilities, operation) {
		return http.StatusNotFound, map[string]any{"error": &pluginError{Kind: "unsupported", Message: "there is no such operation"}}
	}
	if json.Unmarshal(body, &in) != nil {
		return http.StatusUnprocessableEntity, map[string]any{"error": &pluginError{Kind: "invalid", Code: "JSON", Message: "the request cannot be read"}}
	}

	answer, err := carrier.answer(operation, in)
	if refused, ok := err.(*pluginError); ok {
		return http.StatusUnprocessableEntity, map[string]any{"error": refused}
	}
	return http.StatusOK, answer
}
