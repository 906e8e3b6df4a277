package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kindred-ml/kindred/store"
)

// servedCollection is a Collection with the server's state for it. A request uses one collection from its
// beginning to its end, also if Replace puts another one in its place meanwhile.
type servedCollection struct {
	Collection
	*backgroundWork             // computations from its items
	embedQueue      *embedQueue // nil without an Embedder
	mapCache        *mapCache
	labelCounts     refreshedValue[labelCounts]
	measuresCache   atomic.Pointer[cachedMeasures]
	deciderCache    atomic.Pointer[cachedDecider]
	classes         classLists
	removedPaths    removedPaths
	updating        sync.Mutex // held while items of a database are read and written
	// held for reading while items get uploaded pictures, for writing while these are removed
	uploading sync.RWMutex

	users   sync.WaitGroup // requests that use it
	writers sync.WaitGroup // those of users that may change it
}

// backgroundWork is work that no request waits for until its end.
type backgroundWork struct {
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	log     *slog.Logger
}

func newBackground(ctx context.Context, log *slog.Logger) *backgroundWork {
	b := &backgroundWork{log: log}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b
}

// end ends the work and waits for its end.
func (b *backgroundWork) end() {
	b.stop()
	b.running.Wait()
}

func (s *Server) newCollection(c Collection) *servedCollection {
	if c.CalibrationFile != nil {
		c.CalibrationFile = &CalibrationFile{c.CalibrationFile.withLog(s.log)}
	}
	own := &servedCollection{Collection: c, backgroundWork: newBackground(s.background, s.log), mapCache: &mapCache{},
		classes: classLists{busy: make(chan struct{}, 1)}}
	if c.Uploads != "" {
		own.running.Go(func() { own.removeUnusedEvery(own.ctx, s) })
	}
	if c.Embedder != nil {
		own.embedQueue = newEmbedQueue(own.ctx, c.Embedder, s.limits.Time, s.metrics, s.log)
	}
	return own
}

// Pause lets no change of a collection begin until resume or Replace is called, and waits for the changes under way.
// Other requests go on.
func (s *Server) Pause(name string) (resume func()) {
	s.mu.Lock()
	c := s.findCollection(name)
	if c == nil {
		s.mu.Unlock()
		return func() {}
	}
	if s.paused[name] == nil {
		s.paused[name] = make(chan struct{})
	}
	s.mu.Unlock()
	c.writers.Wait()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resumeChanges(name)
	}
}

// resumeChanges ends a pause. The caller holds the lock.
func (s *Server) resumeChanges(name string) {
	if wait := s.paused[name]; wait != nil {
		close(wait)
		delete(s.paused, name)
	}
}

// Replace puts a collection in the place of the one with its name, as when its items and its network are replaced
// together. Later requests use the new collection. Requests under way finish with the old one: Replace returns when the
// old collection is no longer used.
func (s *Server) Replace(c Collection) error {
	if err := checkCalibrations([]Collection{c}); err != nil {
		return err
	}
	own := s.newCollection(c)
	s.mu.Lock()
	i := slices.IndexFunc(s.collections, func(have *servedCollection) bool { return have.Name == c.Name })
	if i < 0 {
		s.mu.Unlock()
		own.end()
		return fmt.Errorf("the server has no collection %s", c.Name)
	}
	old := s.collections[i]
	s.collections = slices.Clone(s.collections)
	s.collections[i] = own
	s.resumeChanges(c.Name)
	s.mu.Unlock()
	old.users.Wait()
	old.end()
	return nil
}

// findCollection returns the collection with a name, or nil; without a name the first one. The caller holds the lock.
func (s *Server) findCollection(name string) *servedCollection {
	for _, c := range s.collections {
		if name == "" || c.Name == name {
			return c
		}
	}
	return nil
}

// holdCollections returns all collections. They stay usable until release.
func (s *Server) holdCollections() (all []*servedCollection, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = s.collections
	for _, c := range all {
		c.users.Add(1)
	}
	return all, func() {
		for _, c := range all {
			c.users.Done()
		}
	}
}

// collectionOf returns the collection that a request means, until the request ends.
func (s *Server) collectionOf(r *http.Request) (*servedCollection, error) {
	return s.useCollection(r, false)
}

// useCollection is named. A request that may change the collection is refused while changes are paused.
func (s *Server) useCollection(r *http.Request, change bool) (*servedCollection, error) {
	name := collectionName(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.findCollection(name)
	switch {
	case len(s.collections) == 0:
		return nil, notFound.newProblem("Start the server with an index.", "the server has no collection")
	case c == nil:
		return nil, notFound.newProblem("GET /v1/info lists the collections.", "the server has no collection %q", name)
	case change && s.paused[c.Name] != nil:
		return nil, overloaded.newProblem("Try again as Retry-After says.",
			"another process replaces the network of the "+
				"collection %s, and changes wait for it", c.Name).withRetry(time.Second)
	}
	c.users.Add(1)
	if change {
		c.writers.Add(1)
	}
	rec := bodyOf(r)
	rec.release = append(rec.release, func() {
		if change {
			c.writers.Done()
		}
		c.users.Done()
	})
	return c, nil
}

// collectionName returns the name of the collection that a request means; "" means the first one.
func collectionName(r *http.Request) string {
	if values := r.URL.Query()["collection"]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// awaitChanges waits while changes of the collection that a request means are paused, up to maxWait.
func (s *Server) awaitChanges(r *http.Request) {
	s.mu.Lock()
	var paused chan struct{}
	if c := s.findCollection(collectionName(r)); c != nil {
		paused = s.paused[c.Name]
	}
	s.mu.Unlock()
	if paused == nil {
		return
	}
	t := time.NewTimer(maxWait)
	defer t.Stop()
	select {
	case <-paused:
	case <-t.C:
	case <-r.Context().Done():
	}
}

// writableCollection returns the collection that a request means, if it may be changed.
func (s *Server) writableCollection(r *http.Request) (*servedCollection, store.Info, error) {
	c, err := s.useCollection(r, true)
	if err != nil {
		return nil, store.Info{}, err
	}
	info, err := c.Store.Info(r.Context())
	if err == nil && (s.opt.ReadOnly || info.ReadOnly) {
		err = store.ErrReadOnly
	}
	return c, info, err
}
