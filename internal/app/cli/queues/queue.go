// Package queues opens the queue of jobs that the flags of a command name.
package queues

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
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
	"github.com/kindred-ml/kindred/run"
)

// SecretEnv is the environment variable that names the file of --queue-secret.
const SecretEnv = "KINDRED_QUEUE_SECRET"

// Flags say where a queue of jobs is.
type Flags struct {
	Queue, Name          string
	Creds, CA, Cert, Key string
	Secret               string
	workers              int
	Lease                time.Duration
	DataDir              string
}

// Add adds the flags of every command that uses a queue.
func (f *Flags) Add(cmd *cobra.Command) {
	fs := flags.New(cmd)
	fs.Text(&f.Queue, "queue", "", "queue of jobs: nats://HOST:PORT,... for a NATS cluster with JetStream, or "+
		"a folder, whose server runs in this or another process of this machine", complete.Folders)
	fs.Text(&f.Name, "queue-name", "", "name of the queue, as servers may have several (default kindred)",
		complete.Nothing)
	fs.Text(&f.Creds, "queue-creds", "", "file of NATS credentials (.creds)", complete.Files)
	fs.Text(&f.CA, "queue-ca", "", "certificates that may sign those of the queue's servers (.pem)", complete.Files)
	fs.Text(&f.Cert, "queue-cert", "", "certificate of this client, if the servers ask for one (.pem)", complete.Files)
	fs.Text(&f.Secret, "queue-secret", "", "file with a secret that signs jobs and results: "+
		"workers with the secret do only signed jobs (default $"+SecretEnv+")", complete.Files)
	fs.Text(&f.Key, "queue-key", "", "private key of --queue-cert (.pem)", complete.Files)
}

// AddLeader adds the flags of a command that submits jobs with --queue. Without --queue the others are refused.
func (f *Flags) AddLeader(cmd *cobra.Command) {
	f.Add(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		const all = "queue-name queue-creds queue-ca queue-cert queue-key queue-secret workers shard"
		return flags.Check(cmd, "", flags.When(all, true, "queue", "it applies to the jobs of a queue"))
	}
	cmd.Flags().IntVar(&f.workers, "workers", -1, "jobs of the queue that this process does itself at a time "+
		"(default: 1 if --queue is a folder, else 0)")
}

// ShareFlags share the embedding of photos among the workers of a queue.
type ShareFlags struct {
	Flags
	shard int
}

// Add adds the flags.
func (f *ShareFlags) Add(cmd *cobra.Command) {
	f.AddLeader(cmd)
	flags.New(cmd).IntVar(&f.shard, "shard", 1024, "with --queue: samples of a job, rounded up to whole batches")
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		return cmp.Or(check(cmd, args), flags.CheckAtLeast("shard", f.shard, 1))
	}
}

// Share opens the queue, whose workers then embed d with m. source names d and dataDir the folder of sets by name. end
// closes the queue.
func (f *ShareFlags) Share(ctx context.Context, a *console.Console, m *run.Model, d *data.Dataset, source shards.Source,
	dataDir string) (s *shards.SharedDataset, end func(), err error) {
	f.DataDir, source.Data = dataDir, sharedPath(source.Data)
	q, err := f.OpenAsLeader(ctx, a, f.NewKit(a))
	if err != nil {
		return nil, nil, err
	}
	s, err = shards.NewSharedDataset(ctx, m, d, source, shards.ShardOptions{Rows: f.shard,
		Strict: m.Config.Data.Strict}, q)
	if err != nil {
		q.Close()
	}
	return s, q.Close, err
}

// CommandWords returns the flags as words of a command line, if there is a queue.
func (f *ShareFlags) CommandWords() []string {
	var out []string
	for _, g := range [][2]string{{"queue", f.Queue}, {"queue-name", f.Name}, {"queue-creds", f.Creds},
		{"queue-ca", f.CA}, {"queue-cert", f.Cert}, {"queue-key", f.Key}, {"queue-secret", f.Secret}} {
		if g[1] != "" {
			out = append(out, "--"+g[0], g[1])
		}
	}
	if f.Queue != "" {
		out = append(out, "--shard", strconv.Itoa(f.shard))
	}
	return out
}

