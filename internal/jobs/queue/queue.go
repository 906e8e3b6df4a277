package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/base/critical"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// Options describe a queue. The zero value of each field except URL is the stated
// default.
type Options struct {
	// URL lists the servers: "nats://host:4222,nats://other:4222", tls:// for
	// encrypted connections. A user and a password, or a token, may precede the
	// host.
	URL string
	// Credentials is a file of NATS credentials (.creds). CA is a file of certificates that may sign those of the
	// servers. Cert and Key are the files of this client's own certificate and key. All three are PEM files.
	Credentials, CA, Cert, Key string
	// Secret, if set, signs jobs, checkpoints and results (HMAC-SHA256). Workers refuse jobs, and leaders refuse
	// results, that are not signed with it. Whoever may write to the queue without knowing the secret can then only
	// prevent work, not choose or change it. See ReadSecret.
	Secret []byte
	// Name is the name of the queue, as servers may have several: small letters, digits and dashes
	// (default "kindred").
	Name string
	// Lane names the program and the instruction set that determine the bits of results; see the
	// package comment.
	Lane string
	// Lease is the longest silence of a worker before its job is given to another one
	// (default 30 s). The first process that connects to a new queue sets it for all.
	Lease time.Duration
	// Tries is how often a job may fail (default 3), Losses how many workers may die
	// on it (default 10).
	Tries, Losses int
	// Keep is how long states, results and files are kept after their last change
	// (default a week).
	Keep time.Duration
	// Report, if set, is called at every change of a job of Run, possibly by several goroutines
	// at a time.
	Report func(Status)
	// Log, if set, is called with lines about lost and restored connections.
	Log func(line string)
}

// Queue is a connection to a queue. It may be used by several goroutines.
type Queue struct {
	o       Options
	conn    *nats.Conn
	js      jetstream.JetStream
	todo    jetstream.Stream
	states  jetstream.KeyValue // job.KEY, state.KEY
	objects jetstream.ObjectStore
	stored  jetstream.Stream // that of objects
	lane    string           // digest of Options.Lane
}

var _ interface {
	jobs.Runner
	jobs.Files
} = (*Queue)(nil)

const (
	defaultName   = "kindred"
	defaultLease  = 30 * time.Second
	defaultTries  = 3
	defaultLosses = 10
	defaultKeep   = 7 * 24 * time.Hour
	// settleTimeout is the time limit for a cluster to agree on new streams.
	settleTimeout = 60 * time.Second
	// missingTimeout is how long a stream, bucket or consumer may be unknown to the servers before it counts as
	// removed. The servers of a cluster learn of a new one, and after a restart of an old one, one after the
	// other.
	missingTimeout = 30 * time.Second
	// answerTimeout is how long a request waits for its answer. A request without an answer is sent again; requests to
	// a server that stops leading are lost, for example.
	answerTimeout = 5 * time.Second
)

