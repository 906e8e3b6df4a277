// Package qdrant is a collection of a Qdrant cluster as a store.Store.
//
//	const url = "qdrant://a.example:6334,b.example:6334?replication=2"
//	s, err := qdrant.Create(ctx, url, "photos", store.Config{Dim: 128, HNSW: true})
//	s, err := qdrant.Open(ctx, url, "photos")
//
// The ports are those of gRPC. A request goes to one of the hosts, and to the next if
// that fails. qdrant://:KEY@HOST sends an API key. Options of the URL:
//
//	replication  machines that keep each item of a new store, default 1
//	consistency  machines that have to agree to a write or a read: one, quorum (the
//	             default), all
//	ef           candidates that a search in a graph considers, default Qdrant's own
//	tls          true or false
//
// A store is a collection kindred_NAME. An item is a point whose UUID is made of its id;
// its columns are kept as JSON, and for filters as keys t_NAME, n_NAME and b_NAME of
// texts, numbers and truth values. Searches are exact unless Config.HNSW has made a graph.
//
// Limits of Qdrant: it does not compare texts by <; such a filter is a *store.FilterError.
// Vectors of a cosine store come back with length 1. There are no transactions: a failed
// Put of more than 500 items can have written a part; the same Put completes it. If two
// calls Insert one id at the same moment, both can succeed. List reads all ids.
//
// It was tested against a server of Qdrant's protocol, made from its stubs, and not
// against Qdrant itself.
package qdrant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kindred-ml/kindred/internal/database/driver"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// Store is an open store.
type Store struct {
	clients          []*qdrant.Client // of the hosts
	current          atomic.Int64     // counts the hosts that failed
	name, collection string
	replication      int
	level            string // of consistency
	ef               int    // 0 is Qdrant's default

	dim      int
	distance string
	exact    bool
	half     bool
}

// maxDim is the largest dimension that Qdrant supports.
const maxDim = 65536

// descriptionID is the id of the point that describes the store. It is not an item.
var descriptionID = driver.UUID("")

// metrics has Qdrant's distances.
var metrics = map[string]qdrant.Distance{"euclidean": qdrant.Distance_Euclid, "cosine": qdrant.Distance_Cosine,
	"dot": qdrant.Distance_Dot}

// maxAnswer is the largest number of bytes of an answer.
const maxAnswer = 1 << 30

func connect(text, name string) (*Store, error) {
	if err := store.CheckName(name); err != nil {
		return nil, err
	}
	a, err := driver.ParseAddress(text, "qdrant", "6334", "replication", "consistency", "ef")
	if err != nil {
		return nil, err
	}
	s := &Store{name: name, collection: "kindred_" + name}
	if s.level, err = a.ChoiceOption("consistency", "quorum", "one", "all"); err != nil {
		return nil, err
	}
	if s.replication, err = a.NumberOption("replication", 1, 1, 99); err != nil {
		return nil, err
	}
	if s.ef, err = a.NumberOption("ef", 0, 1, 10_000); err != nil {
		return nil, err
	}
	for _, address := range a.Hosts {
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		c, err := qdrant.NewClient(&qdrant.Config{Host: host, Port: port, APIKey: a.Key, UseTLS: a.TLS, PoolSize: 1,
			SkipCompatibilityCheck: true,
			GrpcOptions:            []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer))}})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.clients = append(s.clients, c)
	}
	return s, nil
}

// Create makes an empty store in the cluster at a URL. It is an error if the store exists.
func Create(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	return withConnection(url, name, func(s *Store) error { return s.create(ctx, &cfg) })
}

// Open opens a store in the cluster at a URL.
func Open(ctx context.Context, url, name string) (*Store, error) {
	return withConnection(url, name, func(s *Store) error { return s.open(ctx) })
}

// Ensure opens a store, or makes it if it does not exist. A store with another length of
// vector or another distance is an error.
func Ensure(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	if err := cfg.Check(name, maxDim); err != nil {
		return nil, err
	}
	return withConnection(url, name, func(s *Store) error {
		there := false
		err := s.tryHosts(ctx, func(c *qdrant.Client) (err error) {
			there, err = c.CollectionExists(ctx, s.collection)
			return err
		})
		if err == nil && !there {
			return s.create(ctx, &cfg)
		}
		if err == nil {
			err = s.open(ctx)
		}
		if err == nil {
			err = cfg.CheckExisting(name, s.dim, s.distance)
		}
		return err
	})
}

