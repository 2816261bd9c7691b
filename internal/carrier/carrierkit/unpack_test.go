package carrierkit_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// packed returns text, compressed.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// trafficVia returns the service's way to carriers.
func trafficVia(t *testing.T, o carrierkit.TrafficOptions) carrier.Doer {
	t.Helper()
	traffic := carrierkit.NewTraffic(o)
	t.Cleanup(traffic.Close)
	return traffic.Doer(carrier.Spec{}, "a")
}

func TestAnswersAreUnpackedHoweverTheHeaderIsSpelled(t *testing.T) {
	const text = `{"number":"794791341818"}`
	for name, tc := range map[string]struct {
		encoding string
		body     []byte
	}{
		"gzip":                           {"gzip", packed(t, text)},
		"upper case":                     {"GZIP", packed(t, text)},
		"x-gzip":                         {"x-gzip", packed(t, text)},
		"no header":                      {"", packed(t, text)},
		"identity":                       {"identity", []byte(text)},
		"header of a body decoded since": {"gzip", []byte(text)},
		"in two members":                 {"gzip", append(packed(t, text[:5]), packed(t, text[5:])...)},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if accepted := r.Header.Get("Accept-Encoding"); accepted != "" {
					t.Errorf("the request accepts %q", accepted)
				}
				if tc.encoding != "" {
					w.Header().Set("Content-Encoding", tc.encoding)
				}
				_, _ = w.Write(tc.body)
			})
			for _, effect := range []bool{true, false} {
				var got struct{ Number string }
				err := carrierkit.Call{Method: "POST", URL: at, Body: 1, Effect: effect}.Do(t.Context(), trafficVia(t, carrierkit.TrafficOptions{}), &got)
				if err != nil || got.Number != "794791341818" {
					t.Errorf("effect %v: %+v, %v", effect, got, err)
				}
			}
		})
	}
}

func TestACompressedRefusalKeepsItsCode(t *testing.T) {
	for _, status := range []int{400, 422} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			_, _ = w.Write(packed(t, "E17"))
		})
		err := carrierkit.Call{Method: "POST", URL: at, Body: 1, Effect: true, Refusal: func(body []byte) ship.Refusal {
			return ship.Refusal{Code: string(body)}
		}}.Do(t.Context(), trafficVia(t, carrierkit.TrafficOptions{}), nil)
		if e, ok := err.(*ship.Error); !ok || e.Kind != ship.Invalid || e.Refusal.Code != "E17" {
			t.Errorf("status %d: %+v", status, err)
		}
	}
}

// A response that cannot be decompressed counts as lost: the carrier may have
// made the sale.
func TestADamagedCompressedAnswerIsLost(t *testing.T) {
	whole := packed(t, `{"number":"`+strings.Repeat("7", 5000)+`"}`)
	changed := bytes.Clone(whole)
	changed[len(changed)-6] ^= 0xff

	for name, body := range map[string][]byte{
		"truncated": whole[:len(whole)/2],
		"one byte":  whole[:1],
		"head only": whole[:5],
		"checksum":  changed,
		"bomb":      packed(t, `{"number":"`+strings.Repeat("7", 40<<20)+`"}`),
	} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		})
		for effect, want := range map[bool]ship.Kind{true: ship.Uncertain, false: ship.Unavailable} {
			var got any
			err := carrierkit.Call{Method: "POST", URL: at, Body: 1, Effect: effect}.Do(t.Context(), trafficVia(t, carrierkit.TrafficOptions{}), &got)
			if ship.KindOf(err) != want {
				t.Errorf("%s, effect %v: %v, want %s", name, effect, err, want)
			}
		}
	}
}

func TestTheRecorderSeesPlainText(t *testing.T) {
	for _, status := range []int{200, 400} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", fmt.Sprint(len(packed(t, `{"ok":"yes"}`))))
			w.WriteHeader(status)
			_, _ = w.Write(packed(t, `{"ok":"yes"}`))
		})
		ended := make(chan carrier.Exchange, 1)
		ctx := buying(carrier.WithExchanges(t.Context(), func(x carrier.Exchange) { ended <- x }))
		_ = carrierkit.Call{Method: "POST", URL: at, Body: 1}.Do(ctx, trafficVia(t, carrierkit.TrafficOptions{Wrap: carrierkit.Recorder}), nil)
		x := <-ended
		if x.Status != status || !strings.Contains(x.Answered, `"ok": "yes"`) || x.Answer.Get("Content-Encoding") != "" || x.Answer.Get("Content-Length") != "" {
			t.Errorf("status %d: recorded %q with %v", status, x.Answered, x.Answer)
		}
	}
}
