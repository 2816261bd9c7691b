//go:build chaos

package purchases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/test/proving"
)

// credentials are what each stand-in takes. Those named as secrets must be
// seen nowhere.
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
	"dhl_express": {"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account},
}

// carriers in a fixed order; the last takes nothing back.
var carrierNames = []string{"ups", "usps", "fedex", "dhl_express"}

// stand is a stand-in carrier in a process of its own. Its ledger and its
// faults are files, so it is the same after it was killed.
type stand struct {
	proving.Process
	accepts map[string]string
	ledger  string
	faults  string
	secret  string // of a plug-in
}

func (s *stand) isPlugin() bool { return s.secret != "" }

// openStands starts the carriers. They behave.
func (w *world) openStands() {
	for _, name := range carrierNames {
		s := w.newStand(name, credentials[name])
		s.Command = func() *exec.Cmd {
			return exec.Command(proving.Binary(), "emulate", s.Name, "--listen", s.Addr, "--ledger", s.ledger, "--faults", s.faults,
				"--lookup-scale", fmt.Sprintf("%g", w.lookupScale))
		}
		s.Start(w.t)
	}
	w.awaitStands()
}

// newStand adds a carrier that is not started yet.
func (w *world) newStand(name string, accepts map[string]string) *stand {
	s := &stand{accepts: accepts, ledger: filepath.Join(w.dir, name+".jsonl"), faults: filepath.Join(w.dir, name+".faults")}
	s.Name, s.Addr, s.Log = name, proving.FreeAddr(w.t), filepath.Join(w.dir, name+".out")
	if err := os.WriteFile(s.faults, []byte("{}"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.carriers = append(w.carriers, s)
	return s
}

// awaitStands waits until all carriers listen.
func (w *world) awaitStands() {
	for _, s := range w.carriers {
		proving.Await(w.t, s.Name+" listens", 20*time.Second, func() bool { return s.Answers("/_emulator/faults") })
	}
}

func (w *world) stand(name string) *stand {
	for _, s := range w.carriers {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("there is no carrier %s", name)
	return nil
}

// turn sets the faults, now and after the next start. A carrier hangs longer than the
// service waits, on a slow machine too.
func (w *world) turn(s *stand, k emulator.Faults) {
	w.t.Helper()
	k.HangFor = emulator.Duration(proving.Times(time.Duration(k.HangFor), w.slow))

	// FedEx shows its sales after an hour. The service has to assume a day, because
	// nobody has measured it, and believes no absence before a person decides.
	if s.Name == "fedex" && k.LookupLag == nil {
		k.LookupLag = new(emulator.Duration(w.compressed(time.Hour)))
	}
	text, err := json.Marshal(k)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(s.faults+".new", text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(s.faults+".new", s.faults); err != nil {
		w.t.Fatal(err)
	}
	proving.Await(w.t, s.Name+" takes its faults", 20*time.Second, func() bool {
		req, err := http.NewRequest(http.MethodPut, "http://"+s.Addr+"/_emulator/faults", bytes.NewReader(text))
		if err != nil {
			return false
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return false // it was killed just now
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusNoContent
	})
}

func (w *world) turnAll(k emulator.Faults) {
	for _, s := range w.carriers {
		w.turn(s, k)
	}
}

// sale is a label that a carrier sold, as its ledger tells.
type sale struct {
	emulator.Entry
	carrier string
	voided  time.Time // zero while it is live
}

func (s sale) live() bool { return s.voided.IsZero() }

// sales reads the ledgers of all carriers.
func (w *world) sales() (all []*sale) {
	w.t.Helper()
	for _, s := range w.carriers {
		all = append(all, w.salesOf(s)...)
	}
	return all
}

func (w *world) salesOf(s *stand) (all []*sale) {
	w.t.Helper()
	f, err := os.Open(s.ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	byNumber := map[string]*sale{}
	lines := bufio.NewReader(f)
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all // a line that is not whole was not answered for
		}
		if err != nil {
			w.t.Fatal(err)
		}
		one := &sale{carrier: s.Name}
		if err := json.Unmarshal(text, &one.Entry); err != nil {
			w.t.Fatalf("ledger of %s: %v", s.Name, err)
		}
		switch one.Kind {
		case "sold":
			if byNumber[one.Number] != nil {
				w.t.Errorf("%s sold the number %s twice", s.Name, one.Number)
			}
			byNumber[one.Number] = one
			all = append(all, one)
		case "voided":
			if byNumber[one.Number] == nil {
				w.t.Errorf("%s voided %s, which it never sold", s.Name, one.Number)
				continue
			}
			byNumber[one.Number].voided = one.At
		}
	}
}