// withConnection connects and calls f. It closes the connections if f fails.
func withConnection(url, name string, f func(*Store) error) (*Store, error) {
	s, err := connect(url, name)
	if err != nil {
		return nil, err
	}
	if err := f(s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// tryHosts calls f with one host after the other until one answers.
func (s *Store) tryHosts(ctx context.Context, f func(*qdrant.Client) error) error {
	var err error
	for range s.clients {
		at := s.current.Load()
		err = f(s.clients[int(at)%len(s.clients)])
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		var of *qdrant.QdrantError
		code := status.Code(err)
		if errors.As(err, &of) {
			code = status.Code(of.Unwrap())
		}
		switch code {
		case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal:
			s.current.CompareAndSwap(at, at+1)
		default:
			return err
		}
	}
	return &store.UnavailableError{Err: err}
}

// quorum returns the number of machines with an item that must confirm a write.
func (s *Store) quorum() uint32 {
	switch s.level {
	case "one":
		return 1
	case "all":
		return uint32(s.replication)
	}
	return uint32(s.replication/2 + 1)
}

func (s *Store) readConsistency() *qdrant.ReadConsistency {
	return map[string]*qdrant.ReadConsistency{"one": qdrant.NewReadConsistencyFactor(1),
		"quorum": qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority),
		"all":    qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_All)}[s.level]
}

func (s *Store) create(ctx context.Context, cfg *store.Config) error {
	if err := cfg.Check(s.name, maxDim); err != nil {
		return err
	}
	params := &qdrant.VectorParams{Size: uint64(cfg.Dim), Distance: metrics[cfg.Distance],
		HnswConfig: &qdrant.HnswConfigDiff{M: qdrant.PtrOf(uint64(0))}}
	if cfg.HNSW {
		params.HnswConfig = &qdrant.HnswConfigDiff{M: qdrant.PtrOf(uint64(cfg.MaxNeighbours)),
			EfConstruct: qdrant.PtrOf(uint64(cfg.BuildCandidates))}
	}
	if cfg.Float16 {
		params.Datatype = qdrant.Datatype_Float16.Enum()
	}
	err := s.tryHosts(ctx, func(c *qdrant.Client) error {
		return c.CreateCollection(ctx, &qdrant.CreateCollection{CollectionName: s.collection,
			VectorsConfig:          qdrant.NewVectorsConfig(params),
			ReplicationFactor:      qdrant.PtrOf(uint32(s.replication)),
			WriteConsistencyFactor: qdrant.PtrOf(s.quorum())})
	})
	if err != nil {
		return fmt.Errorf("making the store %s: %w", s.name, err)
	}
	about := make([]float32, cfg.Dim)
	about[0] = 1
	err = s.upsert(ctx, []*qdrant.PointStruct{{Id: qdrant.NewID(descriptionID), Vectors: qdrant.NewVectorsDense(about),
		Payload: map[string]*qdrant.Value{networkKey: qdrant.NewValueString(cfg.Network), versionKey: currentTime()}}})
	if err != nil {
		return err
	}
	return s.open(ctx)
}

func currentTime() *qdrant.Value {
	return qdrant.NewValueString(strconv.FormatInt(time.Now().UnixNano(), 10))
}

func (s *Store) open(ctx context.Context) error {
	var in *qdrant.CollectionInfo
	err := s.tryHosts(ctx, func(c *qdrant.Client) (err error) {
		in, err = c.GetCollectionInfo(ctx, s.collection)
		return err
	})
	if err != nil {
		return fmt.Errorf("opening the store %s: %w", s.name, err)
	}
	p := in.GetConfig().GetParams().GetVectorsConfig().GetParams()
	s.dim, s.half = int(p.GetSize()), p.GetDatatype() == qdrant.Datatype_Float16
	s.exact = p.GetHnswConfig() != nil && p.GetHnswConfig().GetM() == 0
	for name, d := range metrics {
		if d == p.GetDistance() {
			s.distance = name
		}
	}
	if s.dim == 0 || s.distance == "" {
		return fmt.Errorf("the collection %s was not made by kindred", s.collection)
	}
	return nil
}

