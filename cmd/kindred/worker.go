package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
)

func newWorker(a *console.Console) *cobra.Command {
	var f queues.Flags
	var w queue.Worker
	var l queue.Launch
	var launcher, dir string
	var allow []string
	var outside bool
	cmd := &cobra.Command{
		Use:   "worker --queue URL",
		Short: "Do jobs of a queue: runs of experiments and sweeps, shards of photos",
		Long: `worker takes jobs from a queue, one after the other, and does them until it is
stopped. It holds a lease on its job. If it is silent for half a minute, another
worker takes the job over and goes on from the last checkpoint, with bit-identical
results. Ctrl-C or SIGTERM makes it save its checkpoint and give the job back.

A worker reads data sets by name from --data-dir. Of the files and addresses that
jobs name it reads only those of --allow. With --queue-secret it does only jobs that
are signed with the same secret.

A worker does only jobs of its own build and instruction set, because the bits of a
result depend on both. KINDRED_ISA=avx2 makes different machines compatible.

--launch starts no worker. It writes an array job of Slurm, or an Indexed Job of
Kubernetes, that starts --count workers, to standard output.`,
		Example: `  kindred worker --queue nats://a:4222,b:4222,c:4222
  kindred worker --queue queue/ --allow /data/photos --most 1
  kindred worker --queue tls://nats:4222 --queue-creds me.creds --launch slurm --count 8`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.CheckAtLeast("jobs", w.Parallel, 1); err != nil {
				return err
			}
			if launcher != "" {
				return launchWorkers(a, launcher, &f, l, w.Idle, allow, outside)
			}
			allowed, err := shards.NewAllowed(allow, outside)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			return runWorker(cmd.Context(), a, &f, &w, dir, allowed)
		},
	}
	fs := flags.New(cmd)
	f.Add(cmd)
	fs.IntVar(&w.Parallel, "jobs", 1, "jobs at a time; a single job already uses all cores")
	fs.IntVar(&w.MaxJobs, "most", 0, "end after this many jobs; 0: never")
	fs.DurationVar(&w.Idle, "idle", 0, "end after waiting this long for a job, such as 10m; 0: never")
	fs.Complete("idle", complete.Words("10m", "1h"))
	fs.DurationVar(&f.Lease, "lease", 0, "longest silence of a worker before its job is given to another; the "+
		"first worker of a queue sets it (default 30s)")
	fs.Complete("lease", complete.Words("30s", "2m"))
	fs.Text(&w.Name, "name", "", "name that others see (default: the host and the process id)", complete.Nothing)
	fs.Text(&dir, "dir", "", "folder for jobs in progress (default: the system's folder for temporary files)",
		complete.Folders)
	fs.DataDir(&f.DataDir)
	fs.Repeated(&allow, "allow", "folder, file or beginning of an address (s3://, https://) that jobs may "+
		"read; may be repeated (default: only --data-dir)", complete.Files)
	fs.BoolVar(&outside, "outside", false, "allow manifests and lists of jobs to name images outside their folder")
	fs.Text(&launcher, "launch", "", "write a job that starts workers, then end: slurm or kubernetes",
		complete.Words("slurm", "kubernetes"))
	fs.IntVar(&l.Count, "count", 1, "with --launch: number of workers")
	fs.Text(&l.Image, "image", "", "with --launch kubernetes: container image that contains kindred", complete.Nothing)
	fs.IntVar(&l.Cores, "cores", 0, "with --launch: cores of a worker; 0: the cluster's default")
	fs.Text(&l.Memory, "memory-of-worker", "", "with --launch: memory of a worker in the cluster's form, such "+
		"as 8G or 8Gi", complete.Words("8G", "16G"))
	return cmd
}

// launchedIdle is how long a worker of a batch system waits for a job before it ends, as waiting costs money.
const launchedIdle = 10 * time.Minute

// launchWorkers writes the job that starts workers like this one.
func launchWorkers(a *console.Console, launcher string, f *queues.Flags, l queue.Launch, idle time.Duration,
	allow []string, outside bool) error {
	if f.Queue == "" || f.IsFolder() {
		return cli.Usagef("--launch needs --queue nats://HOST:PORT,...: other machines cannot reach a folder of this " +
			"machine")
	}
	for _, s := range [][2]string{{"--queue", f.Queue}, {"--queue-name", f.Name}, {"--queue-creds", f.Creds},
		{"--queue-ca", f.CA}, {"--queue-cert", f.Cert}, {"--queue-key", f.Key}, {"--queue-secret", f.Secret},
		{"--data-dir", f.DataDir}} {
		if s[1] != "" {
			l.Args = append(l.Args, s[0], s[1])
		}
	}
	for _, root := range allow {
		l.Args = append(l.Args, "--allow", root)
	}
	if outside {
		l.Args = append(l.Args, "--outside")
	}
	if idle <= 0 {
		idle = launchedIdle
	}
	l.Args = append(l.Args, "--idle", idle.String())
	text, err := l.File(launcher)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	_, err = io.WriteString(a.Raw, text)
	return err
}

func runWorker(ctx context.Context, a *console.Console, f *queues.Flags, w *queue.Worker, dir string,
	allowed shards.Allowed) error {
	q, err := f.Open(ctx, a, nil)
	if err != nil {
		return err
	}
	defer q.Close()
	kit := f.NewKit(a)
	defer kit.Close()
	kit.Allow = allowed
	if dir != "" {
		if kit.Dir, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	w.Queue, w.Kinds = q.Queue, kit.Kinds()
	w.Log = func(line string) { fmt.Fprintln(a.Err, time.Now().Format(time.TimeOnly), line) }
	fmt.Fprintln(a.Err, "kindred: waiting for jobs")
	err = w.Work(ctx)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the worker gave its jobs back: %w", err)
	}
	return err
}
