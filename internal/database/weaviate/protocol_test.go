package weaviate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// TestProtocol holds the driver to the contract, and its answers to those of an index
// folder with the same items, at a server of Weaviate's protocol.
func TestProtocol(t *testing.T) {
	f, address := newFake(t)
	url, ctx := "weaviate://:s3cret@"+address, t.Context()
	s, err := Create(ctx, url, "contract", store.Config{Dim: 2, Network: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Check(t, s)
	for _, a := range f.newRequests() {
		if a.key != "Bearer s3cret" || strings.Contains(a.path+a.body, "s3cret") {
			t.Errorf("the key of %s %s is %q", a.method, a.path, a.key)
		}
	}
	if _, err = Create(ctx, url, "contract", store.Config{Dim: 2}); err == nil ||
		!strings.Contains(err.Error(), "making the store contract: Weaviate answers 422: class name Kindred_contract") {
		t.Errorf("made twice: %v", err)
	}
	if _, err := Open(ctx, url, "nothing"); err == nil || !strings.Contains(err.Error(), "opening the store nothing") {
		t.Errorf("a store that is not there was opened: %v", err)
	}
	again, err := Ensure(ctx, url, "contract", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := again.Info(ctx); err != nil || info.Items != 2 || info.Dim != 2 || info.Network != "tiny" {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := Ensure(ctx, url, "contract", store.Config{Dim: 3}); err == nil ||
		!strings.Contains(err.Error(), "has vectors of 2 numbers") {
		t.Errorf("another length: %v", err)
	}
	if _, err := Ensure(ctx, url, "contract", store.Config{Dim: 70_000}); err == nil {
		t.Error("vectors longer than Weaviate keeps")
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
				Distance: cfg.Distance.String()})
			if err != nil {
				t.Fatal(err)
			}
			storetest.CheckSame(t, x.Store(false), s, true)
		})
	}
}

