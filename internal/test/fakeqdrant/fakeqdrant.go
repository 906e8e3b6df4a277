// Package fakeqdrant is a server of Qdrant's protocol for tests. It keeps points in memory
// and is made of the stubs of Qdrant's client. It answers the requests that this module
// sends, as the protocol's comments describe, and no others.
package fakeqdrant

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Server keeps collections.
type Server struct {
	mu          sync.Mutex
	collections map[string]*collection
	fault       func(method string) error
}

type collection struct {
	config *qdrant.CollectionConfig
	params *qdrant.VectorParams
	points map[string]*qdrant.PointStruct
}

// New starts a server, which ends with the test, and returns it with its address.
func New(t *testing.T) (*Server, string) {
	t.Helper()
	s := &Server{collections: map[string]*collection{}}
	return s, s.Listen(t)
}

// Listen adds another address for the same collections, like another machine of a
// cluster.
func (s *Server) Listen(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
		handle grpc.UnaryHandler) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fault != nil {
			if err := s.fault(info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]); err != nil {
				return nil, err
			}
		}
		return handle(ctx, req)
	}))
	qdrant.RegisterCollectionsServer(g, &collections{s: s})
	qdrant.RegisterPointsServer(g, &points{s: s})
	go g.Serve(ln)
	t.Cleanup(g.Stop)
	return ln.Addr().String()
}

