package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

func TestHealth(t *testing.T) {
	ctx := context.Background()
	eng, err := engine.Open(ctx, engine.Options{CacheBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	h := Handler(session.New(eng.Store(), session.Options{}))
	get := func(path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	if code := get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	if code := get("/"); code != http.StatusNotFound {
		t.Errorf("/: %d", code)
	}
	if err := eng.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if code := get("/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("healthz of a closed database: %d", code)
	}
}
