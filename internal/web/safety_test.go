package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/site"
)

// vectors are texts that run as scripts if a page forgets to escape them.
var vectors = []string{
	`<script>alert(1)</script>`, `"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `javascript:alert(1)`,
	`" onmouseover="alert(1)`, `' onfocus='alert(1)' autofocus='`, `</title><script>alert(1)</script>`, `</textarea><script>alert(1)</script>`,
	`<iframe src="javascript:alert(1)">`, `<a href="javascript:alert(1)">x</a>`, `{{constructor.constructor('alert(1)')()}}`, `${alert(1)}`,
	`<math><mi xlink:href="data:x,<script>alert(1)</script>">`, `<body onload=alert(1)>`, `<input autofocus onfocus=alert(1)>`, `--><script>alert(1)</script>`,
	`]]><script>alert(1)</script>`, `<style>*{background:url(//evil.example)}</style>`, `<link rel=stylesheet href=//evil.example>`, `<meta http-equiv=refresh content=0>`,
	`<base href=//evil.example>`, `<object data=//evil.example>`, `<embed src=//evil.example>`, `<form action=//evil.example>`, "`-alert(1)-`", `\u003cscript\u003ealert(1)`,
	`<img src=x onerror=&#97;lert(1)>`, `<details open ontoggle=alert(1)>`, `<video src=x onerror=alert(1)>`, `<audio src=x onerror=alert(1)>`, `<marquee onstart=alert(1)>`,
	`<div hx-get="/app/logout" hx-trigger="load">`, `<div hx-on:click="alert(1)">`, `<div data-hx-post="/app/logout">`, `<template><script>alert(1)</script>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<a href="data:text/html,<script>alert(1)</script>">`, `<svg><animate onbegin=alert(1)>`,
	`<svg><use href="data:image/svg+xml,x">`, `<keygen autofocus onfocus=alert(1)>`, `<select autofocus onfocus=alert(1)>`, `<x contenteditable onblur=alert(1)>`,
	`<isindex type=image src=1 onerror=alert(1)>`, `<img srcset=x onerror=alert(1)>`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `%3Cscript%3Ealert(1)%3C/script%3E`,
	`<scr<script>ipt>alert(1)</scr</script>ipt>`, `<IMG """><SCRIPT>alert("1")</SCRIPT>">`, `<a onclick=alert(1)//`,
}

// inert fails if a page would run a text that it should only show.
func inert(t *testing.T, name, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if z.Err() != io.EOF {
				t.Errorf("%s: %v", name, z.Err())
			}
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		for _, a := range token.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "hx-on"), strings.HasPrefix(a.Key, "data-hx"):
				t.Errorf("%s: <%s %s=%q>", name, token.Data, a.Key, a.Val)
			case (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "//") || strings.HasPrefix(value, "data:text")):
				t.Errorf("%s: <%s %s=%q>", name, token.Data, a.Key, a.Val)
			}
		}
		switch token.Data {
		case "iframe", "object", "embed", "base", "style", "math", "marquee", "template":
			t.Errorf("%s: a <%s>", name, token.Data)
		case "script":
			if src := attr(token, "src"); !strings.HasPrefix(src, "/app/static/") {
				t.Errorf("%s: a script from %q", name, src)
			}
		}
	}
}

func attr(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestTextOfClientsNeverRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var last ship.Shipment
	for i, bad := range vectors {
		cut := bad[:min(len(bad), 100)]
		got, err := b.web.Shipping.Buy(t.Context(), shipping.BuyInput{Tenant: ship.Tenant{Account: b.owner.ID}, Account: b.owner, OneParcel: true, Order: ship.Order{
			OrderID: cut, Reference: cut, Metadata: map[string]string{cut: bad}, Parcels: []ship.Parcel{{Weight: 1}},
			Destination: ship.Address{Name: cut, Company: cut, Address1: cut, Address2: cut, City: cut, State: "TX", Zip: "78701", Country: "US"},
		}})
		if err != nil {
			t.Fatalf("%d %q: %v", i, bad, err)
		}
		last = got.Shipment
		inert(t, bad, b.send(member.Owner, b.home+"/shipments/"+string(last.ID), nil).Body.String())
		inert(t, bad, b.send("", b.trackPathOf(last), nil).Body.String())
		inert(t, bad, b.send(member.Owner, b.home+"/search?q="+url.QueryEscape(bad), nil).Body.String())
		inert(t, bad, b.send(member.Owner, b.home+"/shipments?order="+url.QueryEscape(bad)+"&carrier="+url.QueryEscape(bad), nil).Body.String())
	}
	for _, path := range []string{b.home, b.home + "/shipments", b.home + "/events", b.home + "/shipments/" + string(last.ID) + "/print"} {
		inert(t, path, b.send(member.Owner, path, nil).Body.String())
	}
	for _, bad := range vectors[:12] {
		w := b.send(member.Owner, b.home+"/keys", url.Values{"name": {bad}, "networks": {bad}})
		inert(t, bad, w.Body.String())
		w = b.send(member.Owner, b.home+"/webhooks", url.Values{"url": {bad}, "description": {bad}})
		inert(t, bad, w.Body.String())
		w = b.send("", "/app/login", url.Values{"email": {bad}, "password": {"x"}, "to": {bad}})
		inert(t, bad, w.Body.String())
	}
}

func TestEveryAnswerHasAStrictPolicy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/app/login", b.home + "/shipments", b.home + "/nothing", site.Static("app.css"), b.home + "/shipments.csv", "/track/x"} {
		h := b.send(member.Owner, path, nil).Header()
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q", path, csp)
		}
	}
}

func TestPostsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		w := b.send(member.Owner, b.home+"/keys", url.Values{"name": {"x"}}, header[0], header[1])
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", header[1], w.Code)
		}
	}
}
