package carrierkit_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

const (
	spokenUser     = "acme-user"
	spokenPassword = "s3cr3t-password"
	spokenToken    = "tok-0123456789"
)

// echo is a carrier that repeats everything it receives, and adds a token of
// its own.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Set-Cookie", "session="+spokenToken)
	w.Header().Set("X-Trace", "sent "+r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"b":1,"a":{"access_token":"`+spokenToken+`","label":"`+strings.Repeat("A", 5000)+`"},"sent":`+string(body)+`,"user":"`+spokenUser+`"}`)
}

// overhear sends one request under ctx through the recorder, and returns what
// the caller read and what was recorded.
func overhear(t *testing.T, ctx context.Context, mark func(context.Context) context.Context) (read string, notified []carrier.Exchange) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	ended := make(chan carrier.Exchange, 4)
	ctx = mark(carrier.WithExchanges(ctx, func(x carrier.Exchange) { ended <- x }))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/buy?api_key="+spokenToken+"&x=1", strings.NewReader(`{"zip":"78701","password":"`+spokenPassword+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(spokenUser+":"+spokenPassword)))
	resp, err := carrierkit.Recorder(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if carrier.OperationOf(ctx) != "" {
		notified = append(notified, <-ended)
	}
	return string(text), append(notified, drain(ended)...)
}

func drain(c chan carrier.Exchange) (list []carrier.Exchange) {
	for {
		select {
		case x := <-c:
			list = append(list, x)
		default:
			return list
		}
	}
}

func buying(ctx context.Context) context.Context { return carrier.WithOperation(ctx, carrier.OpBuy) }

func TestARecordedExchangeHasNoSecretAndChangesNothing(t *testing.T) {
	t.Parallel()
	read, notified := overhear(t, t.Context(), buying)
	if !strings.Contains(read, spokenToken) || !strings.Contains(read, strings.Repeat("A", 5000)) {
		t.Error("the caller did not read the carrier's own answer")
	}
	if len(notified) != 1 {
		t.Fatalf("observed %d times, want once", len(notified))
	}
	x := notified[0]
	if x.Operation != carrier.OpBuy || x.Status != http.StatusOK || x.Method != http.MethodPost || x.Took <= 0 {
		t.Errorf("observed %+v", x)
	}
	all := x.URL + x.Body + x.Answered + strings.Join(x.Answer["X-Trace"], "") + strings.Join(x.Answer["Set-Cookie"], "") + strings.Join(x.Header["Authorization"], "")
	for _, s := range []string{spokenUser, spokenPassword, spokenToken, base64.StdEncoding.EncodeToString([]byte(spokenUser + ":" + spokenPassword))} {
		if strings.Contains(all, s) {
			t.Errorf("%q is told: %s", s, all)
		}
	}
	if !strings.Contains(x.Body, `"zip": "78701"`) || strings.Index(x.Answered, `"b"`) > strings.Index(x.Answered, `"a"`) {
		t.Errorf("what is no secret must stay, in its order: %s %s", x.Body, x.Answered)
	}
	if !strings.Contains(x.Answered, "5000 characters left out") {
		t.Errorf("the label's picture is kept: %d bytes", len(x.Answered))
	}
}

func TestACallOfNoOperationIsNotRecorded(t *testing.T) {
	t.Parallel()
	if _, notified := overhear(t, t.Context(), func(ctx context.Context) context.Context { return ctx }); len(notified) != 0 {
		t.Errorf("observed %+v", notified)
	}
}
