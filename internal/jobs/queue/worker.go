package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// Worker does jobs of its queue's lane.
type Worker struct {
	Queue *Queue
	Kinds jobs.Kinds
	// Name is what others see of it (default: the host's name and the process's
	// number).
	Name string
	// Parallel is the number of jobs at a time (default 1).
	Parallel int
	// MaxJobs, if positive, ends the work after that many jobs.
	MaxJobs int
	// Idle, if positive, ends the work when no job has come for that long.
	Idle time.Duration
	// Log, if set, is told what is begun and how it ended. Calls may come at a time.
	Log func(line string)
}

// Work takes jobs until ctx ends. Jobs that are under way then save what they can
// go on from and go back into the queue.
func (w *Worker) Work(ctx context.Context) error {
	q := w.Queue
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	name := cmp.Or(w.Name, fmt.Sprintf("%s-%d", host, os.Getpid()))
	cfg := jetstream.ConsumerConfig{Durable: "lane-" + q.lane, FilterSubject: q.subject("*"),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.o.Lease, MaxDeliver: -1, MaxAckPending: 1 << 20}
	var c jetstream.Consumer
	begin, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = retry(begin, func(ctx context.Context) (err error) {
		if c, err = q.todo.Consumer(ctx, cfg.Durable); errors.Is(err, jetstream.ErrConsumerNotFound) {
			c, err = q.todo.CreateOrUpdateConsumer(ctx, cfg)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("taking jobs: %w", err)
	}
	lease := c.CachedInfo().Config.AckWait
	s := &session{w: w, name: name, lease: lease, left: w.MaxJobs, seen: time.Now()}
	var wg sync.WaitGroup
	for range max(1, w.Parallel) {
		wg.Go(func() { s.fetchJobs(ctx, c) })
	}
	wg.Wait()
	return ctx.Err()
}

// session is the time that a worker is at work.
type session struct {
	w     *Worker
	name  string
	lease time.Duration

	mu   sync.Mutex
	left int       // jobs that may be begun, if w.Most is positive
	busy int       // jobs under way
	seen time.Time // of the last job
}

// reserve tells whether another job may be asked for.
func (s *session) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w.MaxJobs > 0 && s.left <= 0 {
		return false
	}
	if s.w.Idle > 0 && s.busy == 0 && time.Since(s.seen) > s.w.Idle {
		return false
	}
	s.left--
	s.busy++
	return true
}

// release takes note of what came of a begin.
func (s *session) release(worked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if worked {
		s.seen = time.Now()
	} else {
		s.left++
	}
}

// fetchTimeout is how long the servers keep a question for a job.
const fetchTimeout = 5 * time.Second

// patience is how long a question may wait for a job: no longer than a worker is idle.
func (w *Worker) patience() time.Duration {
	if w.Idle <= 0 {
		return fetchTimeout
	}
	return min(fetchTimeout, max(w.Idle, 100*time.Millisecond))
}

// fetchJobs asks for one job after the other.
func (s *session) fetchJobs(ctx context.Context, c jetstream.Consumer) {
	wait := s.w.patience()
	for ctx.Err() == nil && s.reserve() {
		question, answered := context.WithTimeout(ctx, wait)
		batch, err := c.Fetch(1, jetstream.FetchContext(question))
		worked := false
		if err == nil {
			for m := range batch.Messages() {
				worked = true
				s.handle(ctx, m)
			}
			err = batch.Error()
		}
		answered()
		s.release(worked)
		if err != nil && !worked && !errors.Is(err, context.DeadlineExceeded) {
			sleep(ctx, 200*time.Millisecond) // a server that is away; the connection comes back by itself
		}
	}
}

func (s *session) log(format string, args ...any) {
	if s.w.Log != nil {
		s.w.Log(fmt.Sprintf(format, args...))
	}
}

// handle does what a message asks for, if that is still to be done. It does not claim the job once the lease has
// ended: the servers then give the message to another worker, or have ended too.
func (s *session) handle(ctx context.Context, m jetstream.Msg) {
	key := string(m.Data())
	claiming, cancel := context.WithTimeout(ctx, s.lease)
	t, err := s.claim(claiming, m, key)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the queue does not answer: %w", err)
	}
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound): // removed meanwhile
		s.removeMessage(ctx, m, key)
	case err != nil:
		s.log("job %s: %v", key, err)
		_ = m.NakWithDelay(time.Second)
	case t == nil: // no longer to be done
		s.removeMessage(ctx, m, key)
	default:
		s.do(ctx, m, t)
	}
}

