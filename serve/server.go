package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server answers requests. It is an http.Handler; Serve also listens.
type Server struct {
	opt          Options
	limits       Limits
	log          *slog.Logger
	metrics      *metrics
	memory       *memoryBudget
	requestSlots chan struct{} // a place for every request being processed
	decoders     decoderSlots
	senders      *rateLimiter
	crossOrigin  *http.CrossOriginProtection
	mux          *http.ServeMux
	handler      http.Handler
	draining     atomic.Bool
	thumbnails   *pictureCache
	pictures     *pictureCache // those of POST /v1/pictures
	review       *reviewState  // nil without a review

	mu          sync.Mutex               // guards what follows
	collections []*servedCollection      // never changed in place
	paused      map[string]chan struct{} // collections whose changes wait until it is closed

	// The context of background work, which ends at Close.
	background context.Context
	stop       context.CancelFunc
}

// New returns a server of the options' collections. Close ends it.
func New(opt Options) (*Server, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if err := checkCalibrations(opt.Collections); err != nil {
		return nil, err
	}
	s := &Server{opt: opt, limits: opt.Limits.withDefaults(), log: opt.Log, paused: map[string]chan struct{}{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if opt.Keys != nil {
		s.opt.Keys = &Keys{opt.Keys.withLog(s.log)}
	}
	if opt.Review != "" {
		var err error
		if s.review, err = openReview(opt.Review, opt.ReadOnly); err != nil {
			return nil, err
		}
	}
	s.crossOrigin = http.NewCrossOriginProtection()
	for _, origin := range opt.Origins {
		if origin == anyOrigin {
			continue
		}
		if err := s.crossOrigin.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	kept := min(keptPictureBytes, s.limits.Memory/4)
	s.memory = &memoryBudget{limit: s.limits.Memory - kept}
	s.pictures = newPictureCache(int(kept))
	s.requestSlots = make(chan struct{}, s.limits.Concurrent)
	s.decoders = newDecoders()
	s.senders = newRateLimiter(s.limits.Rate, s.limits.Burst)
	s.thumbnails = newPictureCache(thumbnailBytes)
	s.background, s.stop = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	for _, c := range opt.Collections {
		s.collections = append(s.collections, s.newCollection(c))
	}
	s.mux = s.routes()
	s.handler = s.wrapRequests(http.HandlerFunc(s.dispatch))
	return s, nil
}

// Close ends background work. It does not close the stores.
func (s *Server) Close() error {
	s.stop()
	all, release := s.holdCollections()
	defer release()
	for _, c := range all {
		c.end()
	}
	return nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// handler answers an admitted request, or returns an error.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one line of the table of all routes.
type route struct {
	pattern        string
	permission     Permission
	open           bool // needs no key
	body           bool // reads a body
	handle         handler
	parameterNames []string // parameters besides collection
}

// table lists all routes. The OpenAPI document has the same; a test compares them.
func (s *Server) table() []route {
	return []route{
		{"GET /healthz", Read, true, false, s.health, nil},
		{"GET /readyz", Read, true, false, s.readiness, nil},
		{"GET /openapi.json", Read, true, false, s.serveOpenAPI, nil},
		{"GET /metrics", Read, false, false, s.serveMetrics, nil},
		{"GET /v1/info", Read, false, false, s.info, nil},
		{"POST /v1/search", Read, false, true, s.search, nil},
		{"POST /v1/explain", Read, false, true, s.explain, nil},
		{"POST /v1/identify", Read, false, true, s.identify, nil},
		{"GET /v1/items", Read, false, false, s.listItems, []string{"after", "limit", "filter", "vectors", "seed",
			"like"}},
		{"POST /v1/items", Write, false, true, s.addItems, nil},
		{"PUT /v1/items", Write, false, true, s.putItems, nil},
		{"DELETE /v1/items", Write, false, true, s.removeItems, []string{"id"}},
		{"GET /v1/items/{id}", Read, false, false, s.getItem, nil},
		{"PUT /v1/items/{id}", Write, false, true, s.changeItem, nil},
		{"DELETE /v1/items/{id}", Write, false, false, s.removeItem, nil},
		{"GET /v1/items/{id}/picture", Read, false, false, s.servePicture, nil},
		{"GET /v1/items/{id}/thumbnail", Read, false, false, s.serveThumbnail, []string{"size"}},
		{"PATCH /v1/items/{id}", Write, false, true, s.patchItem, nil},
		{"PATCH /v1/items", Write, false, true, s.patchItems, nil},
		{"GET /v1/labels", Read, false, false, s.listLabels, []string{"column", "filter", "limit", "from", "sort"}},
		{"POST /v1/pictures", Read, false, true, s.keepPicture, nil},
		{"GET /v1/pictures/{digest}", Read, false, false, s.keptPicture, nil},
		{"GET /v1/sync/pending", Write, false, false, s.listPending, []string{"from", "limit"}},
		{"POST /v1/sync/pending", Write, false, true, s.decidePending, nil},
		{"GET /v1/map", Read, false, false, s.mapState, nil},
		{"GET /v1/map/points", Read, false, false, s.mapPoints, []string{"version"}},
		{"GET /v1/map/ids", Read, false, false, s.mapIDs, []string{"version", "from", "count"}},
		{"GET /v1/map/column", Read, false, false, s.mapColumn, []string{"version", "name"}},
		{"GET /v1/review", Read, false, false, s.reviewPage, nil},
		{"GET /v1/review/decisions", Read, false, false, s.reviewDecisions, nil},
		{"PUT /v1/review/decisions", Write, false, true, s.reviewDecide, nil},
	}
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range s.table() {
		mux.Handle(rt.pattern, s.admit(rt))
	}
	return mux
}

// readyTimeout is the time limit for a collection to answer that it works.
const readyTimeout = 2 * time.Second

// checkReady returns the reason why requests should go to another server; nil if this one is ready.
func (s *Server) checkReady(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("the server is stopping")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	all, release := s.holdCollections()
	defer release()
	for _, c := range all {
		if _, err := c.Store.Info(ctx); err != nil {
			s.log.Error("a collection does not answer", "collection", c.Name, "error", err)
			return errors.New("the collection " + c.Name + " does not answer")
		}
	}
	return nil
}
