// Package weaviate is a collection of a Weaviate cluster as a store.Store.
//
//	const url = "weaviate://a.example:8080,b.example:8080?replication=3&consistency=quorum"
//	s, err := weaviate.Create(ctx, url, "photos", store.Config{Dim: 128, HNSW: true})
//	s, err := weaviate.Open(ctx, url, "photos")
//
// A request goes to one of the hosts, and to the next if that fails. weaviate://:KEY@HOST
// sends an API key. Options of the URL:
//
//	replication  machines that keep each item of a new store, default 1
//	consistency  machines that have to agree to a write or a read: one, quorum (the
//	             default), all
//	ef           candidates that a search in a new graph considers, default Weaviate's own
//	tls          true or false
//
// A store is a class Kindred_NAME. An item is an object whose UUID is made of its id; its
// vector is kept in float32 unchanged. Its columns are kept as JSON, and for filters as
// properties t_NAME, n_NAME and b_NAME of texts, numbers and truth values. Searches are
// exact unless Config.HNSW has made a graph. When Put returns, its items are on as many
// machines as consistency says. Weaviate has no transactions: a failed Put can have written
// a part; the same Put completes it. If two calls Insert one id at the same moment, both
// can succeed.
package weaviate

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/database/driver"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// Store is an open store.
type Store struct {
	*cluster
	name, class string
	description description
	level       string // of consistency
	replication int
	ef          int // -1 is Weaviate's default

	mu          sync.Mutex
	columns     []store.Column // by property, in the order in which they came
	props       map[string]bool
	consistency string // argument of a query for the consistency level
}

// description describes the store of a class. It is kept as the class's description.
type description struct {
	Kindred  int    `json:"kindred"` // version of the layout
	Dim      int    `json:"dim"`
	Distance string `json:"distance"`
	Network  string `json:"network"`
}

// layout is the version of the layout of classes and objects.
const layout = 1

// maxDim is the largest dimension that Weaviate supports.
const maxDim = 65535

// metrics has Weaviate's names of distances.
var metrics = map[string]string{"euclidean": "l2-squared", "cosine": "cosine", "dot": "dot"}

func connect(text, name string) (*Store, error) {
	if err := store.CheckName(name); err != nil {
		return nil, err
	}
	a, err := driver.ParseAddress(text, "weaviate", "8080", "replication", "consistency", "ef")
	if err != nil {
		return nil, err
	}
	s := &Store{cluster: newCluster(a), name: name, class: "Kindred_" + name}
	level, err := a.ChoiceOption("consistency", "quorum", "one", "all")
	s.level = strings.ToUpper(level)
	if err != nil {
		return nil, err
	}
	if s.replication, err = a.NumberOption("replication", 1, 1, 99); err != nil {
		return nil, err
	}
	s.ef, err = a.NumberOption("ef", -1, 1, 10_000)
	return s, err
}

