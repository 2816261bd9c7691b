package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed static
var staticFiles embed.FS

// staticPath is where files are that never change: their address holds their
// hash.
const staticPath = "/app/static/{hash}/{file}"

// An asset is a file as it is sent.
type asset struct {
	kind        string
	hash        string
	data, small []byte // small is the same, compressed
}

// assets are the files by name. The style sheets are one file to the browser.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	var css bytes.Buffer
	names, err := fs.Glob(staticFiles, "static/*")
	if err != nil {
		panic("web: " + err.Error()) // the pattern is a constant
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := staticFiles.ReadFile(name)
		if err != nil {
			panic("web: " + err.Error()) // it is embedded
		}
		switch path.Ext(name) {
		case ".css":
			css.Write(data)
		case ".js":
			all[path.Base(name)] = newAsset("text/javascript; charset=utf-8", data)
		case ".svg":
			all[path.Base(name)] = newAsset("image/svg+xml", data)
		}
	}
	css.WriteString(carrierMarks())
	all["app.css"] = newAsset("text/css; charset=utf-8", css.Bytes())
	return all
})

func newAsset(kind string, data []byte) asset {
	sum := sha256.Sum256(data)
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // the level is a good one
	_, err := z.Write(data)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("web: " + err.Error()) // memory always takes it
	}
	return asset{kind: kind, hash: hex.EncodeToString(sum[:8]), data: data, small: small.Bytes()}
}

// static is the address of a file.
func static(name string) string { return "/app/static/" + assets()[name].hash + "/" + name }

// serveStatic handles GET /app/static/{hash}/{file}.
func (s *Web) serveStatic(v *visit) error {
	a, known := assets()[v.r.PathValue("file")]
	if !known || a.hash != v.r.PathValue("hash") {
		return errNoPage
	}
	h, body := v.w.Header(), a.data
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(v.r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.small
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(http.StatusOK)
	v.w.Write(body) // the reader may have left
	return nil
}
