package api

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestContractLabelsAreServedWithTheirHeaders(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id := c.ship()
	server := httptest.NewServer(c.handler)
	defer server.Close()
	get := func(method, path, match string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.key)
		r.Header.Set("If-None-Match", match)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	tags := map[string]bool{}
	for format, kind := range map[string]string{"pdf": "application/pdf", "zpl": "application/zpl", "png": "image/png"} {
		path := "/v1/labels/" + id + "." + format
		resp, body := get("GET", path, "")
		tag := resp.Header.Get("ETag")
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != kind || resp.Header.Get("Cache-Control") != "no-store" ||
			resp.Header.Get("Content-Disposition") != `inline; filename="`+id+"."+format+`"` || !strings.HasPrefix(tag, `"`) || tags[tag] {
			t.Errorf("%s: %d %v", format, resp.StatusCode, resp.Header)
		}
		tags[tag] = true
		head, none := get("HEAD", path, "")
		if head.StatusCode != http.StatusOK || len(none) != 0 || head.ContentLength != int64(len(body)) || head.Header.Get("ETag") != tag || head.Header.Get("Content-Type") != kind {
			t.Errorf("HEAD %s: %d %v with %d bytes", format, head.StatusCode, head.Header, len(none))
		}
		same, none := get("GET", path, `"x", `+tag)
		if same.StatusCode != http.StatusNotModified || len(none) != 0 || same.Header.Get("ETag") != tag {
			t.Errorf("conditional %s: %d with %d bytes", format, same.StatusCode, len(none))
		}
		if again, bytes2 := get("GET", path, `"x"`); again.StatusCode != http.StatusOK || !bytes.Equal(body, bytes2) {
			t.Errorf("%s is not the same twice", format)
		}
	}
}

func TestContractSizesAndResolutionsOfALabel(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id := c.ship()
	for _, tc := range []struct {
		body          string
		width, height int
	}{
		{`{"format":"png"}`, 812, 1218},
		{`{"format":"png","dpi":300}`, 1200, 1800},
		{`{"format":"png","size":"a6"}`, 839, 1183},
		{`{"format":"png","size":"a4","dpi":300}`, 2480, 3508},
		{`{"format":"png","size":"letter"}`, 1726, 2233},
	} {
		made, _ := c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label", tc.body)
		_, w := c.do(http.StatusOK, "GET", strings.TrimPrefix(made["url"].(string), testBase), "")
		picture, err := png.DecodeConfig(w.Body)
		if err != nil || abs(picture.Width-tc.width) > 1 || abs(picture.Height-tc.height) > 1 {
			t.Errorf("%s is %d x %d, want %d x %d, %v", tc.body, picture.Width, picture.Height, tc.width, tc.height, err)
		}
	}
	made, _ := c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label", "")
	if made["format"] != "pdf" || made["size"] != "4x6" || made["dpi"] != 203.0 {
		t.Errorf("by default: %v", made)
	}
	p, _ := c.do(http.StatusConflict, "POST", "/v1/shipments/"+id+"/label", `{"format":"zpl","size":"a4"}`)
	if p["code"] != "format_unavailable" || !strings.Contains(p["detail"].(string), "pdf") {
		t.Errorf("ZPL on a sheet: %v", p)
	}
	for _, body := range []string{`{"format":"gif"}`, `{"size":"a5"}`, `{"dpi":600}`} {
		c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments/"+id+"/label", body)
	}
	if _, w := c.do(http.StatusOK, "GET", "/v1/labels/"+id+".zpl", ""); !strings.Contains(w.Body.String(), "SAMPLE - NOT FOR SHIPPING") {
		t.Error("the label of the sandbox has no mark")
	}
}

func abs(n int) int { return max(n, -n) }

func TestContractALinkIsForOneLabelAndEnds(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, other := c.ship(), c.ship()
	link, _ := c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label-link", "")
	ends, err := time.Parse(time.RFC3339, link["expiresAt"].(string))
	if left := time.Until(ends); err != nil || left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("a link lasts %s, %v", left, err)
	}
	path := strings.TrimPrefix(link["url"].(string), testBase)
	if w := send(c.handler, "GET", path, "", ""); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/pdf" {
		t.Errorf("the link: %d %s", w.Code, w.Body)
	}
	_, token, _ := strings.Cut(path, "?token=")
	if token, err = url.QueryUnescape(token); err != nil {
		t.Fatal(err)
	}
	ended := forge(t, "label", token, func(claims map[string]any) { claims["e"] = time.Now().Add(-time.Minute).Unix() })
	for what, wrong := range map[string]string{
		"another format":   strings.Replace(path, ".pdf", ".png", 1),
		"another shipment": strings.Replace(path, id, other, 1),
		"an old link":      "/v1/labels/" + id + ".pdf?token=" + url.QueryEscape(ended),
		"nothing":          "/v1/labels/" + id + ".pdf?token=x",
	} {
		w := send(c.handler, "GET", wrong, "", "")
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "invalid_token") {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label-link", `{"expiresIn":604800}`)
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments/"+id+"/label-link", `{"expiresIn":604801}`); wrongAt(p)["/expiresIn"] == "" {
		t.Errorf("longer than 7 days: %v", p)
	}
	c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "")
	for _, key := range []string{"", c.key} {
		if w := send(c.handler, "GET", path, key, ""); w.Code != http.StatusGone || !strings.Contains(w.Body.String(), "label_voided") {
			t.Errorf("after the void: %d %s", w.Code, w.Body)
		}
	}
	if p, _ := c.do(http.StatusGone, "POST", "/v1/shipments/"+id+"/label-link", ""); p["code"] != "label_voided" {
		t.Errorf("a link to a voided label: %v", p)
	}
}
