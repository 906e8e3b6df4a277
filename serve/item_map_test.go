package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

func TestPlaneBounds(t *testing.T) {
	m := &itemMap{points: []float32{2, 5, -1, 6, 3, -7, 0, 0}}
	if m.bounds(); m.x != [2]float64{-1, 3} || m.y != [2]float64{-7, 6} {
		t.Errorf("%v, %v", m.x, m.y)
	}
	m = &itemMap{points: []float32{2, 5}}
	if m.bounds(); m.x != [2]float64{2, 2} || m.y != [2]float64{5, 5} {
		t.Errorf("of one %v, %v", m.x, m.y)
	}
}

// For the cosine vectors have the length 1, but for those of zeros; else they are as they are.
func TestAsCompared(t *testing.T) {
	v := []float32{3, -4}
	if got := comparableVector(v, "cosine"); !slices.Equal(got, []float32{0.6, -0.8}) || v[0] != 3 {
		t.Errorf("%v", got)
	}
	if got := comparableVector([]float32{0, 0}, "cosine"); !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("%v", got)
	}
	for _, other := range []string{"euclidean", "dot"} {
		if got := comparableVector(v, other); !slices.Equal(got, v) {
			t.Errorf("%s: %v", other, got)
		}
	}
}

// Columns colour the items that have them; what is missing before an item is filled up.
func TestColour(t *testing.T) {
	columns := []store.Column{{Name: "kind", Kind: "text"}, {Name: "price", Kind: "number"},
		{Name: "sale", Kind: "bool"}}
	m := &itemMap{columns: map[string]*mapColumn{}}
	for i, c := range []map[string]any{{}, {"kind": "hat", "price": 2.5}, nil, {"kind": "bag", "sale": true},
		{"kind": "hat", "price": 4.0, "other": 1.0}} {
		m.ids = append(m.ids, fmt.Sprint(i))
		m.addColumns(&store.Item{Columns: c}, columns)
	}
	kind, price, sale := m.columns["kind"], m.columns["price"], m.columns["sale"]
	if !slices.Equal(kind.Classes, []string{"hat", "bag"}) || !slices.Equal(kind.ClassOf, []int32{-1, 0, -1, 1, 0}) {
		t.Errorf("%+v", kind.MapColumn)
	}
	if !slices.Equal(sale.Classes, []string{"true"}) || !slices.Equal(sale.ClassOf, []int32{-1, -1, -1, 0}) {
		t.Errorf("%+v", sale.MapColumn)
	}
	two, four := 2.5, 4.0
	if !reflect.DeepEqual(price.Numbers, []*float64{nil, &two, nil, nil, &four}) || m.columns["other"] != nil {
		t.Errorf("%+v", price.MapColumn)
	}
	var many []store.Column
	all := map[string]any{}
	for i := range maxMapColumns + 1 {
		name := fmt.Sprintf("c%02d", i)
		many, all[name] = append(many, store.Column{Name: name, Kind: "bool"}), true
	}
	m = &itemMap{columns: map[string]*mapColumn{}, ids: []string{"a"}}
	m.addColumns(&store.Item{Columns: all}, many)
	if len(m.columns) != maxMapColumns || m.columns[many[maxMapColumns].Name] != nil {
		t.Errorf("%d columns", len(m.columns))
	}
}

// A column colours as many classes as it may have; further ones have no colour.
func TestManyClasses(t *testing.T) {
	m := &itemMap{columns: map[string]*mapColumn{}}
	columns := []store.Column{{Name: "kind", Kind: "text"}}
	for i := range maxMapClasses + 2 {
		m.ids = append(m.ids, fmt.Sprint(i))
		m.addColumns(&store.Item{Columns: map[string]any{"kind": fmt.Sprint(i)}}, columns)
	}
	m.ids = append(m.ids, "again")
	m.addColumns(&store.Item{Columns: map[string]any{"kind": "7"}}, columns)
	kind := m.columns["kind"]
	if n := len(kind.ClassOf); len(kind.Classes) != maxMapClasses || n != maxMapClasses+3 || kind.ClassOf[n-1] != 7 ||
		kind.ClassOf[n-2] != -1 || kind.ClassOf[maxMapClasses-1] != maxMapClasses-1 {
		t.Errorf("%d classes of %d items", len(kind.Classes), len(kind.ClassOf))
	}
}