// Close closes the connections.
func (s *Store) Close() error {
	var err error
	for _, c := range s.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Info implements store.Store.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	in := store.Info{Dim: s.dim, Distance: s.distance}
	if s.half {
		in.Loss = store.Float16Loss
	}
	if s.distance == "cosine" {
		in.Loss = strings.TrimPrefix(in.Loss+"; vectors come back with length 1", "; ")
	}
	filter, err := itemFilter("")
	if err != nil {
		return in, err
	}
	err = s.tryHosts(ctx, func(c *qdrant.Client) error {
		n, err := c.Count(ctx, &qdrant.CountPoints{CollectionName: s.collection, Filter: filter,
			Exact: qdrant.PtrOf(true)})
		in.Items = int(n)
		return err
	})
	if err != nil {
		return in, err
	}
	points, err := s.getPoints(ctx, []string{descriptionID}, false)
	if err != nil || len(points) == 0 {
		return in, errors.Join(err, errors.New("the store was not created completely: create it again"))
	}
	about := points[0].GetPayload()
	in.Network = about[networkKey].GetStringValue()
	if in.Version, err = strconv.ParseUint(about[versionKey].GetStringValue(), 10, 64); err != nil {
		return in, err
	}
	for key, v := range about {
		for _, kind := range []store.Kind{store.Text, store.Number, store.Bool} {
			if name := v.GetStringValue(); key == driver.PropertyName(kind, name) {
				in.Columns = append(in.Columns, store.Column{Name: name, Kind: kind})
			}
		}
	}
	// A column of several kinds counts as text.
	slices.SortFunc(in.Columns, func(a, b store.Column) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(b.Kind), string(a.Kind)))
	})
	in.Columns = slices.CompactFunc(in.Columns, func(a, b store.Column) bool { return a.Name == b.Name })
	return in, nil
}

// getPoints returns the points of those UUIDs that exist.
func (s *Store) getPoints(ctx context.Context, uuids []string, vectors bool) (out []*qdrant.RetrievedPoint, err error) {
	ids := make([]*qdrant.PointId, len(uuids))
	for i, u := range uuids {
		ids[i] = qdrant.NewID(u)
	}
	err = s.tryHosts(ctx, func(c *qdrant.Client) (err error) {
		out, err = c.Get(ctx, &qdrant.GetPoints{CollectionName: s.collection, Ids: ids,
			WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(vectors),
			ReadConsistency: s.readConsistency()})
		return err
	})
	return out, err
}

// parseItem converts a point to an item.
func parseItem(payload map[string]*qdrant.Value, vectors *qdrant.VectorsOutput) (store.Item, error) {
	it := store.Item{ID: payload[idKey].GetStringValue(), Path: payload[pathKey].GetStringValue()}
	if v := vectors.GetVector(); v != nil {
		it.Vector = v.GetDense().GetData()
	}
	text := payload[columnsKey].GetStringValue()
	if err := strictjson.Unmarshal([]byte(text), &it.Columns); err != nil {
		return it, fmt.Errorf("the columns of %q: %w", it.ID, err)
	}
	return it, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Item, error) {
	points, err := s.getPoints(ctx, []string{driver.UUID(id)}, true)
	if err == nil && len(points) == 0 || id == "" {
		err = errors.Join(err, &store.NotFoundError{ID: id})
	}
	if err != nil {
		return store.Item{}, err
	}
	return parseItem(points[0].GetPayload(), points[0].GetVectors())
}

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	if len(q.Vector) != s.dim {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: s.dim}
	}
	filter, err := itemFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	if len(q.ExcludeIDs) > 0 {
		ids := make([]*qdrant.PointId, len(q.ExcludeIDs))
		for i, id := range q.ExcludeIDs {
			ids[i] = qdrant.NewID(driver.UUID(id))
		}
		filter.MustNot = append(filter.MustNot, qdrant.NewHasID(ids...))
	}
	params := &qdrant.SearchParams{Exact: &s.exact}
	if s.ef > 0 {
		params.HnswEf = qdrant.PtrOf(uint64(s.ef))
	}
	var found []*qdrant.ScoredPoint
	err = s.tryHosts(ctx, func(c *qdrant.Client) (err error) {
		found, err = c.Query(ctx, &qdrant.QueryPoints{CollectionName: s.collection,
			Query: qdrant.NewQueryDense(q.Vector), Filter: filter, Params: params, Limit: qdrant.PtrOf(uint64(q.K)),
			WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(q.Vectors),
			ReadConsistency: s.readConsistency()})
		return err
	})
	if err != nil {
		return nil, err
	}
	hits := make([]store.Hit, len(found))
	for i, p := range found {
		if hits[i].Item, err = parseItem(p.GetPayload(), p.GetVectors()); err != nil {
			return nil, err
		}
		hits[i].Distance = float64(p.GetScore())
		switch s.distance {
		case "cosine":
			hits[i].Distance = 1 - hits[i].Distance
		case "dot":
			hits[i].Distance = -hits[i].Distance
		}
	}
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.ID, b.ID))
	})
	return hits, nil
}

