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

// collection is a Collection with the server's state for it. A request uses one collection from its beginning to its
// end, also if Replace puts another one in its place meanwhile.
type collection struct {
	Collection
	*background            // computations from its items
	coalescer   *coalescer // nil without an Embedder
	projected   *projected
	counted     refreshed[labels]
	measured    atomic.Pointer[measured]
	decides     atomic.Pointer[decides]
	classes     classLists
	returning   returning
	updating    sync.Mutex   // held while items of a database are read and written
	uploading   sync.RWMutex // held for reading while items get uploaded pictures, for writing while these are removed

	users   sync.WaitGroup // requests that use it
	writers sync.WaitGroup // those of users that may change it
}

// background is work that no request waits for until its end.
type background struct {
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	log     *slog.Logger
}

func newBackground(ctx context.Context, log *slog.Logger) *background {
	b := &background{log: log}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b
}

// end ends the work and waits for its end.
func (b *background) end() {
	b.stop()
	b.running.Wait()
}

func (s *Server) newCollection(c Collection) *collection {
	if c.CalibrationFile != nil {
		c.CalibrationFile = &CalibrationFile{c.CalibrationFile.logging(s.log)}
	}
	own := &collection{Collection: c, background: newBackground(s.background, s.log), projected: &projected{},
		classes: classLists{busy: make(chan struct{}, 1)}}
	if c.Uploads != "" {
		own.running.Go(func() { own.sweepEvery(own.ctx, s) })
	}
	if c.Embedder != nil {
		own.coalescer = newCoalescer(own.ctx, c.Embedder, s.limits.Time, s.metrics, s.log)
	}
	return own
}

// Pause lets no change of a collection begin until resume or Replace is called, and waits for the changes under way.
// Other requests go on.
func (s *Server) Pause(name string) (resume func()) {
	s.mu.Lock()
	c := s.find(name)
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
		s.resume(name)
	}
}

// resume ends a pause. The caller holds the lock.
func (s *Server) resume(name string) {
	if wait := s.paused[name]; wait != nil {
		close(wait)
		delete(s.paused, name)
	}
}

// Replace puts a collection in the place of the one with its name, as when its items and its network are replaced
// together. Later requests use the new collection. Requests under way finish with the old one: Replace returns when the
// old collection is no longer used.
func (s *Server) Replace(c Collection) error {
	if err := fitting([]Collection{c}); err != nil {
		return err
	}
	own := s.newCollection(c)
	s.mu.Lock()
	i := slices.IndexFunc(s.collections, func(have *collection) bool { return have.Name == c.Name })
	if i < 0 {
		s.mu.Unlock()
		own.end()
		return fmt.Errorf("the server has no collection %s", c.Name)
	}
	old := s.collections[i]
	s.collections = slices.Clone(s.collections)
	s.collections[i] = own
	s.resume(c.Name)
	s.mu.Unlock()
	old.users.Wait()
	old.end()
	return nil
}

// find returns the collection with a name, or nil; without a name the first one. The caller holds the lock.
func (s *Server) find(name string) *collection {
	for _, c := range s.collections {
		if name == "" || c.Name == name {
			return c
		}
	}
	return nil
}

// hold returns all collections. They stay usable until release.
func (s *Server) hold() (all []*collection, release func()) {
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

// named returns the collection that a request means, until the request ends.
func (s *Server) named(r *http.Request) (*collection, error) { return s.use(r, false) }

// use is named. A request that may change the collection is refused while changes are paused.
func (s *Server) use(r *http.Request, change bool) (*collection, error) {
	name := collectionOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(name)
	switch {
	case len(s.collections) == 0:
		return nil, notFound.is("Start the server with an index.", "the server has no collection")
	case c == nil:
		return nil, notFound.is("GET /v1/info lists the collections.", "the server has no collection %q", name)
	case change && s.paused[c.Name] != nil:
		return nil, overloaded.is("Try again as Retry-After says.", "another process replaces the network of the "+
			"collection %s, and changes wait for it", c.Name).after(time.Second)
	}
	c.users.Add(1)
	if change {
		c.writers.Add(1)
	}
	rec := receivedOf(r)
	rec.release = append(rec.release, func() {
		if change {
			c.writers.Done()
		}
		c.users.Done()
	})
	return c, nil
}

// collectionOf returns the name of the collection that a request means; "" means the first one.
func collectionOf(r *http.Request) string {
	if values := r.URL.Query()["collection"]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// awaitChanges waits while changes of the collection that a request means are paused, up to maxWait.
func (s *Server) awaitChanges(r *http.Request) {
	s.mu.Lock()
	var paused chan struct{}
	if c := s.find(collectionOf(r)); c != nil {
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

// writable returns the collection that a request means, if it may be changed.
func (s *Server) writable(r *http.Request) (*collection, store.Info, error) {
	c, err := s.use(r, true)
	if err != nil {
		return nil, store.Info{}, err
	}
	info, err := c.Store.Info(r.Context())
	if err == nil && (s.opt.ReadOnly || info.ReadOnly) {
		err = store.ErrReadOnly
	}
	return c, info, err
}