// Items in the plane stay where they are; of none there is a map, too.
func TestPlainMap(t *testing.T) {
	st := &storetest.Memory{Dim: 2}
	m, err := layOutItems(context.Background(), st, 1)
	if err != nil || m.method != "plain" || len(m.ids) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := st.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{1, 2}}, {ID: "b", Vector: []float32{-3, 5}}},
		store.Replace); err != nil {
		t.Fatal(err)
	}
	m, err = layOutItems(context.Background(), st, 1)
	if err != nil || m.method != "plain" || m.numPlaced != 2 || len(m.points) != 4 {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, id := range m.ids {
		want := map[string][]float32{"a": {1, 2}, "b": {-3, 5}}[id]
		if !slices.Equal(m.points[2*i:2*i+2], want) {
			t.Errorf("%s is at %v", id, m.points[2*i:2*i+2])
		}
	}
	if m.x != [2]float64{-3, 1} || m.y != [2]float64{2, 5} {
		t.Errorf("%v, %v", m.x, m.y)
	}
}

// The points of a map come whole and in order, also those of more than are sent at a time.
func TestManyPoints(t *testing.T) {
	s := newServer(t, Options{})
	for _, n := range []int{0, 2, 32 << 10 / 4, 32<<10/4 + 2, 20_002} {
		m := &itemMap{version: 7, points: make([]float32, n)}
		for i := range m.points {
			m.points[i] = float32(i) / 2
		}
		s.collections[0].mapCache.current = m
		a := (&caller{t: t, s: s}).get("/v1/map/points?version=7").want(t, 200)
		if len(a.body) != 4*n || a.ContentLength != int64(4*n) {
			t.Fatalf("%d bytes of %d numbers", len(a.body), n)
		}
		for i := range n {
			if v := math.Float32frombits(binary.LittleEndian.Uint32(a.body[4*i:])); v != float32(i)/2 {
				t.Fatalf("number %d of %d is %g", i, n, v)
			}
		}
	}
}

// A map is ready, being computed, or failed with its reason, until the next is tried.
func TestMapState(t *testing.T) {
	s := newServer(t, Options{})
	p := s.collections[0].mapCache
	for _, c := range []struct {
		now       *itemMap
		computing bool
		failure   error
		state     string
	}{{nil, true, nil, "computing"}, {nil, false, nil, "computing"}, {nil, false, errors.New("no rows"), "failed"},
		{nil, true, errors.New("no rows"), "computing"},
		{&itemMap{version: 3, ids: []string{"a"}}, false, errors.New("no rows"), "ready"}} {
		p.current, p.computing, p.failure, p.next = c.now, c.computing, c.failure, time.Now().Add(time.Hour)
		var got api.Map
		(&caller{t: t, s: s}).get("/v1/map").want(t, 200).into(t, &got)
		if got.State != c.state || (got.Error == "no rows") != (c.state == "failed") ||
			c.now != nil && (got.Items != 1 || got.Version != 3 || !got.Stale) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// Ids are counted from 0; a negative number, or none, is not understood.
func TestMapIDsFrom(t *testing.T) {
	s := newServer(t, Options{})
	s.collections[0].mapCache.current = &itemMap{version: 7, ids: []string{"a", "b", "c"}}
	do := &caller{t: t, s: s}
	for query, want := range map[string]int{"": 3, "&from=0": 3, "&from=0&count=0": 0, "&from=1&count=1": 1,
		"&from=3": 0, "&from=9": 0, "&count=9": 3} {
		var got api.MapIDs
		do.get("/v1/map/ids?version=7"+query).want(t, 200).into(t, &got)
		if len(got.IDs) != want || got.IDs == nil {
			t.Errorf("%q: %q", query, got.IDs)
		}
	}
	for _, query := range []string{"&from=-1", "&count=-1", "&from=x"} {
		do.get("/v1/map/ids?version=7"+query).want(t, 400, "bad_request")
	}
}

// unreadableStore is a store that tells nothing of itself.
type unreadableStore struct{ *storetest.Memory }

func (unreadableStore) Info(context.Context) (store.Info, error) {
	return store.Info{}, errors.New("no rows")
}

// A map that fails is told to the log, keeps the one before, and is tried again after a minute;
// one that ends with the server is no failure to tell of.
func TestMapThatFails(t *testing.T) {
	for _, ended := range []bool{false, true} {
		var said bytes.Buffer
		s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil)),
			Collections: []Collection{{Name: "things", Store: &unreadableStore{newFilledStore(t, 1)}}}})
		if ended {
			s.Close()
		}
		p := s.collections[0].mapCache
		p.current, p.computing = &itemMap{version: 3}, true
		before := time.Now()
		s.computeMap(s.collections[0])
		if p.current.version != 3 || p.computing || p.failure == nil || p.next.Before(before.Add(mapRetryInterval)) {
			t.Errorf("ended %v: %+v", ended, p)
		}
		if told := strings.Contains(said.String(), "the map failed"); told == ended {
			t.Errorf("ended %v: said %s", ended, &said)
		}
	}
	s := newServer(t, Options{})
	p := s.collections[0].mapCache
	before := time.Now()
	s.computeMap(s.collections[0])
	if p.current == nil || p.failure != nil || p.next.Before(before.Add(mapInterval)) {
		t.Errorf("%+v", p)
	}
}
