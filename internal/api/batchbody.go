package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// batchInput is the body of POST /v1/batches. It is never decoded as a whole.
type batchInput struct {
	Shipments []shipmentInput `json:"shipments" minItems:"1" maxItems:"10000" doc:"The shipments to buy, each as in POST /v1/shipments."`
}

// requestedBatch is the body of a batch once it was read: the texts of its lines,
// which are JSON, and what distinguishes it from others.
type requestedBatch struct {
	lines       [][]byte
	fingerprint [32]byte
}

// readBatch reads the body of a batch. It keeps the text of each line and
// nothing that is made of it: a line of the largest size takes many times as
// much when it is parsed.
func (s *server) readBatch(ex *httpkit.Exchange) (requestedBatch, error) {
	var read requestedBatch
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s\n", http.MethodPost, ex.Path)

	var canonical []byte
	for {
		text, err := ex.List.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if other, ok := errors.AsType[*httpkit.NotListError](err); ok {
			return read, s.otherBody(other.Body)
		}
		if err != nil {
			return read, err
		}
		if len(read.lines) == batch.MaxLines {
			return read, tooManyLines()
		}

		if canonical, err = canonicalLine(canonical[:0], text); err != nil {
			return read, ex.List.Malformed(err)
		}
		hash.Write(append(canonical, '\n'))
		read.lines = append(read.lines, bytes.Clone(text))
	}
	if len(read.lines) == 0 {
		return read, ship.InvalidFields([]ship.FieldError{{Pointer: "/shipments", Code: "too_few", Detail: "must have at least 1 items"}})
	}

	hash.Sum(read.fingerprint[:0])
	return read, nil
}

// canonicalLine appends the one way to write a line, in which both forms of a
// body are the same. An error says that the text is not JSON.
func canonicalLine(dst, text []byte) ([]byte, error) {
	document, err := httpkit.ParseJSON(text)
	if ship.CodeOf(err) == "malformed_json" {
		return dst, err
	}

	// JSON that no field takes makes its line invalid, and not the batch.
	if err != nil {
		return append(dst, text...), nil
	}
	defer document.Release()
	return document.AppendCanonical(dst), nil
}

// otherBody returns what is wrong with a body that does not begin as a batch.
func (s *server) otherBody(body []byte) error {
	document, err := httpkit.ParseJSON(body)
	if err != nil {
		return err
	}
	defer document.Release()
	if invalid := s.routes["POST /v1/batches"].body.validate(document); len(invalid) > 0 {
		return ship.InvalidFields(invalid)
	}
	return ship.Coded(ship.Invalid, "malformed_json", `the body must begin with {"shipments": [`)
}

func tooManyLines() error {
	return ship.InvalidFields([]ship.FieldError{{
		Pointer: "/shipments",
		Code:    "too_many",
		Detail:  fmt.Sprintf("must have at most %d items; split it into several batches", batch.MaxLines),
	}})
}

// unnamedBatch is the idempotency key of a live batch whose client gave none.
func unnamedBatch(key ship.KeyID, fingerprint [32]byte) string {
	return ship.ServiceKey(ship.KeyOfUnnamedBatch, string(key)+hex.EncodeToString(fingerprint[:]))
}

// batchLines translates the lines of a batch, one at a time.
func (s *server) batchLines(caller account.Principal, read requestedBatch) iter.Seq[batch.NewLine] {
	now := time.Now().UTC()
	return func(yield func(batch.NewLine) bool) {
		for _, text := range read.lines {
			if !yield(s.batchLine(caller, text, now)) {
				return
			}
		}
	}
}

// batchLine translates a line, as buyInput does with a request of its own. What
// is invalid is in the line.
func (s *server) batchLine(caller account.Principal, text []byte, now time.Time) batch.NewLine {
	document, err := httpkit.ParseJSON(text)
	if err != nil {
		return batch.NewLine{Invalid: fieldsOf(err)}
	}
	invalid := s.routes["POST /v1/shipments"].body.validate(document)
	document.Release()

	// What does not fit is listed already; the rest is checked all the same.
	var in shipmentInput
	_ = json.Unmarshal(text, &in)
	order, oneParcel, further := in.order()
	limit := in.MaxAmount.money("/maxAmount", &further)
	_, err = order.Normalize(ship.Normalizing{
		Tenant:    caller.Tenant,
		Account:   caller.Account,
		OneParcel: oneParcel,
		Now:       now,
	})
	further = append(further, fieldsOf(err)...)

	return batch.NewLine{
		LineRequest: batch.LineRequest{
			Order:             order,
			OneParcel:         oneParcel,
			Carrier:           in.Carrier,
			Service:           in.Service,
			Connection:        ship.ConnectionID(in.ConnectionID),
			RateID:            in.RateID,
			MaxAmount:         limit,
			OnDuplicate:       in.OnDuplicateOrder,
			AddressValidation: in.AddressValidation,
		},
		Invalid: mergeInvalid(invalid, further),
	}
}
