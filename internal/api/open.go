package api

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// healthz answers as long as the process does.
func (s *server) healthz(w http.ResponseWriter, _ *http.Request) {
	reply{status: http.StatusOK, body: []byte(`{"status":"ok"}`)}.write(w)
}

// readyz answers whether requests should be sent here.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		if err := s.Ready(r.Context()); err != nil {
			httpkit.Fail(w, r, &ship.Error{Kind: ship.Unavailable, Message: "the service is not ready", Err: err})
			return
		}
	}
	reply{status: http.StatusOK, body: []byte(`{"status":"ready"}`)}.write(w)
}

func (s *server) serveDocument(w http.ResponseWriter, r *http.Request) {
	t, err := s.texts()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "application/yaml", body: t.openapi}.with("Cache-Control", "no-cache").write(w)
}

// serveGeneratorDocument serves the document for generators.
func (s *server) serveGeneratorDocument(w http.ResponseWriter, r *http.Request) {
	t, err := s.texts()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "application/json", body: t.generators}.with("Cache-Control", "no-cache").write(w)
}

// serveDocs serves the reference page. It loads nothing from anywhere, and its
// policy would stop it if it did.
func (s *server) serveDocs(w http.ResponseWriter, r *http.Request) {
	t, err := s.texts()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: t.docs}.
		with("Content-Security-Policy", "default-src 'none'; style-src '"+docsStyleHash+"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'").
		with("X-Content-Type-Options", "nosniff").with("Referrer-Policy", "no-referrer").with("Cache-Control", "no-cache").write(w)
}
