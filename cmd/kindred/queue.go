package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
	"github.com/kindred-ml/kindred/run"
)

// secretEnv is the environment variable that names the file of --queue-secret.
const secretEnv = "KINDRED_QUEUE_SECRET"

// queueFlags say where a queue of jobs is.
type queueFlags struct {
	queue, name          string
	creds, ca, cert, key string
	secret               string
	workers              int
	lease                time.Duration
	dataDir              string
}

// add adds the flags of every command that uses a queue.
func (f *queueFlags) add(cmd *cobra.Command) {
	fs := newFlags(cmd)
	fs.text(&f.queue, "queue", "", "queue of jobs: nats://HOST:PORT,... for a NATS cluster with JetStream, or "+
		"a folder, whose server runs in this or another process of this machine", completeFolders)
	fs.text(&f.name, "queue-name", "", "name of the queue, as servers may have several (default kindred)",
		completeNothing)
	fs.text(&f.creds, "queue-creds", "", "file of NATS credentials (.creds)", completeFiles)
	fs.text(&f.ca, "queue-ca", "", "certificates that may sign those of the queue's servers (.pem)", completeFiles)
	fs.text(&f.cert, "queue-cert", "", "certificate of this client, if the servers ask for one (.pem)", completeFiles)
	fs.text(&f.secret, "queue-secret", "", "file with a secret that signs jobs and results: "+
		"workers with the secret do only signed jobs (default $"+secretEnv+")", completeFiles)
	fs.text(&f.key, "queue-key", "", "private key of --queue-cert (.pem)", completeFiles)
}

// addLeader adds the flags of a command that submits jobs with --queue. Without --queue the others are refused.
func (f *queueFlags) addLeader(cmd *cobra.Command) {
	f.add(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		const flags = "queue-name queue-creds queue-ca queue-cert queue-key queue-secret workers shard"
		return checkRules(cmd, "", flagRule{flags, true, "queue", "it applies to the jobs of a queue"})
	}
	cmd.Flags().IntVar(&f.workers, "workers", -1, "jobs of the queue that this process does itself at a time "+
		"(default: 1 if --queue is a folder, else 0)")
}

// shareFlags share the embedding of photos among the workers of a queue.
type shareFlags struct {
	queueFlags
	shard int
}

// add adds the flags.
func (f *shareFlags) add(cmd *cobra.Command) {
	f.addLeader(cmd)
	newFlags(cmd).IntVar(&f.shard, "shard", 1024, "with --queue: samples of a job, rounded up to whole batches")
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		return cmp.Or(check(cmd, args), checkAtLeast("shard", f.shard, 1))
	}
}

// share opens the queue, whose workers then embed d with m. source names d and dataDir the folder of sets by name. end
// closes the queue.
func (f *shareFlags) share(ctx context.Context, a *app, m *run.Model, d *data.Dataset, source shards.Source,
	dataDir string) (s *shards.SharedDataset, end func(), err error) {
	f.dataDir, source.Data = dataDir, sharedPath(source.Data)
	q, err := f.openAsLeader(ctx, a, f.newKit(a))
	if err != nil {
		return nil, nil, err
	}
	s, err = shards.NewSharedDataset(ctx, m, d, source, shards.ShardOptions{Rows: f.shard,
		Strict: m.Config.Data.Strict}, q)
	if err != nil {
		q.close()
	}
	return s, q.close, err
}

// commandWords returns the flags as words of a command line, if there is a queue.
func (f *shareFlags) commandWords() []string {
	var out []string
	for _, g := range [][2]string{{"queue", f.queue}, {"queue-name", f.name}, {"queue-creds", f.creds},
		{"queue-ca", f.ca}, {"queue-cert", f.cert}, {"queue-key", f.key}, {"queue-secret", f.secret}} {
		if g[1] != "" {
			out = append(out, "--"+g[0], g[1])
		}
	}
	if f.queue != "" {
		out = append(out, "--shard", strconv.Itoa(f.shard))
	}
	return out
}

// isFolder reports whether the queue is in a folder rather than at an address.
func (f *queueFlags) isFolder() bool { return !strings.Contains(f.queue, "://") }

// openQueue is a queue with what belongs to it.
type openQueue struct {
	*queue.Queue
	close func()
	kit   *shards.WorkerKit // what this process does jobs with; nil if it does none
}

// Run runs jobs on the queue. This process may read every file that these jobs name, because its
// own command line named them.
func (o *openQueue) Run(ctx context.Context, list []jobs.Job) ([]jobs.Result, error) {
	if o.kit != nil {
		o.kit.RegisterOwn(list)
	}
	return o.Queue.Run(ctx, list)
}

