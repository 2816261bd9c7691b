package api

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// healthz answers as long as the process runs.
func (s *server) healthz(w http.ResponseWriter, _ *http.Request) {
	reply{status: http.StatusOK, body: []byte(`{"status":"ok"}`)}.write(w)
}

// readyz answers whether requests should be sent to this process.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		if err := s.Ready(r.Context()); err != nil {
			httpkit.Fail(w, r, &ship.Error{Kind: ship.Unavailable, Message: "the service is not ready", Err: err})
			return
		}
	}
	reply{status: http.StatusOK, body: []byte(`{"status":"ready"}`)}.write(w)
}

// serveDocument serves the OpenAPI document.
func (s *server) serveDocument(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "application/yaml", body: docs.openapi}.
		with("Cache-Control", "no-cache").
		write(w)
}

// serveGeneratorDocument serves the OpenAPI document for client generators.
func (s *server) serveGeneratorDocument(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "application/json", body: docs.generators}.
		with("Cache-Control", "no-cache").
		write(w)
}

// serveDocs serves the reference page. The page loads nothing from elsewhere,
// and its content security policy forbids that it ever does.
func (s *server) serveDocs(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}

	policy := "default-src 'none'; style-src '" + docsStyleHash + "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: docs.page}.
		with("Content-Security-Policy", policy).
		with("Referrer-Policy", "no-referrer").
		with("Cache-Control", "no-cache").
		write(w)
}
