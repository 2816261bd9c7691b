package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestKeysOfTheServiceAreNotAccepted sends every kind of key that the service makes
// from outside, wherever a client can send one, past clients that would refuse to.
func TestKeysOfTheServiceAreNotAccepted(t *testing.T) {
	a := newAgency(t)
	key := a.key(a.account, "--live")
	order := `{"orderId":"attack",` + agentOrder + `}`
	requests := map[string]string{
		"/v1/shipments":  order,
		"/v1/rates":      `{` + agentOrder + `}`,
		"/v1/batches":    `{"shipments":[` + order + `]}`,
		"/v1/manifests":  `{"carrier":"ups"}`,
		"/v2/shipments":  `{"shipment":{}}`,
		"/v2/scan_forms": `{"shipments":[]}`,
		"/mcp":           `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	}
	for _, kind := range ship.KeyKinds {
		for path, body := range requests {
			name := ship.ServiceKey(kind, "shp_01M7Q71XJ2M3S4SS0PN3H3Y68W", "1")
			if status := a.sendRaw(path, key, name, body); status < 400 || status >= 500 {
				t.Errorf("%s with the key %q: %d, want a refusal", path, name, status)
			}
		}
	}

	var stored int
	connection := storetest.Conn(t, a.database)
	a.must(connection.QueryRow(t.Context(), `SELECT count(*) FROM idempotency_keys`).Scan(&stored))
	if stored != 0 || a.sold() != 0 {
		t.Errorf("%d keys were stored and %d labels sold", stored, a.sold())
	}
}

// sendRaw writes a request with a header as it is, and returns the status of the
// answer.
func (a *agency) sendRaw(path, key, idempotency, body string) int {
	a.t.Helper()
	address, err := neturl.Parse(a.url)
	a.must(err)
	connection, err := net.Dial("tcp", address.Host)
	a.must(err)
	defer connection.Close()
	a.must(connection.SetDeadline(time.Now().Add(20 * time.Second)))
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		path, address.Host, key, idempotency, len(body), body)
	a.must(err)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	a.must(err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// TestALabelOfOneKeyIsNotThatOfAnother is the attack: an agent's key buys parcels to
// another address under the names that the service gave purchases of other keys
// before. The names are accepted as those of any client, and nothing else gets the
// agent's labels.
func TestALabelOfOneKeyIsNotThatOfAnother(t *testing.T) {
	a := newAgency(t)
	shop := a.key(a.account, "--live")
	agent := a.key(a.account, "--live", "--daily-limit=5000")
	attack := func(name string) string {
		t.Helper()
		order := strings.ReplaceAll(agentOrder, "350 5th Avenue", "1 Other Street")
		bought := a.call(agent, http.MethodPost, "/v1/shipments", fmt.Sprintf(`{"orderId":%q,%s}`, name, order), name)
		if bought.status != http.StatusCreated {
			t.Fatalf("the key %s of a client is refused: %+v", name, bought)
		}
		return bought.TrackingNumber
	}

	// A shipment under /v2 that is rated, and bought after the attack.
	rated := a.rate(shop)
	foreign := map[string]bool{attack("compat:" + rated.ID + ":1"): true}
	text, status := a.v2(shop, "/shipments/"+rated.ID+"/buy", `{"rate":{"id":"`+rated.Rates[0].ID+`"}}`)
	var bought struct {
		Code string `json:"tracking_code"`
	}
	if err := json.Unmarshal(text, &bought); err != nil || status != http.StatusOK || bought.Code == "" || foreign[bought.Code] {
		t.Errorf("/v2: %d, and the label is %q", status, bought.Code)
	}

	// A batch, of which the last lines are attacked while the first are bought.
	const lines, attacked = 40, 8
	var body strings.Builder
	for i := range lines {
		fmt.Fprintf(&body, `,{"orderId":"line-%d",%s}`, i+1, agentOrder)
	}
	batch := a.call(shop, http.MethodPost, "/v1/batches", `{"shipments":[`+body.String()[1:]+`]}`, "batch")
	for line := lines; line > lines-attacked; line-- {
		foreign[attack(fmt.Sprintf("batch-%s-%d-0", batch.ID, line))] = true
	}
	for _, number := range a.numbersOf(shop, batch.ID, lines) {
		if foreign[number] {
			t.Errorf("a line of the batch has the agent's label %s", number)
		}
	}
	if want := 1 + lines + len(foreign); a.sold() != want {
		t.Errorf("%d labels were sold, want %d", a.sold(), want)
	}
}

// numbersOf waits until the lines of a batch are bought, and returns the tracking
// numbers of their shipments.
func (a *agency) numbersOf(key, batch string, lines int) (numbers []string) {
	a.t.Helper()
	for range 300 {
		r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/v1/shipments?limit=100&orderId=line-1", nil)
		a.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		numbers = numbers[:0]
		for line := 1; line <= lines; line++ {
			r.URL.RawQuery = fmt.Sprintf("orderId=line-%d", line)
			answer, err := http.DefaultClient.Do(r)
			a.must(err)
			text, err := io.ReadAll(answer.Body)
			a.must(err)
			_ = answer.Body.Close()
			var page struct {
				Data []struct{ TrackingNumber string }
			}
			a.must(json.Unmarshal(text, &page))
			for _, found := range page.Data {
				numbers = append(numbers, found.TrackingNumber)
			}
		}
		if len(numbers) == lines {
			return numbers
		}
		time.Sleep(200 * time.Millisecond)
	}
	a.t.Fatalf("%d lines of batch %s are bought, want %d", len(numbers), batch, lines)
	return nil
}
