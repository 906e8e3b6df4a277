package weaviate

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// TestStore holds the driver to the contract, and its answers to those of an index
// folder with the same items.
func TestStore(t *testing.T) {
	url := storetest.StartWeaviate(t, 1).URL("consistency=all")
	ctx := t.Context()
	s, err := Create(ctx, url, "contract", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Create(ctx, url, "contract", store.Config{Dim: 2})
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("made twice: %v", err)
	}
	if _, err := Open(ctx, url, "nothing"); err == nil {
		t.Error("a store that is not there was opened")
	}
	again, err := Open(ctx, url, "contract")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := again.Info(ctx); err != nil || info.Items != 2 || info.Dim != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := Ensure(ctx, url, "contract", store.Config{Dim: 3}); err == nil ||
		!strings.Contains(err.Error(), "has vectors of 2 numbers") {
		t.Errorf("another length: %v", err)
	}
	for _, cfg := range []index.Config{{}, {Distance: eval.Cosine}, {Distance: eval.Dot}} {
		cfg.Dim = 16
		t.Run(cfg.Distance.String(), func(t *testing.T) {
			x, err := index.Create(filepath.Join(t.TempDir(), "index"), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			s, err := Ensure(ctx, url, "same_"+cfg.Distance.String(), store.Config{Dim: cfg.Dim,
				Distance: cfg.Distance.String(), HNSW: cfg.Distance == eval.Cosine})
			if err != nil {
				t.Fatal(err)
			}
			storetest.CheckSame(t, x.Store(false), s, true)
		})
	}
}

// TestNobody: hosts that do not answer are told, after patience.
func TestNobody(t *testing.T) {
	s, err := connect("weaviate://127.0.0.1:1,127.0.0.1:2", "a")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = store.WithRetries(s, 300*time.Millisecond).Info(t.Context())
	if err == nil || !strings.Contains(err.Error(), "after retries for") || time.Since(begun) < 300*time.Millisecond {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	for _, url := range []string{"postgres://a", "weaviate://a?consistency=some", "weaviate://a?replication=0",
		"weaviate://a?ef=x"} {
		if _, err := connect(url, "a"); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
	for url, want := range map[string]*Store{
		"weaviate://a": {level: "QUORUM", replication: 1, ef: -1},
		"weaviate://a?replication=1&ef=1&consistency=ONE": {level: "ONE", replication: 1, ef: 1},
		"weaviate://a?replication=99&ef=10000":            {level: "QUORUM", replication: 99, ef: 10_000},
	} {
		s, err := connect(url, "a")
		if err != nil {
			t.Fatal(err)
		}
		if s.level != want.level || s.replication != want.replication || s.ef != want.ef || s.class != "Kindred_a" {
			t.Errorf("%s: level %s, replication %d, ef %d", url, s.level, s.replication, s.ef)
		}
		if s.http.Timeout < time.Second { // 0 would be none
			t.Errorf("an answer is waited for %v", s.http.Timeout)
		}
	}
	if _, err := connect("weaviate://a", "A b"); err == nil {
		t.Error("an invalid name was accepted")
	}
	if _, err := Create(t.Context(), "weaviate://127.0.0.1:1", "a", store.Config{Dim: 2, Float16: true}); err == nil ||
		!strings.Contains(err.Error(), "float16") {
		t.Error(err)
	}
}