// Connect connects to a queue, and makes the queue if it does not exist. It waits up to a minute for servers
// that are starting.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	o.Name, o.Lease = cmp.Or(o.Name, defaultName), cmp.Or(o.Lease, defaultLease)
	o.Tries, o.Losses = cmp.Or(o.Tries, defaultTries), cmp.Or(o.Losses, defaultLosses)
	o.Keep = cmp.Or(o.Keep, defaultKeep)
	if strings.Trim(o.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(o.Name) > 64 {
		return nil, fmt.Errorf("queue name %.80q: want at most 64 small letters, digits and dashes", o.Name)
	}
	sum := sha256.Sum256([]byte(o.Lane))
	q := &Queue{o: o, lane: hex.EncodeToString(sum[:6])}
	if err := q.connect(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := retry(ctx, q.prepare); err != nil {
		q.conn.Close()
		if isTemporary(err) {
			err = fmt.Errorf("its servers do not agree on streams (%w); are most of them up, and do they reach each "+
				"other?", err)
		}
		return nil, fmt.Errorf("the queue %s: %w", o.where(), err)
	}
	return q, nil
}

// where returns the URL without passwords and tokens.
func (o *Options) where() string {
	var shown []string
	for u := range strings.SplitSeq(o.URL, ",") {
		scheme, rest, ok := strings.Cut(strings.TrimSpace(u), "://")
		if !ok {
			scheme, rest = "nats", scheme
		}
		shown = append(shown, scheme+"://"+rest[strings.LastIndex(rest, "@")+1:])
	}
	return strings.Join(shown, ",")
}

func (q *Queue) connect() error {
	o := &q.o
	log := func(format string, args ...any) {
		if o.Log != nil {
			o.Log(fmt.Sprintf(format, args...))
		}
	}
	opts := []nats.Option{nats.Name("kindred"), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.RetryOnFailedConnect(false), nats.Timeout(5 * time.Second), nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log("the connection to the queue is lost (%v); trying again", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log("the queue can be reached again") }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the failing calls return these errors
	}
	for _, f := range []struct {
		name   string
		option func() nats.Option
	}{
		{o.Credentials, func() nats.Option { return nats.UserCredentials(o.Credentials) }},
		{o.CA, func() nats.Option { return nats.RootCAs(o.CA) }},
		{o.Cert, func() nats.Option { return nats.ClientCert(o.Cert, cmp.Or(o.Key, o.Cert)) }},
	} {
		if f.name == "" {
			continue
		}
		if _, err := os.Stat(f.name); err != nil {
			return err
		}
		opts = append(opts, f.option())
	}
	var err error
	if q.conn, err = nats.Connect(o.URL, opts...); err != nil {
		return connectError(fmt.Errorf("the queue %s cannot be reached: %w", o.where(), err))
	}
	q.js, err = jetstream.New(q.conn, jetstream.WithDefaultTimeout(answerTimeout))
	return err
}

// connectError adds advice to an error of connecting.
func connectError(err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, nats.ErrAuthorization), strings.Contains(text, "uthorization"),
		strings.Contains(text, "uthentication"):
		return option.Errorf("%w; give a user or a token in the URL, or a file of credentials by %s", err,
			option.Option("queue.Options.Credentials"))
	case strings.Contains(text, "x509"), strings.Contains(text, "tls"), strings.Contains(text, "secure"):
		return option.Errorf("%w; give the servers' certificates by %s, and your own by %s and %s if they ask for it",
			err, option.Option("queue.Options.CA"), option.Option("queue.Options.Cert"),
			option.Option("queue.Options.Key"))
	}
	return err
}

// prepare finds or makes the streams.
func (q *Queue) prepare(ctx context.Context) error {
	name, replicas := q.o.Name, replicas(len(q.conn.Servers()))
	var err error
	if q.todo, err = q.js.Stream(ctx, name+"-todo"); errors.Is(err, jetstream.ErrStreamNotFound) {
		q.todo, err = q.js.CreateStream(ctx, jetstream.StreamConfig{Name: name + "-todo",
			Subjects:    []string{name + ".todo.>"},
			Description: "jobs of kindred that have no result yet", Retention: jetstream.WorkQueuePolicy,
			Storage: jetstream.FileStorage, Replicas: replicas,
			// The stream has each job only once.
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1})
		if isAlreadyMade(err) {
			q.todo, err = q.js.Stream(ctx, name+"-todo")
		}
	}
	if err != nil {
		return explainError(err)
	}
	if _, err = q.js.KeyValue(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name,
			Description: "states of the jobs", Storage: jetstream.FileStorage, Replicas: replicas, TTL: q.o.Keep})
	}
	if err == nil || isAlreadyMade(err) {
		err = q.readFromLeader(ctx, "KV_"+name)
	}
	if err == nil {
		q.states, err = q.js.KeyValue(ctx, name)
	}
	if err != nil {
		return explainError(err)
	}
	if _, err = q.js.ObjectStore(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = q.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name,
			Description: "files, checkpoints and results of the jobs", Storage: jetstream.FileStorage,
			Replicas: replicas, TTL: q.o.Keep})
	}
	if err == nil || isAlreadyMade(err) {
		err = q.readFromLeader(ctx, "OBJ_"+name)
	}
	if err == nil {
		q.objects, err = q.js.ObjectStore(ctx, name)
	}
	if err == nil {
		q.stored, err = q.js.Stream(ctx, "OBJ_"+name) // as current has left it: read from its leader
	}
	return explainError(err)
}

// replicas is the number of servers that store the queue: with three, one may fail.
func replicas(servers int) int {
	if servers >= 3 {
		return 3
	}
	return 1
}

