package qdrant

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/test/fakeqdrant"
	"github.com/kindred-ml/kindred/internal/test/storetest"
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
		!strings.Contains(err.Error(), "and the euclidean distance, not 2 and dot") {
		t.Errorf("another distance: %v", err)
	}
	for _, cfg := range []index.Config{{}, {Distance: eval.Cosine}, {Distance: eval.Dot}} {
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
			storetest.CheckSame(t, x.Store(false), s, false)
			in, err := s.Info(ctx)
			if err != nil || (in.Loss != "") != (cfg.Distance == eval.Cosine) {
				t.Errorf("what is lost: %q, %v", in.Loss, err)
			}
		})
	}
}

// TestLevels: how many machines have to agree, of those that keep an item.
func TestLevels(t *testing.T) {
	for options, want := range map[string]struct {
		write uint32
		read  *qdrant.ReadConsistency
	}{
		"replication=3&consistency=one": {1, qdrant.NewReadConsistencyFactor(1)},
		"replication=3":                 {2, qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority)},
		"replication=4":                 {3, qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority)},
		"replication=1":                 {1, qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority)},
		"tls=false":                     {1, qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority)},
		"replication=5&consistency=all": {5, qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_All)},
	} {
		s, err := connect("qdrant://127.0.0.1:1,[::1]:2?ef=1&"+options, "a")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(options, "replication") && s.replication != 1 {
			t.Errorf("%d machines keep an item, unless it is said", s.replication)
		}
		if s.quorum() != want.write || s.readConsistency().String() != want.read.String() || len(s.clients) != 2 ||
			s.ef != 1 {
			t.Errorf("%s: %d have to agree, reading %v", options, s.quorum(), s.readConsistency())
		}
		s.Close()
	}
	for _, options := range []string{"replication=0", "replication=100", "ef=0", "ef=10001", "consistency=some"} {
		if _, err := connect("qdrant://127.0.0.1:1?"+options, "a"); err == nil {
			t.Errorf("%s was taken", options)
		}
	}
}

