//go:build chaos

package tracking

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/test/proving"
)

// credentials are what each stand-in takes.
var credentials = map[string]map[string]string{
	"ups": {"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account},
	"usps": {
		"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID,
		"account_number": usps.Account,
	},
	"fedex": {
		"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account,
		"track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret,
	},
}

// carrierNames in a fixed order.
var carrierNames = []string{"usps", "ups", "fedex"}

// stand is a stand-in carrier in a process of its own, and the connection to
// it.
type stand struct {
	proving.Process
	accepts    map[string]string
	url        string // of the stand-in, or of what stands before it
	connection string
	path       string // where it pushes to, at any copy
	secret     string // that its pushes prove themselves with
}

// openStands starts the carriers. They behave.
func (w *world) openStands() {
	for _, name := range carrierNames {
		s := &stand{accepts: credentials[name]}
		s.Name, s.Addr, s.Log = name, proving.FreeAddr(w.t), filepath.Join(w.dir, name+".out")
		s.url = "http://" + s.Addr
		s.Command = func() *exec.Cmd {
			return exec.Command(proving.Binary(), "emulate", s.Name, "--listen", s.Addr, "--ledger", filepath.Join(w.dir, s.Name+".jsonl"), "--lookup-scale", "0")
		}
		w.stands = append(w.stands, s)
		s.Start(w.t)
	}
	for _, s := range w.stands {
		proving.Await(w.t, s.Name+" listens", 20*time.Second, func() bool { return s.Answers("/_emulator/faults") })
	}
}

// answering is USPS with the model's parcels: it answers questions about them
// by the model, and leaves all else to the stand-in.
type answering struct {
	model func(number string) (parcel, bool)
	rest  http.Handler
	asked atomic.Int64 // parcels
}

// before puts something before the stand-in of USPS.
func (w *world) before(a *answering) {
	s := w.stands[0]
	to, err := url.Parse("http://" + s.Addr)
	if err != nil {
		w.t.Fatal(err)
	}
	a.rest = httputil.NewSingleHostReverseProxy(to)
	srv := httptest.NewServer(a)
	w.t.Cleanup(srv.Close)
	s.url = srv.URL
}

func (a *answering) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/tracking/v3r2/tracking") {
		a.rest.ServeHTTP(rw, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var numbers []struct{ TrackingNumber string }
	if json.Unmarshal(body, &numbers) != nil {
		http.Error(rw, "not a question", http.StatusBadRequest)
		return
	}
	results := []any{}
	for _, n := range numbers {
		p, known := a.model(n.TrackingNumber)
		if !known {
			r.Body = io.NopCloser(bytes.NewReader(body))
			a.rest.ServeHTTP(rw, r)
			return
		}
		a.asked.Add(1)
		results = append(results, p.uspsResult(1<<len(p.scans)-1))
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(results)
}