// Fault makes the server call f before every request, with the name of its method. An
// error of f is the answer.
func (s *Server) Fault(f func(method string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Server) find(name string) (*collection, error) {
	c, ok := s.collections[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Collection `%s` doesn't exist!", name)
	}
	return c, nil
}

type collections struct {
	qdrant.UnimplementedCollectionsServer
	s *Server
}

func (c *collections) Create(_ context.Context, r *qdrant.CreateCollection) (
	*qdrant.CollectionOperationResponse, error) {
	if _, ok := c.s.collections[r.GetCollectionName()]; ok {
		return nil, status.Errorf(codes.AlreadyExists, "Collection `%s` already exists!", r.GetCollectionName())
	}
	c.s.collections[r.GetCollectionName()] = &collection{params: r.GetVectorsConfig().GetParams(),
		config: &qdrant.CollectionConfig{Params: &qdrant.CollectionParams{VectorsConfig: r.GetVectorsConfig(),
			ReplicationFactor: r.ReplicationFactor}}, points: map[string]*qdrant.PointStruct{}}
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (c *collections) CollectionExists(_ context.Context,
	r *qdrant.CollectionExistsRequest) (*qdrant.CollectionExistsResponse, error) {
	_, ok := c.s.collections[r.GetCollectionName()]
	return &qdrant.CollectionExistsResponse{Result: &qdrant.CollectionExists{Exists: ok}}, nil
}

func (c *collections) Get(_ context.Context, r *qdrant.GetCollectionInfoRequest) (
	*qdrant.GetCollectionInfoResponse, error) {
	in, err := c.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return &qdrant.GetCollectionInfoResponse{Result: &qdrant.CollectionInfo{Config: in.config}}, nil
}

type points struct {
	qdrant.UnimplementedPointsServer
	s *Server
}

var done = &qdrant.PointsOperationResponse{Result: &qdrant.UpdateResult{Status: qdrant.UpdateStatus_Completed}}

func (p *points) Upsert(_ context.Context, r *qdrant.UpsertPoints) (*qdrant.PointsOperationResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	for _, one := range r.GetPoints() {
		v := one.GetVectors().GetVector().GetDense().GetData()
		if uint64(len(v)) != c.params.GetSize() {
			return nil, status.Errorf(codes.InvalidArgument, "Vector dimension error: expected dim: %d, got %d",
				c.params.GetSize(), len(v))
		}
		if c.params.GetDistance() == qdrant.Distance_Cosine {
			length := math.Sqrt(product(v, v))
			for i := range v {
				v[i] = float32(float64(v[i]) / length)
			}
		}
		c.points[one.GetId().GetUuid()] = one
	}
	return done, nil
}

func product(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func (p *points) SetPayload(_ context.Context, r *qdrant.SetPayloadPoints) (*qdrant.PointsOperationResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	for _, id := range r.GetPointsSelector().GetPoints().GetIds() {
		if one, ok := c.points[id.GetUuid()]; ok {
			maps.Copy(one.Payload, r.GetPayload())
		}
	}
	return done, nil
}

func (p *points) Delete(_ context.Context, r *qdrant.DeletePoints) (*qdrant.PointsOperationResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	for _, id := range r.GetPoints().GetPoints().GetIds() {
		delete(c.points, id.GetUuid())
	}
	return done, nil
}

func (p *points) Get(_ context.Context, r *qdrant.GetPoints) (*qdrant.GetResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	out := &qdrant.GetResponse{}
	for _, id := range r.GetIds() {
		if one, ok := c.points[id.GetUuid()]; ok {
			out.Result = append(out.Result, newRetrieved(one, r.GetWithPayload(), r.GetWithVectors()))
		}
	}
	return out, nil
}

func newRetrieved(p *qdrant.PointStruct, payload *qdrant.WithPayloadSelector,
	vectors *qdrant.WithVectorsSelector) *qdrant.RetrievedPoint {
	out := &qdrant.RetrievedPoint{Id: p.Id}
	if names := payload.GetInclude().GetFields(); payload.GetEnable() || names != nil {
		out.Payload = maps.Clone(p.Payload)
		maps.DeleteFunc(out.Payload, func(name string, _ *qdrant.Value) bool {
			return names != nil && !slices.Contains(names, name)
		})
	}
	if vectors.GetEnable() {
		out.Vectors = newOutput(p)
	}
	return out
}

func newOutput(p *qdrant.PointStruct) *qdrant.VectorsOutput {
	return &qdrant.VectorsOutput{VectorsOptions: &qdrant.VectorsOutput_Vector{Vector: &qdrant.VectorOutput{
		Vector: &qdrant.VectorOutput_Dense{Dense: p.GetVectors().GetVector().GetDense()}}}}
}

func (p *points) Count(_ context.Context, r *qdrant.CountPoints) (*qdrant.CountResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return &qdrant.CountResponse{Result: &qdrant.CountResult{Count: uint64(len(c.matching(r.GetFilter())))}}, nil
}

// matching returns the points that pass a filter, by UUID.
func (c *collection) matching(f *qdrant.Filter) []*qdrant.PointStruct {
	var out []*qdrant.PointStruct
	for _, id := range slices.Sorted(maps.Keys(c.points)) {
		if matches(f, c.points[id]) {
			out = append(out, c.points[id])
		}
	}
	return out
}

func (p *points) Scroll(_ context.Context, r *qdrant.ScrollPoints) (*qdrant.ScrollResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	out := &qdrant.ScrollResponse{}
	for _, one := range c.matching(r.GetFilter()) {
		if one.GetId().GetUuid() < r.GetOffset().GetUuid() {
			continue
		}
		if len(out.Result) == int(r.GetLimit()) {
			out.NextPageOffset = one.Id
			break
		}
		out.Result = append(out.Result, newRetrieved(one, r.GetWithPayload(), r.GetWithVectors()))
	}
	return out, nil
}

func (p *points) Query(_ context.Context, r *qdrant.QueryPoints) (*qdrant.QueryResponse, error) {
	c, err := p.s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	q := r.GetQuery().GetNearest().GetDense().GetData()
	out := &qdrant.QueryResponse{}
	for _, one := range c.matching(r.GetFilter()) {
		v := one.GetVectors().GetVector().GetDense().GetData()
		score := product(q, v)
		switch c.params.GetDistance() {
		case qdrant.Distance_Euclid:
			score = math.Sqrt(max(0, product(q, q)-2*score+product(v, v)))
		case qdrant.Distance_Cosine:
			score /= math.Sqrt(product(q, q)) // v has length 1
		}
		hit := &qdrant.ScoredPoint{Id: one.Id, Payload: one.Payload, Score: float32(score)}
		if r.GetWithVectors().GetEnable() {
			hit.Vectors = newOutput(one)
		}
		out.Result = append(out.Result, hit)
	}
	slices.SortStableFunc(out.Result, func(a, b *qdrant.ScoredPoint) int {
		if c.params.GetDistance() == qdrant.Distance_Euclid {
			return cmp.Compare(a.Score, b.Score)
		}
		return cmp.Compare(b.Score, a.Score)
	})
	out.Result = out.Result[:min(int(r.GetLimit()), len(out.Result))]
	return out, nil
}

// matches reports whether a point passes a filter: all of Must, at least one of Should if
// there are any, and none of MustNot.
func matches(f *qdrant.Filter, p *qdrant.PointStruct) bool {
	holds := func(c *qdrant.Condition) bool { return meetsCondition(c, p) }
	for _, c := range f.GetMust() {
		if !holds(c) {
			return false
		}
	}
	return (len(f.GetShould()) == 0 || slices.ContainsFunc(f.GetShould(), holds)) &&
		!slices.ContainsFunc(f.GetMustNot(), holds)
}

func meetsCondition(c *qdrant.Condition, p *qdrant.PointStruct) bool {
	switch of := c.GetConditionOneOf().(type) {
	case *qdrant.Condition_Filter:
		return matches(of.Filter, p)
	case *qdrant.Condition_HasId:
		return slices.ContainsFunc(of.HasId.GetHasId(), func(id *qdrant.PointId) bool {
			return id.GetUuid() == p.GetId().GetUuid()
		})
	case *qdrant.Condition_IsEmpty:
		_, there := p.Payload[of.IsEmpty.GetKey()]
		return !there
	case *qdrant.Condition_Field:
		v, there := p.Payload[of.Field.GetKey()]
		return there && matchesValue(of.Field, v)
	}
	return false
}

// matchesValue reports whether a value meets a condition. A number matches no keyword, and only a
// number can be in a range.
func matchesValue(f *qdrant.FieldCondition, v *qdrant.Value) bool {
	if r := f.GetRange(); r != nil {
		d, number := v.GetKind().(*qdrant.Value_DoubleValue)
		return number && (r.Lt == nil || d.DoubleValue < *r.Lt) && (r.Lte == nil || d.DoubleValue <= *r.Lte) &&
			(r.Gt == nil || d.DoubleValue > *r.Gt) && (r.Gte == nil || d.DoubleValue >= *r.Gte)
	}
	switch m := f.GetMatch().GetMatchValue().(type) {
	case *qdrant.Match_Boolean:
		b, truth := v.GetKind().(*qdrant.Value_BoolValue)
		return truth && b.BoolValue == m.Boolean
	case *qdrant.Match_Keywords:
		s, text := v.GetKind().(*qdrant.Value_StringValue)
		return text && slices.Contains(m.Keywords.GetStrings(), s.StringValue)
	}
	return false
}