// The schema of a store says how its vectors are searched, and how many machines keep it.
func TestSchema(t *testing.T) {
	f, address := newFake(t)
	for _, c := range []struct {
		options string
		cfg     store.Config
		want    string // of the class, as JSON
		level   string // of a write
	}{
		{"", store.Config{Dim: 2, Distance: "dot"}, `"vectorIndexType":"flat","vectorIndexConfig":{"distance":"dot"},` +
			`"replicationConfig":{"factor":1}`, "QUORUM"},
		{"?replication=2&consistency=all&ef=7", store.Config{Dim: 2, HNSW: true, MaxNeighbours: 8, BuildCandidates: 40},
			`"vectorIndexType":"hnsw","vectorIndexConfig":{"distance":"l2-squared","ef":7,"efConstruction":40,` +
				`"maxConnections":8},"replicationConfig":{"factor":2}`, "ALL"},
		{"?consistency=one&replication=1", store.Config{Dim: 2, Distance: "cosine", HNSW: true, MaxNeighbours: 9,
			BuildCandidates: 41},
			`"vectorIndexConfig":{"distance":"cosine","ef":-1,"efConstruction":41,"maxConnections":9}`, "ONE"},
	} {
		name := "a" + strings.ToLower(c.level)
		s, err := Create(t.Context(), "weaviate://"+address+c.options, name, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		of := f.newRequests()
		if of[0].path != "/v1/schema" || !strings.Contains(of[0].body, c.want) {
			t.Errorf("made by %s %s\nwant %s", of[0].path, of[0].body, c.want)
		}
		if last := of[len(of)-1]; last.path != "/v1/batch/objects?consistency_level="+c.level {
			t.Errorf("a new store is written to by %s", last.path)
		}
		if _, err := s.List(t.Context(), store.Page{Limit: 1}); err != nil {
			t.Fatal(err)
		}
		query := f.newRequests()[0].body
		if strings.Contains(query, ",consistencyLevel:"+c.level+")") != strings.Contains(c.options, "replication=2") {
			t.Errorf("with %q it asks %s", c.options, query)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Columns of a class are the properties that filters are asked of; one that is there
// already is not added again, and one that somebody else added meanwhile is found.
func TestColumns(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	a, err := Create(ctx, "weaviate://"+address, "a", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(ctx, "weaviate://"+address, "a")
	if err != nil {
		t.Fatal(err)
	}
	item := func(id string, columns map[string]any) []store.Item {
		return []store.Item{{ID: id, Vector: []float32{1}, Columns: columns}}
	}
	f.newRequests()
	if err := a.Put(ctx, item("x", map[string]any{"n": 2.0}), store.Replace); err != nil {
		t.Fatal(err)
	}
	added := func() (out []string) {
		for _, r := range f.newRequests() {
			if strings.HasSuffix(r.path, "/properties") {
				out = append(out, r.body)
			}
		}
		return out
	}
	want := `{"name":"n_n","dataType":["number"],"description":"n","indexFilterable":true,"indexSearchable":false,` +
		`"indexRangeFilters":true}`
	if have := added(); len(have) != 1 || have[0] != want {
		t.Errorf("added %q\nwant %s", have, want)
	}
	// b was opened before: it knows no column n.
	if hits, err := b.Search(ctx, store.Query{Vector: []float32{0}, K: 9, Filter: "n > 1"}); err != nil ||
		len(hits) != 1 || hits[0].ID != "x" {
		t.Errorf("%+v, %v", hits, err)
	}
	f.newRequests()
	for _, columns := range []map[string]any{{"n": 3.0}, {"n": "two"}, {"n": "two", "b": true}} {
		if err := b.Put(ctx, item("y", columns), store.Replace); err != nil {
			t.Fatal(err)
		}
	}
	if have := added(); len(have) != 2 || !strings.Contains(have[0], `"t_n","dataType":["text"]`) ||
		!strings.Contains(have[0], `"tokenization":"field"`) ||
		!strings.Contains(have[0], `"indexRangeFilters":false`) ||
		!strings.Contains(have[1], `"b_b","dataType":["boolean"]`) || strings.Contains(have[1], "tokenization") {
		t.Errorf("added %q", have)
	}
	// A column of two kinds is told once, as the kind that it began with.
	info, err := a.Info(ctx)
	if err != nil || !slices.Equal(info.Columns, []store.Column{{Name: "b", Kind: store.Bool},
		{Name: "n", Kind: store.Number}}) {
		t.Errorf("%+v, %v", info, err)
	}
}

// That a property cannot be added is an error, but not if it is there then.
func TestColumnsRefused(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	a, err := Create(ctx, "weaviate://"+address, "a", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	item := func(columns map[string]any) []store.Item {
		return []store.Item{{ID: "x", Vector: []float32{1}, Columns: columns}}
	}
	if err := a.Put(ctx, item(map[string]any{"n": 2.0}), store.Replace); err != nil {
		t.Fatal(err)
	}
	f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/properties") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			io.WriteString(w, "no more properties")
			return true
		}
		return false
	})
	if err := a.Put(ctx, item(map[string]any{"new": 1.0}), store.Replace); err == nil ||
		!strings.Contains(err.Error(), "Weaviate answers 422: no more properties") {
		t.Error(err)
	}
	if err := a.Put(ctx, item(map[string]any{"n": 1.0}), store.Replace); err != nil {
		t.Error(err)
	}
	// Neither is it added, nor can it be seen whether it is there.
	refused := false
	f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		refused = refused || strings.HasSuffix(r.URL.Path, "/properties")
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	})
	if err := a.Put(ctx, item(map[string]any{"new": 1.0}), store.Replace); err == nil ||
		strings.Count(err.Error(), "403") != 2 {
		t.Error(err)
	}
	for filter, fails := range map[string]bool{"n > 1": false, "new > 1": true} {
		if _, _, err := a.filterClause(ctx, filter); (err != nil) != fails {
			t.Errorf("%s, where the columns may not be looked at: %v", filter, err)
		}
	}
}

// What is more than a request takes goes in several, and comes back whole.
func TestBatches(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	s, err := Create(ctx, "weaviate://"+address, "a", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*batchSize + 1
	items := make([]store.Item, n)
	ids := make([]string, n)
	for i := range items {
		ids[i] = fmt.Sprintf("%04d", i)
		items[i] = store.Item{ID: ids[i], Vector: []float32{float32(i)}}
	}
	f.newRequests()
	if err := s.Put(ctx, items, store.Insert); err != nil {
		t.Fatal(err)
	}
	requests := func(path string) (sizes []int) {
		for _, r := range f.newRequests() {
			if strings.HasPrefix(r.path, path) {
				sizes = append(sizes, strings.Count(r.body, `"id":`)+strings.Count(r.body, "limit:"))
			}
		}
		return sizes
	}
	if sizes := requests("/v1/batch"); !slices.Equal(sizes, []int{batchSize, batchSize, 2}) {
		t.Errorf("written in %d", sizes)
	}
	var exists *store.ExistsError
	if err := s.Put(ctx, items[n-1:], store.Insert); !errors.As(err, &exists) || exists.ID != ids[n-1] {
		t.Error(err)
	}
	if err := s.Put(ctx, []store.Item{items[0], items[0]}, store.Replace); !errors.As(err, &exists) {
		t.Errorf("the same id twice: %v", err)
	}
	f.newRequests()
	for _, c := range []struct {
		page  store.Page
		first int // of items
		size  int
		asked int // requests
	}{
		{store.Page{Limit: 3 * batchSize}, 0, n, 3}, {store.Page{Limit: n}, 0, n, 3},
		{store.Page{Limit: 2 * batchSize}, 0, 2 * batchSize, 2},
		{store.Page{Limit: 2, After: ids[4]}, 5, 2, 1}, {store.Page{Limit: 9, After: ids[n-1]}, 0, 0, 1},
	} {
		list, err := s.List(ctx, c.page)
		if err != nil || len(list) != c.size || list == nil || c.size > 0 && (list[0].ID != ids[c.first] ||
			list[c.size-1].ID != ids[c.first+c.size-1]) {
			t.Errorf("%+v: %d items, %v", c.page, len(list), err)
		}
		if asked := requests("/v1/graphql"); len(asked) != c.asked {
			t.Errorf("%+v: %d requests, want %d", c.page, len(asked), c.asked)
		}
	}
	allBatches(t, s, ids, requests)
	if removed, err := s.Delete(ctx, append(ids[1:], "nothing")); err != nil || removed != n-1 {
		t.Errorf("%d removed, %v", removed, err)
	}
	if info, err := s.Info(ctx); err != nil || info.Items != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// allBatches reads all items in as few requests as there are batches, or as many as it
// takes until it is stopped.
func allBatches(t *testing.T, s *Store, ids []string, requests func(path string) []int) {
	t.Helper()
	last := len(ids) - 1
	seen := map[string]float32{}
	for it, err := range s.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen[it.ID] = it.Vector[0]
	}
	if len(seen) != len(ids) || seen[ids[last]] != float32(last) {
		t.Errorf("%d of all items", len(seen))
	}
	if asked := requests("/v1/graphql"); len(asked) != 3 {
		t.Errorf("all items in %d requests", len(asked))
	}
	for range s.All(t.Context()) {
		break
	}
	if asked := requests("/v1/graphql"); len(asked) != 1 {
		t.Errorf("after the first item %d requests", len(asked))
	}
}

// Near items are found by their distances, nearest first, as many as are asked for.
func TestNear(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	for _, c := range []struct {
		distance string
		query    []float32
		want     string
	}{
		{"euclidean", []float32{0, 0}, "b 1, c 1.414, a 2.236"},
		{"cosine", []float32{1, 0}, "c 0.2929, b 1, a 1.447"},
		{"dot", []float32{1, 0}, "c -1, b 0, a 1"},
	} {
		s, err := Create(ctx, "weaviate://"+address, c.distance, store.Config{Dim: 2, Distance: c.distance})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Put(ctx, []store.Item{{ID: "a", Vector: []float32{-1, 2}}, {ID: "b", Vector: []float32{0, 1}},
			{ID: "c", Vector: []float32{1, 1}}, {ID: "d", Vector: []float32{1, 0}}}, store.Insert)
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Vector: c.query, K: 3, ExcludeIDs: []string{"d"}}
		f.newRequests()
		hits, err := s.Search(ctx, q)
		var have []string
		for _, h := range hits {
			have = append(have, fmt.Sprintf("%s %.4g", h.ID, h.Distance))
		}
		if strings.Join(have, ", ") != c.want || err != nil {
			t.Errorf("%s: %s, %v\nwant %s", c.distance, have, err, c.want)
		}
		if asked := f.newRequests(); len(asked) != 1 || !strings.Contains(asked[0].body, "limit:4)") ||
			strings.Contains(asked[0].body, " vector}") {
			t.Errorf("%s: asked %v", c.distance, asked)
		}
		q.K, q.Vectors = 2, true
		if hits, err = s.Search(ctx, q); err != nil || len(hits) != 2 || len(hits[0].Vector) != 2 {
			t.Errorf("%+v, %v", hits, err)
		}
	}
}

// A machine that fails is passed over; what is wrong with a request is not asked again.
func TestFailures(t *testing.T) {
	f, address := newFake(t)
	_, other := newFake(t)
	ctx := t.Context()
	if _, err := Create(ctx, "weaviate://"+address, "a", store.Config{Dim: 1}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, "weaviate://127.0.0.1:1,"+address, "a")
	if err != nil {
		t.Fatal(err)
	}
	var gone *store.UnavailableError
	for status, retried := range map[int]bool{400: false, 422: false, 499: false, 429: true, 500: true, 503: true} {
		at := s.current.Load()
		f.newRequests()
		f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			io.WriteString(w, `{"error":[{"message":"no"},{"message":"nothing"}]}`)
			return true
		})
		_, err := s.List(ctx, store.Page{Limit: 1})
		if errors.As(err, &gone) != retried || len(f.newRequests()) != 1 ||
			!retried && err.Error() != fmt.Sprintf("Weaviate answers %d: no; nothing", status) {
			t.Errorf("status %d: %v", status, err)
		}
		if moved := s.current.Load() != at; moved != retried {
			t.Errorf("status %d: the machine is given up: %v", status, moved)
		}
		s.current.Store(1)
	}
	// 300 is no success, what is below is, with nothing as well.
	for status, want := range map[int]string{204: "", 299: "", 300: "answers 300"} {
		f.setFault(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true })
		if err := s.call(ctx, http.MethodGet, "/", nil, &struct{}{}); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	f.setFault(nil)
	// The machine that answers a query with errors is passed over as well.
	two, err := Open(ctx, "weaviate://"+address+","+other, "a")
	if err != nil {
		t.Fatal(err)
	}
	err = two.queryGraphQL(ctx, "{Get{Nothing(limit:1){x}}}", &struct{}{})
	if !errors.As(err, &gone) || two.current.Load() != 1 {
		t.Errorf("%v, at %d", err, two.current.Load())
	}
}