// TestForeign: a collection whose vectors are searched by a graph of Qdrant's own is not
// searched exactly; one without such vectors was none of kindred's; and Ensure makes none
// where nobody says what is there.
func TestForeign(t *testing.T) {
	server, address := fakeqdrant.New(t)
	ctx := t.Context()
	url := "qdrant://" + address
	s, err := Create(ctx, url, "made", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, size := range map[string]uint64{"other": 3, "none": 0} {
		err := s.clients[0].CreateCollection(ctx, &qdrant.CreateCollection{CollectionName: "kindred_" + name,
			VectorsConfig: qdrant.NewVectorsConfig(&qdrant.VectorParams{Size: size, Distance: qdrant.Distance_Dot})})
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := Open(ctx, url, "other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.exact || !s.exact || other.dim != 3 || other.distance != "dot" {
		t.Errorf("%+v", other)
	}
	if _, err := Open(ctx, url, "none"); err == nil || !strings.Contains(err.Error(), "was not made by kindred") {
		t.Error(err)
	}
	if _, err := other.Info(ctx); err == nil || !strings.Contains(err.Error(), "create it again") {
		t.Errorf("a store without what tells of it: %v", err)
	}
	made := false
	server.Fault(func(method string) error {
		made = made || method == "Create"
		if method == "CollectionExists" {
			return status.Error(codes.Unavailable, "away")
		}
		return nil
	})
	var gone *store.UnavailableError
	if _, err := Ensure(ctx, url, "new", store.Config{Dim: 2}); !errors.As(err, &gone) || made {
		t.Errorf("made: %v, %v", made, err)
	}
}

// TestBatches: what is more than a request takes goes in several, and comes back whole.
func TestBatches(t *testing.T) {
	server, address := fakeqdrant.New(t)
	ctx := t.Context()
	s, err := Create(ctx, "qdrant://"+address, "a", store.Config{Dim: 1, Distance: "dot"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	calls := map[string]int{}
	server.Fault(func(method string) error { calls[method]++; return nil })
	const n = 2*batchSize + 1
	items := make([]store.Item, n)
	ids := make([]string, n)
	for i := range items {
		ids[i] = fmt.Sprintf("%04d", i)
		items[i] = store.Item{ID: ids[i], Vector: []float32{float32(i)}}
	}
	if err := s.Put(ctx, items, store.Insert); err != nil {
		t.Fatal(err)
	}
	if calls["Upsert"] != 3 || calls["Get"] != 3 || calls["SetPayload"] != 1 {
		t.Errorf("written by %v", calls)
	}
	var exists *store.ExistsError
	if err := s.Put(ctx, items[n-1:], store.Insert); !errors.As(err, &exists) || exists.ID != ids[n-1] {
		t.Error(err)
	}
	if err := s.Put(ctx, []store.Item{items[0], items[0]}, store.Replace); !errors.As(err, &exists) {
		t.Errorf("the same id twice: %v", err)
	}
	for _, c := range []struct {
		page  store.Page
		first int // of items
		size  int
	}{{store.Page{Limit: 3 * batchSize}, 0, n}, {store.Page{Limit: n}, 0, n}, {store.Page{Limit: 3}, 0, 3},
		{store.Page{Limit: 2, After: ids[4]}, 5, 2}, {store.Page{Limit: 9, After: ids[n-1]}, 0, 0}} {
		list, err := s.List(ctx, c.page)
		if err != nil || len(list) != c.size || c.size > 0 && (list[0].ID != ids[c.first] ||
			list[c.size-1].ID != ids[c.first+c.size-1] || list[0].Vector != nil) {
			t.Errorf("%+v: %d items, %v", c.page, len(list), err)
		}
	}
	hits, err := s.Search(ctx, store.Query{Vector: []float32{2}, K: 2})
	if err != nil || len(hits) != 2 || hits[0].ID != ids[n-1] || hits[0].Distance != -2*(n-1) {
		t.Errorf("%+v, %v", hits, err)
	}
	seen := map[string]bool{}
	for it, err := range s.All(ctx) {
		if err != nil || len(it.Vector) != 1 {
			t.Fatal(it, err)
		}
		seen[it.ID] = true
	}
	if len(seen) != n {
		t.Errorf("%d of all items", len(seen))
	}
	if removed, err := s.Delete(ctx, append(ids[1:], "nothing")); err != nil || removed != n-1 {
		t.Errorf("%d removed, %v", removed, err)
	}
	if _, err := s.Delete(ctx, []string{""}); err == nil {
		t.Error("what tells of the store was removed")
	}
	if info, err := s.Info(ctx); err != nil || info.Items != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestForbidden: what may not be read is an error, once.
func TestForbidden(t *testing.T) {
	server, address := fakeqdrant.New(t)
	ctx := t.Context()
	s, err := Create(ctx, "qdrant://"+address, "a", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server.Fault(func(method string) error {
		if method == "Scroll" || method == "Get" {
			return status.Error(codes.PermissionDenied, "no")
		}
		return nil
	})
	failures := 0
	for _, err := range s.All(ctx) {
		if failures++; err == nil {
			t.Error("an item that may not be read")
		}
	}
	if _, err := s.Get(ctx, "x"); failures != 1 || err == nil {
		t.Errorf("%d answers, %v", failures, err)
	}
}

// TestFailover: a host that is away is passed over, and one that comes back is waited
// for.
func TestFailover(t *testing.T) {
	server, address := fakeqdrant.New(t)
	ctx := t.Context()
	s, err := Create(ctx, "qdrant://127.0.0.1:1,"+address, "a", store.Config{Dim: 2, Float16: true})
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
	p := store.WithRetries(s, 20*time.Second)
	if err := p.Put(ctx, items, store.Replace); err != nil {
		t.Error(err)
	}
	if in, err := p.Info(ctx); err != nil || in.Items != 1 || in.Loss != store.Float16Loss {
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

// TestHalf: a store of float16 refuses what that cannot hold, and one of float32 takes it.
func TestHalf(t *testing.T) {
	_, address := fakeqdrant.New(t)
	for _, half := range []bool{false, true} {
		s, err := Create(t.Context(), "qdrant://"+address, fmt.Sprint("half_", half),
			store.Config{Dim: 2, Float16: half})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for v, fits := range map[float32]bool{65504: true, -65504: true, 65536: !half, -1e30: !half} {
			err := s.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{0, v}}}, store.Replace)
			if (err == nil) != fits {
				t.Errorf("half %v: %g: %v", half, v, err)
			}
		}
	}
}
