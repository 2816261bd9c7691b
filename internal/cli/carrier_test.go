package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/cli"
)

const pluginSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// startTracker runs a plug-in of a carrier that only tracks.
func startTracker(t *testing.T) *httptest.Server {
	t.Helper()
	secret, err := remote.ParseSecret(pluginSecret)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"/describe": `{"protocol":1,"title":"Owl Mail","abilities":["track"],
			"fields":[{"name":"api_key","title":"API key","secret":true,"required":true}],
			"statuses":[{"code":"DONE","status":"delivered"}],
			"examples":{"credentials":{"api_key":"owl-key-1234"},"trackingNumber":"OWL1"}}`,
		"/check": `{"ok":true}`,
		"/track": `{"updates":[{"trackingNumber":"OWL1","code":"DONE","at":"2026-01-02T03:04:05Z"}]}`,
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || secret.Verify(r.Header, time.Now(), body) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}

		var in struct{ Credentials map[string]string }
		status, answer := http.StatusOK, answers[r.URL.Path]
		switch {
		case answer == "":
			status = http.StatusNotFound
		case json.Unmarshal(body, &in) != nil:
			status, answer = http.StatusUnprocessableEntity, `{"error":{"kind":"invalid"}}`
		case r.URL.Path != "/describe" && in.Credentials["api_key"] != "owl-key-1234":
			status, answer = http.StatusUnprocessableEntity, `{"error":{"kind":"forbidden"}}`
		}
		secret.Sign(w.Header(), r.Header.Get(remote.HeaderID), time.Now(), []byte(answer))
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestACarrierPluginIsVerifiedRegisteredAndRemoved(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.specs = nil // the real ones, and plug-ins
	c.shell["CARRIER_PLUGIN_NETWORKS"] = "127.0.0.0/8"
	plugin := startTracker(t)
	file := secretFile(t, pluginSecret+"\n")

	report := c.must(t, "carrier", "verify", plugin.URL, "--secret-file", file)
	for _, want := range []string{"Owl Mail at " + plugin.URL + ": grade A", "track"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}

	c.must(t, "account", "create", "--name", "Shop")
	c.must(t, "carrier", "add", "owl_mail", "--url", plugin.URL, "--secret-file", file)
	if list := c.must(t, "carrier", "list"); !strings.Contains(list, "owl_mail  Owl Mail  "+plugin.URL+"  track") {
		t.Errorf("listed as\n%s", list)
	}
	if fields := c.must(t, "connection", "fields"); !strings.Contains(fields, "owl_mail ") || !strings.Contains(fields, " Owl Mail") {
		t.Errorf("connection fields does not list the plug-in:\n%s", fields)
	}
	if fields := c.must(t, "connection", "fields", "owl_mail"); !strings.Contains(fields, "api_key") {
		t.Errorf("connection fields owl_mail prints\n%s", fields)
	}
	connection := c.must(t, "connection", "add", "--carrier", "owl_mail", "--set", "api_key=owl-key-1234")
	if out := c.must(t, "connection", "check", connection); !strings.Contains(out, "ok") {
		t.Errorf("checked:\n%s", out)
	}

	if _, err := c.run(t, nil, "carrier", "remove", "owl_mail"); err == nil || !strings.Contains(cli.Explain(err), "1 connections use") {
		t.Errorf("removed while it is in use: %v", err)
	}
	c.must(t, "connection", "remove", connection)
	c.must(t, "carrier", "remove", "owl_mail")
	if list := c.must(t, "carrier", "list"); strings.Contains(list, "owl_mail") {
		t.Errorf("still listed:\n%s", list)
	}
	if strings.Contains(c.said.String(), pluginSecret[6:]) {
		t.Error("the secret was printed")
	}

	for args, says := range map[string]string{
		"carrier add owl_mail --url " + plugin.URL:                                    "the secret is required",
		"carrier add owl_mail --secret " + pluginSecret:                               "--url is required",
		"carrier add ups --url " + plugin.URL + " --secret " + pluginSecret:           "belongs to a carrier of Waybill",
		"carrier add owl_mail --url http://10.1.2.3 --secret " + pluginSecret:         "not allowed",
		"carrier verify " + plugin.URL + " --secret whsec_" + strings.Repeat("A", 44): "does not accept the signature",
	} {
		if _, err := c.run(t, nil, strings.Fields(args)...); err == nil || !strings.Contains(cli.Explain(err), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