// removeMessage removes the message of a job that is not to be done. Who submits that job, or tries it
// again, writes its record and then finds the message still there. So the record is read once more when the
// message is gone.
func (s *session) removeMessage(ctx context.Context, m jetstream.Msg, key string) {
	ctx, cancel := s.w.Queue.closingContext(ctx, settleTimeout)
	defer cancel()
	if m.DoubleAck(ctx) != nil {
		return // the message comes again
	}
	if r, _, err := s.w.Queue.read(ctx, key); err == nil && r.State == Queued {
		_, _ = s.w.Queue.publish(ctx, key) // if it fails, whoever waits for the job submits it again
	}
}

// claim makes the job this worker's. It returns nil if it has come to an end.
func (s *session) claim(ctx context.Context, m jetstream.Msg, key string) (*task, error) {
	q := s.w.Queue
	r, e, err := q.read(ctx, key)
	if err != nil || r.State.isFinal() {
		return nil, err
	}
	var text jetstream.KeyValueEntry
	err = retry(ctx, func(ctx context.Context) (err error) {
		text, err = q.states.Get(ctx, "job."+key)
		return err
	})
	if err != nil {
		return nil, err
	}
	g, err := parseJobValue(text.Value())
	if err != nil {
		return nil, err
	}
	t := &task{session: s, key: key, job: g.Job, record: *r}
	refused := q.verify(key, g)
	if r.State == Running { // its worker was silent for too long
		t.record.Losses++
		s.log("%s: %s is silent; this worker takes the job over", t.title(), r.Worker)
	}
	t.record.Worker, t.record.Token, t.record.Text = s.name, rand.Text(), ""
	t.record.State = Running
	if t.record.Losses >= q.o.Losses {
		t.record.State = Failed
		t.record.Error = fmt.Sprintf("%d workers died or fell silent during the job; the last was %s", t.record.Losses,
			r.Worker)
		if r.Error != "" {
			t.record.Error += "; earlier: " + r.Error
		}
	}
	if refused != nil {
		t.record.State, t.record.Error = Failed, shorten(refused.Error())
	}
	if t.revision, err = q.write(ctx, key, &t.record, e.Revision()); err != nil {
		return nil, err
	}
	if t.record.State == Failed {
		s.log("%s: given up: %s", t.title(), t.record.Error)
		return nil, nil
	}
	return t, nil
}

// do does a job and settles what came of it.
func (s *session) do(ctx context.Context, m jetstream.Msg, t *task) {
	s.log("%s: begun", t.title())
	began := time.Now()
	work, stop := context.WithCancelCause(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		t.keepLease(work, m, stop)
	}()
	out, err := s.w.Kinds.Do(work, t)
	lost := errors.Is(context.Cause(work), errNotOurs)
	if err == nil {
		// The lease is kept up while a large result is on its way.
		err = t.finish(ctx, out)
		lost = lost || errors.Is(err, errNotOurs)
	}
	stop(nil)
	<-beating
	end, cancel := s.w.Queue.closingContext(ctx, settleTimeout)
	defer cancel()
	switch {
	case lost:
		s.log("%s: %v", t.title(), errNotOurs)
		if r, _, err := s.w.Queue.read(end, t.key); err == nil && r.State.isFinal() {
			s.removeMessage(end, m, t.key)
		}
	case err == nil:
		s.log("%s: done in %v", t.title(), time.Since(began).Round(time.Millisecond))
		_ = m.DoubleAck(end)
	case ctx.Err() != nil:
		s.log("%s: back into the queue", t.title())
		t.set(end, func(r *record) { r.State, r.Text = Queued, "" })
		_ = m.Nak()
	default:
		s.fail(end, m, t, err)
	}
}

// fail counts a try, and gives the job up or back.
func (s *session) fail(ctx context.Context, m jetstream.Msg, t *task, err error) {
	t.set(ctx, func(r *record) {
		r.Tries++
		r.State, r.Text, r.Error = Queued, "", shorten(err.Error())
		if r.Tries >= s.w.Queue.o.Tries {
			r.State = Failed
		}
	})
	s.log("%s: try %d failed: %v", t.title(), t.record.Tries, err)
	if t.record.State == Failed {
		s.removeMessage(ctx, m, t.key)
		return
	}
	_ = m.NakWithDelay(retryDelay(t.record.Tries))
}

// retryDelay is how long a job that failed waits for its next try: half a second, twice as
// long each time, at most 15 seconds.
func retryDelay(tries int) time.Duration { return min(time.Second<<min(tries, 6), time.Minute) / 4 }