// Create makes an empty store in the cluster at a URL. It is an error if the store exists.
func Create(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	s, err := connect(url, name)
	if err == nil {
		err = s.create(ctx, &cfg)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open opens a store in the cluster at a URL.
func Open(ctx context.Context, url, name string) (*Store, error) {
	s, err := connect(url, name)
	if err != nil {
		return nil, err
	}
	if err := s.refresh(ctx); err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", name, err)
	}
	return s, nil
}

// Ensure opens a store, or makes it if it does not exist. A store with another length of
// vector or another distance is an error.
func Ensure(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	if err := checkConfig(name, &cfg); err != nil {
		return nil, err
	}
	s, err := Open(ctx, url, name)
	if isNotFound(err) {
		return Create(ctx, url, name, cfg)
	}
	if err != nil {
		return nil, err
	}
	if err := cfg.CheckExisting(name, s.description.Dim, s.description.Distance); err != nil {
		return nil, err
	}
	return s, nil
}

func checkConfig(name string, cfg *store.Config) error {
	if cfg.Float16 {
		return errors.New("the store Weaviate does not support vectors in float16")
	}
	return cfg.Check(name, maxDim)
}

// property is a property of a class.
type property struct {
	Name         string   `json:"name"`
	DataType     []string `json:"dataType"`
	Description  string   `json:"description"`
	Tokenization string   `json:"tokenization,omitempty"`
	Filterable   bool     `json:"indexFilterable"`
	Searchable   bool     `json:"indexSearchable"`
	Range        bool     `json:"indexRangeFilters"`
}

func newProperty(name, typ, description string, filterable bool) property {
	p := property{Name: name, DataType: []string{typ}, Description: description, Filterable: filterable}
	if strings.HasPrefix(typ, "text") {
		p.Tokenization = "field"
	}
	return p
}

// class is a class of the schema.
type class struct {
	Class       string         `json:"class"`
	Description string         `json:"description"`
	Vectorizer  string         `json:"vectorizer"`
	IndexType   string         `json:"vectorIndexType"`
	Index       map[string]any `json:"vectorIndexConfig"`
	Replication map[string]any `json:"replicationConfig"`
	Properties  []property     `json:"properties"`
}

func (s *Store) create(ctx context.Context, cfg *store.Config) error {
	if err := checkConfig(s.name, cfg); err != nil {
		return err
	}
	s.description = description{layout, cfg.Dim, cfg.Distance, cfg.Network}
	description, err := json.Marshal(s.description)
	if err != nil {
		return err
	}
	c := class{Class: s.class, Description: string(description), Vectorizer: "none", IndexType: "flat",
		Index:       map[string]any{"distance": metrics[cfg.Distance]},
		Replication: map[string]any{"factor": s.replication},
		Properties: []property{newProperty(idProp, "text", "the item's id", false),
			newProperty(orderProp, "text", "the bytes of the id", true),
			newProperty(pathProp, "text", "the item's file", true),
			newProperty(columnsProp, "text", "the item's columns", false),
			newProperty(hasProp, "text[]", "which properties the item has", true),
			newProperty(versionProp, "text", "when the store was written to", false)}}
	if cfg.HNSW {
		c.IndexType = "hnsw"
		c.Index["maxConnections"], c.Index["efConstruction"], c.Index["ef"] = cfg.MaxNeighbours,
			cfg.BuildCandidates, s.ef
	}
	if err := s.call(ctx, http.MethodPost, "/v1/schema", c, nil); err != nil {
		return fmt.Errorf("making the store %s: %w", s.name, err)
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return s.write(ctx, []object{s.versionObject()})
}

// refresh reads the schema.
func (s *Store) refresh(ctx context.Context) error {
	var c class
	if err := s.call(ctx, http.MethodGet, "/v1/schema/"+s.class, nil, &c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := strictjson.UnmarshalLoose([]byte(c.Description), &s.description); err != nil ||
		s.description.Kindred != layout {
		return fmt.Errorf("the class %s was made by another program, or by another version of kindred", s.class)
	}
	s.props, s.columns, s.consistency = make(map[string]bool), nil, ""
	if f, _ := c.Replication["factor"].(float64); f > 1 { // else Weaviate knows no such argument
		s.consistency = ",consistencyLevel:" + s.level
	}
	kinds := map[string]store.Kind{"text": store.Text, "number": store.Number, "boolean": store.Bool}
	for _, p := range c.Properties {
		s.props[p.Name] = true
		if strings.HasPrefix(p.Name, "kindred") || len(p.DataType) != 1 {
			continue
		}
		s.columns = append(s.columns, store.Column{Name: p.Description, Kind: kinds[p.DataType[0]]})
	}
	return nil
}

// hasProperty reports whether the class has a property.
func (s *Store) hasProperty(prop string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.props[prop]
}

// Close closes the connections.
func (s *Store) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// Info implements store.Store.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	if err := s.refresh(ctx); err != nil {
		return store.Info{}, err
	}
	in := store.Info{Dim: s.description.Dim, Distance: s.description.Distance, Network: s.description.Network}
	s.mu.Lock()
	for _, c := range s.columns {
		if !slices.ContainsFunc(in.Columns, func(d store.Column) bool { return d.Name == c.Name }) {
			in.Columns = append(in.Columns, c)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(in.Columns, func(a, b store.Column) int { return strings.Compare(a.Name, b.Name) })
	var count struct {
		Aggregate map[string][]struct{ Meta struct{ Count int } }
	}
	err := s.queryGraphQL(ctx, "{Aggregate{"+s.class+"(where:"+hasProperty(isItem).String()+"){meta{count}}}}", &count)
	if err != nil {
		return in, err
	}
	for _, one := range count.Aggregate[s.class] {
		in.Items = one.Meta.Count
	}
	o, err := s.get(ctx, versionID)
	if err == nil {
		in.Version, err = strconv.ParseUint(o.Properties.text(versionProp), 10, 64)
	}
	return in, err
}

// versionID is the id of the object that is written with every change.
var versionID = driver.UUID("")

// object is an object of Weaviate.
type object struct {
	Class      string     `json:"class"`
	ID         string     `json:"id"`
	Properties properties `json:"properties"`
	Vector     []float32  `json:"vector,omitempty"`
}

type properties map[string]any

func (p properties) text(name string) string {
	s, _ := p[name].(string)
	return s
}

// versionObject returns the object that is written with every change. It has the time of the change.
func (s *Store) versionObject() object {
	return object{Class: s.class, ID: versionID,
		Properties: properties{versionProp: strconv.FormatInt(time.Now().UnixNano(), 10)}}
}

// orderKey encodes an id so that Weaviate, which ignores case, orders ids by their bytes.
func orderKey(id string) string { return "x" + hex.EncodeToString([]byte(id)) }

// newObject converts an item to an object.
func (s *Store) newObject(it *store.Item) (object, error) {
	columns, err := json.Marshal(it.Columns)
	if err != nil {
		return object{}, &store.ItemError{ID: it.ID, Err: err}
	}
	p := properties{idProp: protectSpaces(it.ID), orderProp: orderKey(it.ID), columnsProp: string(columns)}
	has := []string{isItem, orderProp}
	if it.Path != "" {
		p[pathProp] = protectSpaces(it.Path)
		has = append(has, pathProp)
	}
	for name, v := range it.Columns {
		prop := driver.PropertyName(store.KindOf(v), name)
		if t, ok := v.(string); ok {
			v = protectSpaces(t)
		}
		p[prop] = v
		has = append(has, prop)
	}
	p[hasProp] = has
	return object{Class: s.class, ID: driver.UUID(it.ID), Properties: p, Vector: it.Vector}, nil
}

// item returns an object as an item, or false if the object is not an item.
func (p properties) item() (store.Item, bool, error) {
	var it store.Item
	id := p.text(idProp)
	if len(id) < 2 {
		return it, false, nil
	}
	it.ID = id[1 : len(id)-1]
	if path := p.text(pathProp); len(path) > 1 {
		it.Path = path[1 : len(path)-1]
	}
	err := strictjson.Unmarshal([]byte(p.text(columnsProp)), &it.Columns)
	if err != nil {
		return it, true, fmt.Errorf("the columns of %q: %w", it.ID, err)
	}
	return it, true, nil
}

func (s *Store) get(ctx context.Context, uuid string) (object, error) {
	var o object
	path := "/v1/objects/" + s.class + "/" + uuid + "?include=vector&consistency_level=" + s.level
	err := s.call(ctx, http.MethodGet, path, nil, &o)
	return o, err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Item, error) {
	o, err := s.get(ctx, driver.UUID(id))
	if isNotFound(err) {
		return store.Item{}, &store.NotFoundError{ID: id}
	}
	if err != nil {
		return store.Item{}, err
	}
	it, ok, err := o.Properties.item()
	if !ok {
		return it, &store.NotFoundError{ID: id}
	}
	it.Vector = o.Vector
	return it, err
}

// Put implements store.Store, except for the limits on transactions in the package comment.
// If two items of a call have the same id, none is written.
func (s *Store) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	objects := make([]object, 0, len(items)+1)
	ids := make(map[string]bool, len(items))
	columns := map[string]store.Column{}
	for i := range items {
		it := &items[i]
		if err := it.Check(s.description.Dim); err != nil {
			return err
		}
		if ids[it.ID] {
			return &store.ExistsError{ID: it.ID}
		}
		ids[it.ID] = true
		for name, v := range it.Columns {
			kind := store.KindOf(v)
			columns[driver.PropertyName(kind, name)] = store.Column{Name: name, Kind: kind}
		}
		o, err := s.newObject(it)
		if err != nil {
			return err
		}
		objects = append(objects, o)
	}
	if mode == store.Insert {
		if err := s.checkAbsent(ctx, items); err != nil {
			return err
		}
	}
	for prop, c := range columns {
		if err := s.addColumn(ctx, prop, c); err != nil {
			return err
		}
	}
	return s.write(ctx, append(objects, s.versionObject()))
}

// addColumn adds a property to the class, unless it exists.
func (s *Store) addColumn(ctx context.Context, prop string, c store.Column) error {
	if s.hasProperty(prop) {
		return nil
	}
	if err := s.refresh(ctx); err != nil || s.hasProperty(prop) {
		return err
	}
	types := map[store.Kind]string{store.Text: "text", store.Number: "number", store.Bool: "boolean"}
	p := newProperty(prop, types[c.Kind], c.Name, true)
	p.Range = c.Kind == store.Number
	err := s.call(ctx, http.MethodPost, "/v1/schema/"+s.class+"/properties", p, nil)
	if e := s.refresh(ctx); e != nil {
		return errors.Join(err, e)
	}
	if s.hasProperty(prop) { // by us, or by somebody who was faster
		return nil
	}
	return err
}

// batchSize is the largest number of objects or ids of a request.
const batchSize = 1000

// write writes objects, and returns when all of them are written.
func (s *Store) write(ctx context.Context, objects []object) error {
	for part := range slices.Chunk(objects, batchSize) {
		var answer []struct {
			ID     string `json:"id"`
			Result struct {
				Errors *struct {
					Error messages `json:"error"`
				} `json:"errors"`
			} `json:"result"`
		}
		err := s.call(ctx, http.MethodPost, "/v1/batch/objects?consistency_level="+s.level,
			map[string]any{"objects": part}, &answer)
		if err != nil {
			return err
		}
		if len(answer) != len(part) {
			return &store.UnavailableError{
				Err: fmt.Errorf("an answer of Weaviate for %d of %d objects", len(answer), len(part))}
		}
		for _, one := range answer {
			if e := one.Result.Errors; e != nil && len(e.Error) > 0 {
				return &store.UnavailableError{Err: fmt.Errorf("the store Weaviate did not write all objects: %s",
					e.Error)}
			}
		}
	}
	return nil
}

// checkAbsent returns a *store.ExistsError if one of the items exists.
func (s *Store) checkAbsent(ctx context.Context, items []store.Item) error {
	for part := range slices.Chunk(items, batchSize) {
		keys := make([]string, len(part))
		for i, it := range part {
			keys[i] = orderKey(it.ID)
		}
		found, err := s.find(ctx, "where:"+newClause(orderProp, "ContainsAny",
			quoteTexts(keys)).String()+",limit:1", false)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &store.ExistsError{ID: found[0].ID}
		}
	}
	return nil
}

// find queries objects by GraphQL, with or without vectors. It returns those that are items,
// with their distances from the query vector if there is one.
func (s *Store) find(ctx context.Context, arguments string, vectors bool) ([]store.Hit, error) {
	rows, err := s.queryRows(ctx, arguments, vectors)
	if err != nil {
		return nil, err
	}
	hits := make([]store.Hit, 0, len(rows))
	for _, r := range rows {
		it, ok, err := r.item()
		if err != nil {
			return nil, err
		}
		if ok {
			it.Vector = r.extra.Vector
			hits = append(hits, store.Hit{Item: it, Distance: r.extra.Distance})
		}
	}
	return hits, nil
}

// row is an object in an answer of GraphQL.
type row struct {
	properties
	extra struct {
		ID       string    `json:"id"`
		Distance float64   `json:"distance"`
		Vector   []float32 `json:"vector"`
	}
}

func (r *row) UnmarshalJSON(text []byte) error {
	r.extra.Vector = nil
	if err := strictjson.UnmarshalLoose(text, &r.properties); err != nil {
		return err
	}
	var of struct {
		Additional json.RawMessage `json:"_additional"`
	}
	if err := strictjson.UnmarshalLoose(text, &of); err != nil {
		return err
	}
	return strictjson.UnmarshalLoose(of.Additional, &r.extra)
}

func (s *Store) queryRows(ctx context.Context, arguments string, vectors bool) ([]row, error) {
	wanted := "id distance"
	if vectors {
		wanted += " vector"
	}
	s.mu.Lock()
	arguments += s.consistency
	s.mu.Unlock()
	var answer struct{ Get map[string][]row }
	err := s.queryGraphQL(ctx, fmt.Sprintf("{Get{%s(%s){%s %s %s _additional{%s}}}}", s.class, arguments,
		idProp, pathProp, columnsProp, wanted), &answer)
	return answer.Get[s.class], err
}

// filterClause translates a filter. It returns false for an empty filter.
func (s *Store) filterClause(ctx context.Context, text string) (clause, bool, error) {
	f, err := store.ParseFilter(text)
	if f == nil || err != nil {
		return clause{}, false, err
	}
	// Another process may have added the column since.
	missed := false
	t := translator{func(prop string) bool {
		known := s.hasProperty(prop)
		missed = missed || !known
		return known
	}}
	c := t.translate(f.Expr(), false)
	if missed {
		if err := s.refresh(ctx); err != nil {
			return c, false, err
		}
		c = t.translate(f.Expr(), false)
	}
	return c, true, nil
}

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	if len(q.Vector) != s.description.Dim {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: s.description.Dim}
	}
	vector, err := json.Marshal(q.Vector)
	if err != nil {
		return nil, err
	}
	arguments := fmt.Sprintf("nearVector:{vector:%s},limit:%d", vector, q.K+len(q.ExcludeIDs))
	c, some, err := s.filterClause(ctx, q.Filter)
	if err != nil {
		return nil, err
	}
	if some {
		arguments += ",where:" + c.String()
	}
	hits, err := s.find(ctx, arguments, q.Vectors)
	if err != nil {
		return nil, err
	}
	hits = slices.DeleteFunc(hits, func(h store.Hit) bool { return slices.Contains(q.ExcludeIDs, h.ID) })
	if s.description.Distance == "euclidean" {
		for i := range hits {
			hits[i].Distance = math.Sqrt(max(0, hits[i].Distance))
		}
	}
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.ID, b.ID))
	})
	return hits[:min(q.K, len(hits))], nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, ids []string) (int, error) {
	n := 0
	for part := range slices.Chunk(ids, batchSize) {
		keys := make([]string, len(part))
		for i, id := range part {
			keys[i] = orderKey(id)
		}
		var answer struct {
			Results struct{ Matches, Failed int }
		}
		err := s.call(ctx, http.MethodDelete, "/v1/batch/objects?consistency_level="+s.level, map[string]any{
			"output": "minimal", "match": map[string]any{"class": s.class, "where": map[string]any{
				"path": []string{orderProp}, "operator": "ContainsAny", "valueTextArray": keys}}}, &answer)
		if err == nil && answer.Results.Failed > 0 {
			err = &store.UnavailableError{
				Err: fmt.Errorf("the store Weaviate did not remove %d objects", answer.Results.Failed)}
		}
		if err != nil {
			return n, err
		}
		n += answer.Results.Matches
	}
	return n, s.write(ctx, []object{s.versionObject()})
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	c, some, err := s.filterClause(ctx, p.Filter)
	if err != nil {
		return nil, err
	}
	out := []store.Item{}
	for after := p.After; len(out) < p.Limit; {
		where := newClause(orderProp, "GreaterThan", quoteText(orderKey(after)))
		if some {
			where = allOf(where, c)
		}
		limit := min(batchSize, p.Limit-len(out))
		arguments := fmt.Sprintf(`where:%s,sort:[{path:["%s"],order:asc}],limit:%d`, where, orderProp, limit)
		hits, err := s.find(ctx, arguments, p.Vectors)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			out = append(out, h.Item)
		}
		if len(hits) < limit {
			break
		}
		after = hits[len(hits)-1].ID
	}
	return out, nil
}

// All implements store.Store. It may or may not yield items that are written meanwhile.
func (s *Store) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		for after := ""; ; {
			rows, err := s.queryRows(ctx, fmt.Sprintf(`after:"%s",limit:%d`, after, batchSize), true)
			if err != nil {
				yield(store.Item{}, err)
				return
			}
			for _, r := range rows {
				it, ok, err := r.item()
				it.Vector = r.extra.Vector
				after = r.extra.ID
				if (ok || err != nil) && !yield(it, err) || err != nil {
					return
				}
			}
			if len(rows) < batchSize {
				return
			}
		}
	}
}
