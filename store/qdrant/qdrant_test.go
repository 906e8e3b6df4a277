package qdrant

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/testing/fakeqdrant"
	"github.com/kindred-ml/kindred/internal/testing/storetest"
	"github.com/kindred-ml/kindred/store"
)

// TestStore holds the driver to the contract, and its answers to those of an index
// folder with the same items, at a server of the protocol's stubs.
func TestStore(t *testing.T) {
	_, address := fakeqdrant.New(t)
	url := "qdrant://" + address
	ctx := t.Context()
	s, err := Create(ctx, url, "contract", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	storetest.Check(t, s)
	if _, err := Create(ctx, url, "contract", store.Config{Dim: 2}); err == nil || !strings.Contains(err.Error(),
		"exists") {
		t.Errorf("made twice: %v", err)
	}
	if _, err := Open(ctx, url, "nothing"); err == nil {
		t.Error("a store that is not there was opened")
	}
	again, err := Ensure(ctx, url, "contract", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if info, err := again.Info(ctx); err != nil || info.Items != 2 || info.Dim != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := Ensure(ctx, url, "contract", store.Config{Dim: 2, Distance: "dot"}); err == nil ||
		!strings.Contains(err.Error(), "by euclidean distance, not of 2 by dot") {
		t.Errorf("another distance: %v", err)
	}
	for _, cfg := range []index.Config{{}, {Distance: rank.Cosine}, {Distance: rank.Dot}} {
		cfg.Dim = 16
		t.Run(cfg.Distance.String(), func(t *testing.T) {
			x, err := index.Create(filepath.Join(t.TempDir(), "index"), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			s, err := Create(ctx, url, "same_"+cfg.Distance.String(), store.Config{Dim: cfg.Dim,
				Distance: cfg.Distance.String(), HNSW: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			storetest.Same(t, x.Store(false), s, false)
			in, err := s.Info(ctx)
			if err != nil || (in.Loss != "") != (cfg.Distance == rank.Cosine) {
				t.Errorf("what is lost: %q, %v", in.Loss, err)
			}
		})
	}
}

// TestFailover: a host that is away is passed over, and one that comes back is waited
// for.
func TestFailover(t *testing.T) {
	server, address := fakeqdrant.New(t)
	ctx := t.Context()
	s, err := Create(ctx, "qdrant://127.0.0.1:1,"+address, "a", store.Config{Dim: 2, Half: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	calls := 0
	server.Fault(func(string) error {
		if calls++; calls <= 4 {
			return status.Error(codes.Unavailable, "starting")
		}
		return nil
	})
	items := []store.Item{{ID: "x", Vector: []float32{1, 2}}}
	var gone *store.UnavailableError
	if err := s.Put(ctx, items, store.Replace); !errors.As(err, &gone) {
		t.Errorf("written to nobody: %v", err)
	}
	p := store.Patient(s, 20*time.Second)
	if err := p.Put(ctx, items, store.Replace); err != nil {
		t.Error(err)
	}
	if in, err := p.Info(ctx); err != nil || in.Items != 1 || in.Loss != store.HalfLoss {
		t.Errorf("%+v, %v", in, err)
	}
	server.Fault(func(string) error { return status.Error(codes.PermissionDenied, "no") })
	if err := p.Put(ctx, items, store.Replace); err == nil || errors.As(err, &gone) {
		t.Errorf("what is forbidden was tried again: %v", err)
	}
	server.Fault(nil)
	var wrong *store.ItemError
	if err := p.Put(ctx, []store.Item{{ID: "y", Vector: []float32{1, 1e6}}}, store.Replace); !errors.As(err, &wrong) {
		t.Errorf("a number beyond float16: %v", err)
	}
}