// IsFolder reports whether the queue is in a folder rather than at an address.
func (f *Flags) IsFolder() bool { return !strings.Contains(f.Queue, "://") }

// openQueue is a queue with what belongs to it.
type openQueue struct {
	*queue.Queue
	Close func()
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

// Open connects to the queue. If no process serves the folder of a queue, it starts the
// server.
func (f *Flags) Open(ctx context.Context, a *console.Console, report func(queue.Status)) (*openQueue, error) {
	if f.Queue == "" {
		return nil, cli.Usagef("missing --queue: nats://HOST:PORT,... or a folder")
	}
	v := version.Current()
	o := queue.Options{URL: f.Queue, Name: f.Name, Lease: f.Lease, Credentials: f.Creds, CA: f.CA,
		Cert: f.Cert, Key: f.Key, Report: report,
		Lane: strings.Join([]string{v.Version, v.Commit, v.Go, v.Platform, v.ISA}, " "),
		Log:  func(line string) { fmt.Fprintln(a.Err, "kindred: "+escape.Name(escape.Message(line))) }}
	if secret := cmp.Or(f.Secret, os.Getenv(SecretEnv)); secret != "" {
		var err error
		if o.Secret, err = queue.ReadSecret(secret); err != nil {
			return nil, fmt.Errorf("--queue-secret: %w", err)
		}
	}
	if server := o.InsecureServer(); server != "" && !f.IsFolder() {
		fmt.Fprintf(a.Err, "kindred: warning: %s does not authenticate clients: whoever reaches it reads everything "+
			"that goes through the queue and controls the workers. Use tls:// with --queue-creds or --queue-cert, and "+
			"--queue-secret\n", escape.Text(server))
	}
	end := func() {}
	if f.IsFolder() {
		s, err := natsserver.Serve(f.Queue)
		var held *lock.HeldError
		switch {
		case err == nil:
			o.URL, end = s.URL(), func() { _ = s.Close() } // its data is on disk already
			for _, line := range s.Repaired {
				o.Log("warning: " + line)
			}
		case errors.As(err, &held):
			if o.URL, err = natsserver.URL(f.Queue); err != nil {
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
	return &openQueue{Queue: q, Close: func() { q.Close(); end() }}, nil
}

// OpenAsLeader opens the queue for a command that submits jobs, and may do jobs in the same process.
func (f *Flags) OpenAsLeader(ctx context.Context, a *console.Console, kit *shards.WorkerKit) (*openQueue, error) {
	q, err := f.Open(ctx, a, NewJobPrinter(a))
	if err != nil {
		return nil, err
	}
	n := f.workers
	if n < 0 && f.IsFolder() {
		n = 1
	}
	if n <= 0 {
		fmt.Fprintln(a.Err, "kindred: start workers with 'kindred worker --queue ...'; 'kindred jobs' shows the jobs")
		return q, nil
	}
	q.kit = kit
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		// The jobs report failures; this ends with ctx.
		_ = (&queue.Worker{Queue: q.Queue, Kinds: kit.Kinds(), Parallel: n}).Work(ctx)
	})
	inner := q.Close
	q.Close = func() { stop(); wg.Wait(); kit.Close(); inner() }
	return q, nil
}

// NewJobPrinter prints a line when a job has ended or has failed once.
func NewJobPrinter(a *console.Console) func(queue.Status) {
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
			fmt.Fprintln(a.Err, line)
		}
	}
}

// NewKit returns what this process does jobs with.
func (f *Flags) NewKit(a *console.Console) *shards.WorkerKit {
	k := &shards.WorkerKit{Home: inputs.DataFolder(f.DataDir), Formats: cli.EmbeddingFormats(), Open: remotedata.Open,
		Weights: inputs.FindWeights(a, cli.WeightsFlags{})}
	k.FetchData = func(ctx context.Context, e *paper.Experiment,
		o paper.Options) error {
		return inputs.FetchData(ctx, a, e, o)
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
