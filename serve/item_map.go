package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

const (
	maxTSNERows   = 10_000 // most rows that t-SNE places
	placeBatch    = 4096   // further rows placed at a time
	maxMapColumns = 64     // most columns that can colour the map
	maxMapClasses = 10_000 // most classes of such a column
	maxMapIDs     = 100_000
	// mapInterval is the least time between two maps, and retry the least time after a failure.
	mapInterval, mapRetryInterval = 10 * time.Second, time.Minute
)

// mapCache keeps the map of a collection, and computes it in the background when
// somebody asks for it and items have changed.
type mapCache struct {
	mu        sync.Mutex
	current   *itemMap // nil before the first map
	computing bool
	failure   error
	next      time.Time // earliest time of the next computation
}

// itemMap is a finished map.
type itemMap struct {
	version   uint64
	method    string
	numPlaced int // number of items that t-SNE placed
	ids       []string
	points    []float32 // x and y in turn
	columns   map[string]*mapColumn
	x, y      [2]float64
}

// mapColumn is a column that can colour the map, with the numbers of its classes.
type mapColumn struct {
	api.MapColumn
	at map[string]int32
}

// currentMap returns the current map, and starts computing a newer one if that is due.
func (s *Server) currentMap(c *servedCollection, info *store.Info) (now *itemMap, computing bool, failure error) {
	p := c.mapCache
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.current == nil || p.current.version != info.Version
	if due && !p.computing && time.Now().After(p.next) && c.ctx.Err() == nil {
		p.computing, p.failure = true, nil
		c.running.Go(func() { s.computeMap(c) })
	}
	return p.current, p.computing, p.failure
}

// computeMap makes a map and replaces the current one.
func (s *Server) computeMap(c *servedCollection) {
	start := time.Now()
	made, err := layOutItems(c.ctx, c.Store, maxTSNERows)
	p := c.mapCache
	p.mu.Lock()
	defer p.mu.Unlock()
	p.computing = false
	// Maps of a collection that changes all the time must not take most of the time.
	p.next = time.Now().Add(max(mapInterval, 4*time.Since(start)))
	if err != nil {
		if c.ctx.Err() == nil {
			s.log.Error("the map failed", "collection", c.Name, "error", err)
		}
		p.failure, p.next = err, time.Now().Add(mapRetryInterval)
		return
	}
	p.current = made
	s.log.Info("map computed", "collection", c.Name, "items", len(made.ids), "method", made.method,
		"seconds", time.Since(start).Seconds())
}

// layOutItems places all items of a store in the plane by t-SNE. If there are more than most items, it places a
// sample, reads the items a second time, and places each beside the nearest item of the sample.
func layOutItems(ctx context.Context, st store.Store, most int) (*itemMap, error) {
	info, err := st.Info(ctx)
	if err != nil {
		return nil, err
	}
	m := &itemMap{version: info.Version, method: "tsne", columns: map[string]*mapColumn{}}
	rows := projection.SampleRows(info.Items, most, 1)
	if info.Dim == 2 {
		m.method, most = "plain", info.Items
	}
	if err := budget.Check("the map", budget.Product(int64(min(most, info.Items)), int64(info.Dim), 8)); err != nil {
		return nil, err
	}
	var sample []float32
	n := 0
	err = visitItems(ctx, st, func(it *store.Item) error {
		if m.method == "plain" || m.numPlaced < len(rows) && rows[m.numPlaced] == n {
			sample = append(sample, comparableVector(it.Vector, info.Distance)...)
			m.numPlaced++
		}
		n++
		m.ids = append(m.ids, it.ID)
		m.addColumns(it, info.Columns)
		return nil
	})
	if err != nil || n == 0 {
		return m, err
	}
	if m.numPlaced == 0 { // the whole sample was removed in the meantime
		return nil, errors.New("the items changed while they were read")
	}
	if m.method == "plain" {
		m.points = sample
	} else {
		err = m.placeItems(ctx, matrix.FromSlice(m.numPlaced, info.Dim, sample), st, &info)
	}
	m.bounds()
	return m, err
}

