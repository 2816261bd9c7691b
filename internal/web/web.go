// Package web is the dashboard: pages for people, rendered here, under /app,
// and the public tracking page under /track. It calls the same services as the
// API; it decodes forms and renders, and has no rule and no query of its own.
// Pages load nothing from other servers and run no scripts but their own.
//
// Each area of the dashboard is a package of its own: its handlers, its
// templates, and its routes in routes.go. This package puts them together.
package web

import (
	"strings"

	"github.com/waybillhq/waybill/internal/web/signin"
	"github.com/waybillhq/waybill/internal/web/site"
)

//go:generate go tool -modfile=../../tools/go.mod templ generate -path .
//go:generate go -C ../../tools run ./noinline -in ../internal/web

// Config is what the dashboard needs.
type Config = site.Config

// New returns the dashboard.
func New(config Config) *site.Dashboard {
	return site.New(config, site.Pages{
		Routes:  table(config),
		Missing: noPage,
		SignIn:  signin.Redirect,
	})
}

// Owns reports whether the dashboard serves the path.
func Owns(path string) bool {
	return path == "/" || path == "/app" || strings.HasPrefix(path, "/app/") || strings.HasPrefix(path, "/track/")
}