// batchSize is the largest number of points of a request.
const batchSize = 500

// Put implements store.Store, except for transactions: see the package comment. Of items
// with the same id in a call none is written.
func (s *Store) Put(ctx context.Context, list []store.Item, mode store.Mode) error {
	points := make([]*qdrant.PointStruct, len(list))
	uuids := make([]string, len(list))
	seen := make(map[string]bool, len(list))
	columns := map[string]*qdrant.Value{}
	for i := range list {
		it := &list[i]
		err := it.Check(s.dim)
		if err == nil && s.half {
			err = it.CheckFloat16()
		}
		if err == nil && seen[it.ID] {
			err = &store.ExistsError{ID: it.ID}
		}
		if err != nil {
			return err
		}
		seen[it.ID] = true
		if points[i], err = newPoint(it, columns); err != nil {
			return err
		}
		uuids[i] = points[i].GetId().GetUuid()
	}
	if mode == store.Insert {
		for part := range slices.Chunk(uuids, batchSize) {
			there, err := s.getPoints(ctx, part, false)
			if err != nil {
				return err
			}
			if len(there) > 0 {
				return &store.ExistsError{ID: there[0].GetPayload()[idKey].GetStringValue()}
			}
		}
	}
	for part := range slices.Chunk(points, batchSize) {
		if err := s.upsert(ctx, part); err != nil {
			return err
		}
	}
	return s.writeDescription(ctx, columns)
}

// newPoint converts an item to a point. It adds the item's columns to seen.
func newPoint(it *store.Item, seen map[string]*qdrant.Value) (*qdrant.PointStruct, error) {
	columns, err := json.Marshal(it.Columns)
	if err != nil {
		return nil, &store.ItemError{ID: it.ID, Err: err}
	}
	p := map[string]*qdrant.Value{idKey: qdrant.NewValueString(it.ID),
		columnsKey: qdrant.NewValueString(string(columns))}
	if it.Path != "" {
		p[pathKey] = qdrant.NewValueString(it.Path)
	}
	for name, v := range it.Columns {
		key := driver.PropertyName(store.KindOf(v), name)
		seen[key] = qdrant.NewValueString(name)
		switch v := v.(type) {
		case string:
			p[key] = qdrant.NewValueString(v)
		case float64:
			p[key] = qdrant.NewValueDouble(v)
		case bool:
			p[key] = qdrant.NewValueBool(v)
		}
	}
	return &qdrant.PointStruct{Id: qdrant.NewID(driver.UUID(it.ID)), Vectors: qdrant.NewVectorsDense(it.Vector),
		Payload: p}, nil
}

func (s *Store) upsert(ctx context.Context, points []*qdrant.PointStruct) error {
	return s.tryHosts(ctx, func(c *qdrant.Client) error {
		_, err := c.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: s.collection, Wait: qdrant.PtrOf(true),
			Points: points})
		return err
	})
}

