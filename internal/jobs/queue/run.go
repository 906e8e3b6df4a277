package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// submitters is how many jobs are submitted at a time.
const submitters = 16

// Run submits the jobs and waits for their results. It does not submit jobs that the queue has already, from
// this or another call or from a process that was killed, but waits for their results. Forget
// removes them.
//
// A job that was given up or cancelled stays so until Retry; its error says so.
func (q *Queue) Run(ctx context.Context, list []jobs.Job) ([]jobs.Result, error) {
	at := make(map[string][]int, len(list)) // indexes of a job in list
	for i, j := range list {
		if err := j.Check(); err != nil {
			return nil, err
		}
		key := q.key(j)
		at[key] = append(at[key], i)
	}
	if len(at) == 0 {
		return nil, nil
	}
	c := &collector{q: q, list: list, places: at, open: make(map[string]bool, len(at)), redone: map[string]bool{},
		results: make([]jobs.Result, len(list)), errs: make([]error, len(list))}
	for key := range at {
		c.open[key] = true
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(submitters)
	for i, j := range list {
		if key := q.key(j); at[key][0] == i {
			g.Go(func() error { return c.submit(gctx, key, j) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("submitting jobs: %w", err)
	}
	for len(c.open) > 0 {
		if err := c.follow(ctx); err != nil {
			return nil, err
		}
		n := 0
		for key := range c.open {
			if n++; n > maxResubmitted {
				break
			}
			if _, err := q.publish(ctx, key); err != nil {
				return nil, err
			}
		}
	}
	return c.results, errors.Join(c.errs...)
}

// submit puts a job into the queue unless the queue has it.
func (c *collector) submit(ctx context.Context, key string, j jobs.Job) error {
	q := c.q
	text, err := json.Marshal(jobValue{j, q.lane, q.signJob(key, j)})
	if err == nil {
		_, err = parseJobValue(text) // refuse jobs that workers could not read
	}
	if err != nil {
		return err
	}
	if err := q.create(ctx, "job."+key, text); err != nil {
		return err
	}
	state, err := json.Marshal(&record{State: Queued, Kind: j.Kind, Title: j.Title, Lane: q.lane})
	if err != nil {
		return err
	}
	if err := q.create(ctx, "state."+key, state); err != nil {
		return err
	}
	r, _, err := q.read(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		r, err = &record{}, nil // the server lags behind and does not have the new record yet
	}
	switch {
	case err != nil:
		return err
	case r.State.isFinal():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kept = append(c.kept, key)
		return nil
	}
	_, err = q.publish(ctx, key)
	return err
}

// create writes a value unless one exists.
func (q *Queue) create(ctx context.Context, key string, value []byte) error {
	err := retry(ctx, func(ctx context.Context) error {
		_, err := q.states.Create(ctx, key, value)
		return q.orAbsentError(ctx, "KV_"+q.o.Name, err)
	})
	if errors.Is(err, jetstream.ErrKeyExists) {
		return nil
	}
	return err
}

// publish makes a job available to workers. It returns false if the job is available already or a worker
// has it.
func (q *Queue) publish(ctx context.Context, key string) (bool, error) {
	there := false
	err := retry(ctx, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, q.subject(key), []byte(key))
		var api jetstream.JetStreamError
		there = errors.As(err, &api) && api.APIError() != nil &&
			strings.Contains(api.APIError().Description, "maximum messages per subject")
		if there { // its code is that of errors which pass
			return nil
		}
		return q.orAbsentError(ctx, q.o.Name+"-todo", err)
	})
	return err == nil && !there, err
}

// collector gathers the results of one call of Run.
type collector struct {
	q       *Queue
	list    []jobs.Job
	places  map[string][]int
	results []jobs.Result
	errs    []error
	open    map[string]bool
	redone  map[string]bool // jobs that are done again because their results were lost

	mu   sync.Mutex
	kept []string // jobs that were finished before they were submitted
}

// rereadInterval is how often states are read anew, in case that news of them was lost.
// Jobs are then submitted anew too, up to resubmitted of them: one that was
// forgotten, or tried again, in the moment before its worker acknowledged it would
// otherwise be in no stream.
const (
	rereadInterval = 30 * time.Second
	maxResubmitted = 1000
)

// follow collects results as they arrive, until all are there, ctx ends, or the states must be read
// again.
func (c *collector) follow(ctx context.Context) error {
	for _, key := range c.kept {
		if err := c.readState(ctx, key, true); err != nil {
			return err
		}
	}
	c.kept = nil
	var w jetstream.KeyWatcher
	var ctx2 context.Context // of the watcher
	var cancel context.CancelFunc
	err := retry(ctx, func(context.Context) (err error) {
		ctx2, cancel = context.WithTimeout(ctx, rereadInterval)
		if w, err = c.q.states.Watch(ctx2, "state.*"); err != nil {
			cancel()
		}
		return err
	})
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer cancel()
	defer w.Stop()
	for len(c.open) > 0 {
		select {
		case <-ctx2.Done():
			return ctx.Err()
		case e, ok := <-w.Updates():
			if !ok {
				sleep(ctx, time.Second)
				return ctx.Err()
			}
			if e == nil { // all existing entries have been delivered
				continue
			}
			key := strings.TrimPrefix(e.Key(), "state.")
			if !c.open[key] {
				continue
			}
			if err := c.addEntry(ctx, key, e, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// readState reads the state of a job.
func (c *collector) readState(ctx context.Context, key string, kept bool) error {
	if !c.open[key] {
		return nil
	}
	_, e, err := c.q.read(ctx, key)
	if err != nil {
		return err
	}
	return c.addEntry(ctx, key, e, kept)
}

// addEntry records the news of an entry about an unfinished job.
func (c *collector) addEntry(ctx context.Context, key string, e jetstream.KeyValueEntry, kept bool) error {
	if e.Operation() != jetstream.KeyValuePut {
		return fmt.Errorf("job %s was removed from the queue", key)
	}
	r, err := parseRecord(e.Value())
	if err != nil {
		return fmt.Errorf("job %s: %w", key, err)
	}
	if c.q.o.Report != nil {
		c.q.o.Report(r.status(key, c.q.lane, e.Created()))
	}
	if !r.State.isFinal() {
		return nil
	}
	result := jobs.Result{Worker: r.Worker, Cached: kept}
	var failed error
	switch r.State {
	case Done:
		if result.Output = r.Inline; r.Output != "" {
			result.Output, err = c.q.readObject(ctx, r.Output)
			if isLost(err) && !c.redone[key] {
				c.redone[key] = true
				return c.q.redo(ctx, key)
			}
			if err != nil {
				return fmt.Errorf("the result of %s: %w", r.Title, err)
			}
		}
		if result.Output == nil { // an empty output must not be nil
			result.Output = []byte{}
		}
		if !c.q.isSigned(signedResult, key, result.Output, r.OutputSignature) {
			result.Output = nil
			failed = fmt.Errorf("its result is not signed with this command's secret: give %q the same "+
				"secret, and remove this one by 'kindred jobs remove %.8s'", r.Worker, key)
		}
	case Failed:
		failed = fmt.Errorf("%s\n'kindred jobs retry %s' retries it", r.Error, key)
	case Cancelled:
		failed = fmt.Errorf("it was cancelled; 'kindred jobs retry %s' retries it", key)
	}
	for _, i := range c.places[key] {
		c.results[i] = result
		if failed != nil {
			c.errs[i] = &jobs.FailedError{Job: c.list[i], Tries: r.Tries, Err: failed}
		}
	}
	delete(c.open, key)
	return nil
}