// open connects to the queue. If no process serves the folder of a queue, it starts the
// server.
func (f *queueFlags) open(ctx context.Context, a *app, report func(queue.Status)) (*openQueue, error) {
	if f.queue == "" {
		return nil, usagef("missing --queue: nats://HOST:PORT,... or a folder")
	}
	v := currentVersion()
	o := queue.Options{URL: f.queue, Name: f.name, Lease: f.lease, Credentials: f.creds, CA: f.ca,
		Cert: f.cert, Key: f.key, Report: report,
		Lane: strings.Join([]string{v.Version, v.Commit, v.Go, v.Platform, v.ISA}, " "),
		Log:  func(line string) { fmt.Fprintln(a.err, "kindred: "+escape.Name(escape.Message(line))) }}
	if secret := cmp.Or(f.secret, os.Getenv(secretEnv)); secret != "" {
		var err error
		if o.Secret, err = queue.ReadSecret(secret); err != nil {
			return nil, fmt.Errorf("--queue-secret: %w", err)
		}
	}
	if server := o.InsecureServer(); server != "" && !f.isFolder() {
		fmt.Fprintf(a.err, "kindred: warning: %s does not authenticate clients: whoever reaches it reads everything "+
			"that goes through the queue and controls the workers. Use tls:// with --queue-creds or --queue-cert, and "+
			"--queue-secret\n", escape.Text(server))
	}
	end := func() {}
	if f.isFolder() {
		s, err := natsserver.Serve(f.queue)
		var held *lock.HeldError
		switch {
		case err == nil:
			o.URL, end = s.URL(), func() { _ = s.Close() } // its data is on disk already
			for _, line := range s.Repaired {
				o.Log("warning: " + line)
			}
		case errors.As(err, &held):
			if o.URL, err = natsserver.URL(f.queue); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	q, err := queue.Connect(ctx, o)
	if err != nil {
		end()
		return nil, err
	}
	return &openQueue{Queue: q, close: func() { q.Close(); end() }}, nil
}

// openAsLeader opens the queue for a command that submits jobs, and may do jobs in the same process.
func (f *queueFlags) openAsLeader(ctx context.Context, a *app, kit *shards.WorkerKit) (*openQueue, error) {
	q, err := f.open(ctx, a, a.newJobPrinter())
	if err != nil {
		return nil, err
	}
	n := f.workers
	if n < 0 && f.isFolder() {
		n = 1
	}
	if n <= 0 {
		fmt.Fprintln(a.err, "kindred: start workers with 'kindred worker --queue ...'; 'kindred jobs' shows the jobs")
		return q, nil
	}
	q.kit = kit
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		// The jobs report failures; this ends with ctx.
		_ = (&queue.Worker{Queue: q.Queue, Kinds: kit.Kinds(), Parallel: n}).Work(ctx)
	})
	inner := q.close
	q.close = func() { stop(); wg.Wait(); kit.Close(); inner() }
	return q, nil
}

// newJobPrinter prints a line when a job has ended or has failed once.
func (a *app) newJobPrinter() func(queue.Status) {
	var mu sync.Mutex
	told := map[string]string{}
	return func(s queue.Status) {
		line := fmt.Sprintf("%s: %v", escape.Line(s.Title), s.State)
		switch {
		case s.State == queue.Running && s.Losses > 0:
			line += fmt.Sprintf(" by %s, after %d lost workers", escape.Line(s.Worker), s.Losses)
		case s.State == queue.Running:
			line += " by " + escape.Line(s.Worker)
		case s.State == queue.Queued && s.Tries == 0:
			return
		case s.Text != "":
			line += ": " + escape.Name(escape.Message(s.Text))
		}
		mu.Lock()
		defer mu.Unlock()
		if told[s.Key] != line {
			told[s.Key] = line
			fmt.Fprintln(a.err, line)
		}
	}
}

// newKit returns what this process does jobs with.
func (f *queueFlags) newKit(a *app) *shards.WorkerKit {
	k := &shards.WorkerKit{Home: dataFolder(f.dataDir), Formats: embeddingFormats(), Open: remotedata.Open,
		Weights: a.findWeights(cli.WeightsFlags{})}
	k.FetchData = func(ctx context.Context, e *paper.Experiment,
		o paper.Options) error {
		return fetchData(ctx, a, e, o)
	}
	return k
}

// sharedPath returns a path in the form that other machines with the same files need.
func sharedPath(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path // a name, or an address
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