// A write that was done in part is no success.
func TestPartOfAWrite(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	s, err := Create(ctx, "weaviate://"+address, "a", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	items := []store.Item{{ID: "x", Vector: []float32{1}}}
	for answer, want := range map[string]string{
		`[{"id":"1","result":{}},{"id":"2","result":{"errors":{"error":[]}}}]`: "",
		`[{"id":"1","result":{"errors":{"error":[{"message":"shard"},{"message":"away"}]}}},{"id":"2"}]`: "Weaviate did " +
			"not write all objects: shard; away",
		`[{"id":"1","result":{}}]`: "an answer of Weaviate for 1 of 2 objects",
		`{"results":{"failed":3}}`: "",
	} {
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			io.WriteString(w, answer)
			return true
		})
		var gone *store.UnavailableError
		if strings.HasPrefix(answer, "{") {
			if n, err := s.Delete(ctx, []string{"x"}); !errors.As(err, &gone) || n != 0 ||
				!strings.Contains(err.Error(), "Weaviate did not remove 3 objects") {
				t.Errorf("%s: %d, %v", answer, n, err)
			}
			continue
		}
		if err := s.Put(ctx, items, store.Replace); (err == nil) != (want == "") || err != nil &&
			(!errors.As(err, &gone) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// A class that kindred did not make, or another version of it, is not opened; the object
// that counts writes is no item.
func TestForeignClass(t *testing.T) {
	f, address := newFake(t)
	ctx := t.Context()
	for i, description := range []string{"", "photos", `{}`, `{"kindred":2,"dim":2}`} {
		name := fmt.Sprintf("a%d", i)
		f.classes["Kindred_"+name] = &collection{class{Class: "Kindred_" + name, Description: description}, nil}
		if _, err := Open(ctx, "weaviate://"+address, name); err == nil ||
			!strings.Contains(err.Error(), "the class Kindred_"+name+" was made by another program") {
			t.Errorf("%q: %v", description, err)
		}
	}
	s, err := Create(ctx, "weaviate://"+address, "b", store.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	var missing *store.NotFoundError
	if it, err := s.Get(ctx, ""); !errors.As(err, &missing) {
		t.Errorf("%+v, %v", it, err)
	}
	for it, err := range s.All(ctx) {
		t.Errorf("%+v, %v", it, err)
	}
	// What is damaged ends All.
	p, err := json.Marshal("{")
	if err != nil {
		t.Fatal(err)
	}
	f.classes["Kindred_b"].objects["0"] = object{ID: "0", Class: "Kindred_b", Vector: []float32{1},
		Properties: properties{idProp: protectSpaces("x"), columnsProp: string(p)}}
	f.classes["Kindred_b"].objects["1"] = f.classes["Kindred_b"].objects["0"]
	n := 0
	for _, err := range s.All(ctx) {
		if n++; err == nil || !strings.Contains(err.Error(), `the columns of "x"`) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers for damaged items", n)
	}
	if _, err := s.List(ctx, store.Page{Limit: 3}); err != nil {
		t.Errorf("what has no order is listed: %v", err)
	}
}