// writeDescription writes the version and the columns of the store.
func (s *Store) writeDescription(ctx context.Context, columns map[string]*qdrant.Value) error {
	columns[versionKey] = currentTime()
	return s.tryHosts(ctx, func(c *qdrant.Client) error {
		_, err := c.SetPayload(ctx, &qdrant.SetPayloadPoints{CollectionName: s.collection, Wait: qdrant.PtrOf(true),
			Payload: columns, PointsSelector: qdrant.NewPointsSelector(qdrant.NewID(descriptionID))})
		return err
	})
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, ids []string) (int, error) {
	n := 0
	for part := range slices.Chunk(ids, batchSize) {
		uuids := make([]string, len(part))
		points := make([]*qdrant.PointId, len(part))
		for i, id := range part {
			if id == "" {
				return n, &store.ItemError{Err: errors.New("its id is empty")}
			}
			uuids[i] = driver.UUID(id)
			points[i] = qdrant.NewID(uuids[i])
		}
		there, err := s.getPoints(ctx, uuids, false)
		if err != nil {
			return n, err
		}
		err = s.tryHosts(ctx, func(c *qdrant.Client) error {
			_, err := c.Delete(ctx, &qdrant.DeletePoints{CollectionName: s.collection, Wait: qdrant.PtrOf(true),
				Points: qdrant.NewPointsSelectorIDs(points)})
			return err
		})
		if err != nil {
			return n, err
		}
		n += len(there)
	}
	return n, s.writeDescription(ctx, map[string]*qdrant.Value{})
}

// scroll yields all points that pass a filter, in the order of their UUIDs.
func (s *Store) scroll(ctx context.Context, filter *qdrant.Filter, payload *qdrant.WithPayloadSelector,
	vectors bool) iter.Seq2[*qdrant.RetrievedPoint, error] {
	return func(yield func(*qdrant.RetrievedPoint, error) bool) {
		var offset *qdrant.PointId
		for {
			var page []*qdrant.RetrievedPoint
			var next *qdrant.PointId
			err := s.tryHosts(ctx, func(c *qdrant.Client) (err error) {
				page, next, err = c.ScrollAndOffset(ctx, &qdrant.ScrollPoints{CollectionName: s.collection,
					Filter: filter, Offset: offset, Limit: qdrant.PtrOf(uint32(batchSize)), WithPayload: payload,
					WithVectors: qdrant.NewWithVectors(vectors), ReadConsistency: s.readConsistency()})
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
			}
			if offset = next; next == nil {
				return
			}
		}
	}
}

// List implements store.Store. Qdrant has no order of texts: it reads the ids of all items
// that pass the filter.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	filter, err := itemFilter(p.Filter)
	if err != nil {
		return nil, err
	}
	var ids []string
	least := func() {
		slices.Sort(ids)
		ids = ids[:min(p.Limit, len(ids))]
	}
	for q, err := range s.scroll(ctx, filter, qdrant.NewWithPayloadInclude(idKey), false) {
		if err != nil {
			return nil, err
		}
		if id := q.GetPayload()[idKey].GetStringValue(); id > p.After {
			if ids = append(ids, id); len(ids) > 2*p.Limit+batchSize {
				least()
			}
		}
	}
	least()
	out := make([]store.Item, 0, len(ids))
	for part := range slices.Chunk(ids, batchSize) {
		uuids := make([]string, len(part))
		for i, id := range part {
			uuids[i] = driver.UUID(id)
		}
		points, err := s.getPoints(ctx, uuids, p.Vectors)
		if err != nil {
			return nil, err
		}
		for _, q := range points {
			it, err := parseItem(q.GetPayload(), q.GetVectors())
			if err != nil {
				return nil, err
			}
			out = append(out, it)
		}
	}
	slices.SortFunc(out, func(a, b store.Item) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// All implements store.Store. It may or may not yield items that are written meanwhile.
func (s *Store) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		filter, err := itemFilter("")
		if err != nil {
			yield(store.Item{}, err)
			return
		}
		for p, err := range s.scroll(ctx, filter, qdrant.NewWithPayload(true), true) {
			var it store.Item
			if err == nil {
				it, err = parseItem(p.GetPayload(), p.GetVectors())
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}
