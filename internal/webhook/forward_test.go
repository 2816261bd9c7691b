package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAForwardedEventIsSignedAndNotSentOn(t *testing.T) {
	t.Parallel()
	var got signed
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = signed{r.Header, body}
		http.Redirect(w, r, "/elsewhere", status)
	}))
	defer server.Close()
	f, err := NewForwarder(server.URL+"/hook", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, status = range []int{http.StatusOK, http.StatusInternalServerError, http.StatusFound} {
		code, err := f.Post(t.Context(), testEventID, bodies[4])
		if err != nil || code != status || string(got.body) != string(bodies[4]) || got.header.Get("webhook-id") != testEventID {
			t.Errorf("%d, %v, want %d: %v %s", code, err, status, got.header, got.body)
		}
		if err := verifies(t, f.Secret(), got); err != nil {
			t.Error(err)
		}
	}
	again, err := NewForwarder(server.URL, f.Secret())
	if err != nil || again.Secret() != f.Secret() {
		t.Errorf("a given secret becomes %v, %v", again, err)
	}
	server.Close()
	if code, err := f.Post(t.Context(), testEventID, nil); err == nil || code != 0 || strings.Contains(err.Error(), "/hook") {
		t.Errorf("nobody answers: %d, %v", code, err)
	}
}

func TestAForwarderNeedsAnAddressAndASecret(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:3000", "ftp://localhost/", "/hook", "http://"} {
		if _, err := NewForwarder(address, ""); err == nil {
			t.Errorf("%q passes", address)
		}
	}
	for _, secret := range []string{"hunter2", "whsec_", "whsec_AAAA", "whsec_%"} {
		if _, err := NewForwarder("http://localhost/", secret); err == nil {
			t.Errorf("%q passes", secret)
		}
	}
}
