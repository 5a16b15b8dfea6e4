// Package web is the HTTP door. So far it answers /healthz, and says so elsewhere.
package web

import (
	"fmt"
	"net/http"

	"github.com/hedgerowdb/hedgerow/internal/session"
)

// Handler serves a database over HTTP.
func Handler(db *session.Database) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := db.Ping(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "unhealthy:", err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Hedgerow answers /healthz here. Queries go to the PostgreSQL port.", http.StatusNotFound)
	})
	return mux
}
