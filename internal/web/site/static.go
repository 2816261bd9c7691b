package site

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

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

//go:embed static
var staticFiles embed.FS

// staticPath is the route of files that never change: their address contains
// their hash.
const staticPath = "/app/static/{hash}/{file}"

// An asset is a file as it is sent.
type asset struct {
	kind        string
	hash        string
	data, small []byte // small is data, compressed
}

// assets are the files by name. The style sheets are one file to the browser.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	var css bytes.Buffer
	add := func(files embed.FS, pattern string) {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			panic("web: " + err.Error()) // the pattern is a constant
		}
		slices.Sort(names) // the cascade depends on the order of the style sheets

		for _, name := range names {
			data, err := files.ReadFile(name)
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
	}
	add(parts.Look, "look/*") // the tokens come before the rules that use them
	add(staticFiles, "static/*")
	css.WriteString(parts.CarrierMarks())
	all["app.css"] = newAsset("text/css; charset=utf-8", css.Bytes())
	return all
})

func newAsset(kind string, data []byte) asset {
	var small bytes.Buffer
	compressor, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // a valid level
	_, err := compressor.Write(data)
	if err == nil {
		err = compressor.Close()
	}
	if err != nil {
		panic("web: " + err.Error()) // writing to memory does not fail
	}

	sum := sha256.Sum256(data)
	return asset{
		kind:  kind,
		hash:  hex.EncodeToString(sum[:8]),
		data:  data,
		small: small.Bytes(),
	}
}

// Static returns the address of a file.
func Static(name string) string { return "/app/static/" + assets()[name].hash + "/" + name }

// serveStatic handles GET /app/static/{hash}/{file}.
func serveStatic(v *Visit) error {
	file, ok := assets()[v.Request.PathValue("file")]
	if !ok || file.hash != v.Request.PathValue("hash") {
		return ErrNoPage
	}

	header := v.Writer.Header()
	header.Set("Content-Type", file.kind)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Vary", "Accept-Encoding")

	body := file.data
	if strings.Contains(v.Request.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = file.small
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	v.Writer.WriteHeader(http.StatusOK)
	v.Writer.Write(body) // the client may have disconnected
	return nil
}

// ShowLogo answers with the picture whose hash is in the address.
func (v *Visit) ShowLogo(id ship.AccountID) error {
	logo, err := v.Account.LogoPicture(v.Context(), id, v.Request.PathValue("hash"))
	if err != nil {
		return err
	}

	header := v.Writer.Header()
	header.Set("Content-Type", "image/png")
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	header.Set("Content-Length", strconv.Itoa(len(logo.Picture)))
	v.Writer.Write(logo.Picture) // the client may have disconnected
	return nil
}
