package remote

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// The headers of Standard Webhooks. Requests and answers carry them; an answer
// repeats the id of its request.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const (
	secretPrefix = "whsec_"
	// tolerance is how far the clocks of a plug-in and of this service may be
	// apart.
	tolerance = 5 * time.Minute
	// answerLimit bounds an answer: the labels of many pieces fit.
	answerLimit = 4 << 20
)

// A Secret signs in both directions. Printing it does not show it.
type Secret struct{ key []byte }

// ParseSecret reads a secret as Standard Webhooks writes them.
func ParseSecret(text string) (Secret, error) {
	encoded, hasPrefix := strings.CutPrefix(strings.TrimSpace(text), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !hasPrefix || err != nil || len(key) < 24 || len(key) > 64 {
		return Secret{}, ship.Errorf(ship.Invalid, "the secret must be whsec_ and 24 to 64 bytes in base64, such as one made with: echo whsec_$(openssl rand -base64 32)")
	}
	return Secret{key}, nil
}

// Reveal returns the secret as plug-ins are configured with it.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.key) }

// String shows nothing of the secret.
func (Secret) String() string { return "[secret]" }

// GoString is the same for %#v.
func (Secret) GoString() string { return "[secret]" }

// Sign signs a message by setting its headers.
func (s Secret) Sign(header http.Header, id string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(s.mac(id, timestamp, body)))
}

func (s Secret) mac(id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// errSignature is the error of a message whose signature is missing, wrong or
// too old.
var errSignature = errors.New("the signature is missing or not valid")

// Verify checks the signature of a message.
func (s Secret) Verify(header http.Header, now time.Time, body []byte) error {
	id := header.Get(HeaderID)
	timestamp := header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errSignature
	}

	want := s.mac(id, timestamp, body)
	for signature := range strings.FieldsSeq(header.Get(HeaderSignature)) {
		encoded, isV1 := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if isV1 && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errSignature
}

// signing is a Doer that signs each request, and lets only answers pass that the
// plug-in signed for it.
type signing struct {
	via    carrier.Doer
	secret Secret
}

// Do is carrier.Doer.
func (s signing) Do(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		if err := errors.Join(err, request.Body.Close()); err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	id := "req_" + rand.Text()
	s.secret.Sign(request.Header, id, time.Now(), body)

	response, err := s.via.Do(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		// A plug-in that does not accept our signature, or a proxy before it,
		// need not sign: nothing was done.
		return response, nil
	}

	answer, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.Header.Get(HeaderID) != id {
		return nil, errSignature
	}
	if err := s.secret.Verify(response.Header, time.Now(), answer); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, nil
}