// isAlreadyMade reports whether another process has made the stream or bucket in the meantime.
func isAlreadyMade(err error) bool {
	return errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse)
}

// readFromLeader makes reads of a bucket's stream go only to its leader. By default they go to any replica,
// and a replica that was just restarted lacks recent data for a while.
func (q *Queue) readFromLeader(ctx context.Context, stream string) error {
	s, err := q.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	cfg := s.CachedInfo().Config
	if !cfg.AllowDirect {
		return nil
	}
	cfg.AllowDirect = false
	_, err = q.js.UpdateStream(ctx, cfg)
	return err
}

// explainError adds an explanation to errors with unclear texts.
func explainError(err error) error {
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("%w: start the servers with JetStream (nats-server -js)", err)
	}
	return err
}

// noPeers is the error code of a cluster that has not found all of its servers yet.
const noPeers jetstream.ErrorCode = 10005

// errorCodes returns the status and the number of an error that servers answered with. The
// client has two types for them: that of watching and of reading objects is the older one.
func errorCodes(err error) (status int, number jetstream.ErrorCode) {
	var api jetstream.JetStreamError
	var older nats.JetStreamError
	switch {
	case errors.As(err, &api) && api.APIError() != nil:
		return api.APIError().Code, api.APIError().ErrorCode
	case errors.As(err, &older) && older.APIError() != nil:
		return older.APIError().Code, jetstream.ErrorCode(older.APIError().ErrorCode)
	}
	return 0, 0
}

// isTemporary reports whether an error may be temporary, such as those of a cluster that is
// electing a leader.
func isTemporary(err error) bool {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrAsyncPublishTimeout),
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrNoServers):
		return true
	}
	status, number := errorCodes(err)
	return status == 503 || status == 500 || number == noPeers
}

// isAbsent reports whether the servers do not know a stream, a bucket or a consumer.
func isAbsent(err error) bool {
	_, number := errorCodes(err)
	return number == jetstream.JSErrCodeStreamNotFound || number == jetstream.JSErrCodeConsumerNotFound ||
		errors.Is(err, jetstream.ErrBucketNotFound)
}

// orAbsentError returns an error of writing to a stream. Servers do not answer at all
// without the stream; then the error says that the stream is missing.
func (q *Queue) orAbsentError(ctx context.Context, stream string, err error) error {
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		if _, why := q.js.Stream(ctx, stream); isAbsent(why) {
			return why
		}
	}
	return err
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// withoutDeadline returns a context that ends with ctx but has no deadline. The client gives a request all the time
// until the deadline of its context; it uses its own limit, answer, only without a deadline.
func withoutDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return inner, func() { stop(); cancel(nil) }
}

// closingContext returns a context for what a worker still writes when ctx ends: checkpoints, results and
// the job that it gives back. It is a critical section of at most most. Once ctx has ended it goes on only
// while the servers are connected: without them nothing is written, and the lease gives the job to another worker.
func (q *Queue) closingContext(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	end := critical.Begin(ctx, most)
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	stop := context.AfterFunc(ctx, func() {
		for q.conn.IsConnected() && sleep(inner, 50*time.Millisecond) {
		}
		cancel()
	})
	return inner, func() { stop(); cancel(); end() }
}

// retry repeats f after temporary errors, until ctx ends. Requests of f with its context have the time limit
// answer. A stream that the servers do not know may be new, so this becomes an error only after the time
// missing.
func retry(ctx context.Context, f func(context.Context) error) error {
	request, cancel := withoutDeadline(ctx)
	defer cancel()
	var since time.Time // time since when the stream is unknown
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := f(request)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return ctx.Err() // request ends only by cancellation
		}
		switch {
		case ctx.Err() != nil:
			return err
		case !isAbsent(err):
			since = time.Time{}
			if !isTemporary(err) {
				return err
			}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= missingTimeout:
			return fmt.Errorf("part of the queue is missing on its servers (%w): if it was removed, start "+
				"the commands that use the queue again", err)
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// Close ends the connection.
func (q *Queue) Close() { q.conn.Close() }

func (q *Queue) subject(key string) string { return q.o.Name + ".todo." + q.lane + "." + key }