// visitItems calls f for all items, until it fails.
func visitItems(ctx context.Context, st store.Store, f func(*store.Item) error) error {
	for it, err := range st.All(ctx) {
		if err != nil {
			return err
		}
		if err := f(&it); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// comparableVector returns a vector for Euclidean comparison: scaled to length 1 for the cosine.
func comparableVector(v []float32, distance string) []float32 {
	if distance != "cosine" {
		return v
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	out := slices.Clone(v)
	for i := range out {
		out[i] = float32(float64(out[i]) / math.Sqrt(sum))
	}
	return out
}

// placeItems places x and, if x is a sample, the other items of the store beside it.
func (m *itemMap) placeItems(ctx context.Context, x *matrix.Dense, st store.Store, info *store.Info) error {
	t, err := projection.TSNE{Seed: 1}.Run(ctx, x)
	if err != nil {
		return err
	}
	if x.Rows == len(m.ids) {
		m.append(t.X, t.Y)
		return nil
	}
	anchors := projection.NewAnchors(x, t)
	m.ids, m.columns = m.ids[:0], map[string]*mapColumn{} // filled again by the second reading
	var rows []float32
	place := func() error {
		xs, ys, err := anchors.Place(ctx, matrix.FromSlice(len(rows)/info.Dim, info.Dim, rows))
		m.append(xs, ys)
		rows = rows[:0]
		return err
	}
	err = visitItems(ctx, st, func(it *store.Item) error {
		rows = append(rows, comparableVector(it.Vector, info.Distance)...)
		m.ids = append(m.ids, it.ID)
		m.addColumns(it, info.Columns)
		if len(rows) < placeBatch*info.Dim {
			return nil
		}
		return place()
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	return place()
}

// append adds points.
func (m *itemMap) append(xs, ys []float64) {
	for i, x := range xs {
		m.points = append(m.points, float32(x), float32(ys[i]))
	}
}

// bounds finds the least and the largest coordinates.
func (m *itemMap) bounds() {
	for i := 0; i+1 < len(m.points); i += 2 {
		x, y := float64(m.points[i]), float64(m.points[i+1])
		if i == 0 {
			m.x, m.y = [2]float64{x, x}, [2]float64{y, y}
		}
		m.x = [2]float64{min(m.x[0], x), max(m.x[1], x)}
		m.y = [2]float64{min(m.y[0], y), max(m.y[1], y)}
	}
}

// addColumns stores the values of the item whose id was appended last.
func (m *itemMap) addColumns(it *store.Item, columns []store.Column) {
	at := len(m.ids) - 1
	for _, c := range columns[:min(len(columns), maxMapColumns)] {
		v, ok := it.Columns[c.Name]
		if !ok {
			continue
		}
		col := m.columns[c.Name]
		if col == nil {
			col = &mapColumn{api.MapColumn{Name: c.Name, Kind: string(c.Kind)}, map[string]int32{}}
			m.columns[c.Name] = col
		}
		if number, is := v.(float64); is {
			col.Numbers = append(col.Numbers, make([]*float64, at-len(col.Numbers))...)
			col.Numbers = append(col.Numbers, &number)
			continue
		}
		text := fmt.Sprint(v)
		class, known := col.at[text]
		switch {
		case known:
		case len(col.Classes) < maxMapClasses:
			class = int32(len(col.Classes))
			col.at[text], col.Classes = class, append(col.Classes, text)
		default:
			continue
		}
		for len(col.ClassOf) < at {
			col.ClassOf = append(col.ClassOf, -1)
		}
		col.ClassOf = append(col.ClassOf, class)
	}
}

// mapState answers GET /v1/map.
func (s *Server) mapState(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	info, err := c.Store.Info(r.Context())
	if err != nil {
		return err
	}
	now, computing, failure := s.currentMap(c, &info)
	out := api.Map{Collection: c.Name, State: "computing"}
	switch {
	case now != nil:
		out.State, out.Version, out.Items, out.Stale = "ready", now.version, len(now.ids), now.version != info.Version
		out.Method, out.Placed, out.X, out.Y = now.method, now.numPlaced, now.x, now.y
	case !computing && failure != nil:
		out.State, out.Error = "failed", failure.Error()
	}
	return writeJSON(w, http.StatusOK, out)
}

// requestedMap returns the map that a request is about.
func (s *Server) requestedMap(r *http.Request) (*itemMap, error) {
	c, err := s.collectionOf(r)
	if err != nil {
		return nil, err
	}
	const way = "GET /v1/map has the version of the current map."
	version, err := strconv.ParseUint(r.URL.Query().Get("version"), 10, 64)
	if err != nil {
		return nil, badRequest.newProblem(way, "the parameter version is missing or not a whole number")
	}
	c.mapCache.mu.Lock()
	defer c.mapCache.mu.Unlock()
	if now := c.mapCache.current; now != nil && now.version == version {
		return now, nil
	}
	return nil, outdated.newProblem(way, "there is no map of version %d", version)
}

// mapPoints answers GET /v1/map/points: x and y of every item as float32, lowest
// byte first.
func (s *Server) mapPoints(w http.ResponseWriter, r *http.Request) error {
	m, err := s.requestedMap(r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.Itoa(4*len(m.points)))
	h.Set("Cache-Control", "private, max-age=3600")
	w.WriteHeader(http.StatusOK)
	var b [32 << 10]byte
	for at := 0; at < len(m.points); {
		n := min(len(b)/4, len(m.points)-at)
		for i, v := range m.points[at : at+n] {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
		}
		if _, err := w.Write(b[:4*n]); err != nil {
			return ignoreDisconnect(err)
		}
		at += n
	}
	return nil
}

// mapIDs answers GET /v1/map/ids.
func (s *Server) mapIDs(w http.ResponseWriter, r *http.Request) error {
	m, err := s.requestedMap(r)
	if err != nil {
		return err
	}
	from, count := 0, maxMapIDs
	for name, v := range map[string]*int{"from": &from, "count": &count} {
		if text := r.URL.Query().Get(name); text != "" {
			if *v, err = strconv.Atoi(text); err != nil || *v < 0 {
				return badRequest.newProblem("GET /openapi.json describes the parameters.",
					"%s must be a whole number", name)
			}
		}
	}
	from = min(from, len(m.ids))
	ids := m.ids[from : from+min(count, maxMapIDs, len(m.ids)-from)]
	if ids == nil {
		ids = []string{}
	}
	return writeJSON(w, http.StatusOK, api.MapIDs{IDs: ids})
}

// mapColumn answers GET /v1/map/column.
func (s *Server) mapColumn(w http.ResponseWriter, r *http.Request) error {
	m, err := s.requestedMap(r)
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("name")
	col := m.columns[name]
	if col == nil {
		return notFound.newProblem("GET /v1/info lists the columns.",
			"no item of the map has a column %q", escape.ClipTo(name, 64))
	}
	out := col.MapColumn // it may be shorter than the map if the last items lack the column
	n := len(m.ids)
	if out.Numbers != nil {
		out.Numbers = append(slices.Clip(out.Numbers), make([]*float64, n-len(out.Numbers))...)
	} else {
		out.ClassOf = slices.Clip(out.ClassOf)
		for len(out.ClassOf) < n {
			out.ClassOf = append(out.ClassOf, -1)
		}
	}
	return writeJSON(w, http.StatusOK, out)
}
