package api

import (
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/docsite"
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

// serveDocs serves a page of the documentation: /docs is the reference.
func (s *server) serveDocs(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}

	name, policy := r.PathValue("page"), docsite.Policy
	switch name {
	case "":
		name, policy = docsite.Reference, docsPolicy
	case docsite.Reference:
		name = "none" // it has an address of its own
	}
	page, ok := docs.site.Page(name)
	if !ok {
		s.serveUnknownPage(w, r, docs.site)
		return
	}
	serveFile(w, r, page, "public, max-age=300", policy)
}

// serveUnknownPage answers a reader who looks for a page of the documentation that
// does not exist, for example by an old link: with a search for its name, and the way
// to all other pages.
func (s *server) serveUnknownPage(w http.ResponseWriter, r *http.Request, site *docsite.Site) {
	page, err := site.FindMissing(r.PathValue("page"))
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusNotFound, kind: "text/html; charset=utf-8", body: page}.
		with("Content-Security-Policy", docsite.Policy).
		write(w)
}

// serveDocsFile serves a file that pages of the documentation load. Its address
// has its hash, so it never changes.
func (s *server) serveDocsFile(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}

	file, ok := docs.site.Asset(r.PathValue("hash"), r.PathValue("file"))
	if !ok {
		httpkit.Fail(w, r, pathNotFound())
		return
	}
	serveFile(w, r, file, "public, max-age=31536000, immutable", docsite.Policy)
}

// searchDocs serves the results of a search in the documentation. They are not
// stored: people search for names and addresses, too.
func (s *server) searchDocs(w http.ResponseWriter, r *http.Request) {
	docs, err := s.docs()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}

	page, err := docs.site.Find(r.URL.Query().Get("q"))
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: page}.
		with("Content-Security-Policy", docsite.Policy).
		write(w)
}

// serveFile serves a file of the documentation, compressed if the client accepts
// that.
func serveFile(w http.ResponseWriter, r *http.Request, file docsite.File, cache, policy string) {
	tag := `"` + file.Hash + `"`
	answer := reply{status: http.StatusOK, kind: file.Kind}.
		with("Content-Security-Policy", policy).
		with("Cache-Control", cache).
		with("ETag", tag).
		with("Vary", "Accept-Encoding")
	if etagMatches(r.Header.Get("If-None-Match"), tag) {
		answer.status = http.StatusNotModified
		answer.write(w)
		return
	}

	compressed, ok := file.Gzip()
	if ok && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		answer.body = compressed
		answer.with("Content-Encoding", "gzip").write(w)
		return
	}
	data, err := file.Data()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	answer.body = data
	answer.write(w)
}
