package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/cli/work"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
)

func newWorker(a *app) *cobra.Command {
	var f queueFlags
	var w queue.Worker
	var l queue.Launch
	var launcher, dir string
	var allow []string
	var outside bool
	cmd := &cobra.Command{
		Use:   "worker --queue URL",
		Short: "Do jobs of a queue: runs of experiments and sweeps, shards of embed",
		Long: `worker takes jobs from a queue, one after the other, and does them until it is
stopped. While it does one it keeps a lease; when it falls silent for half a
minute, another worker takes the job over and goes on from its last checkpoint,
to the same bits. Stopped by Ctrl-C or SIGTERM it hands its checkpoint on and
gives the job back.

It reads data sets by name, from --data-dir, and of files and addresses that jobs
name only what --allow does; and with --queue-secret it does only jobs that are
signed with the same secret.

It does the jobs of its own program and instruction set only, because the bits of
a result depend on both: KINDRED_ISA=avx2 makes machines equal.

With --launch it starts nothing: it writes the array job of Slurm, or the Indexed
Job of Kubernetes, that starts --count of such workers, on standard output.`,
		Example: `  kindred worker --queue nats://a:4222,b:4222,c:4222
  kindred worker --queue queue/ --allow /data/photos --most 1
  kindred worker --queue tls://nats:4222 --queue-creds me.creds --launch slurm --count 8`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := atLeast("jobs", w.N, 1); err != nil {
				return err
			}
			if launcher != "" {
				return launchWorkers(a, launcher, &f, l, w.Idle, allow, outside)
			}
			allowed, err := work.NewAllowed(allow, outside)
			if err != nil {
				return usageError(err)
			}
			return runWorker(cmd.Context(), a, &f, &w, dir, allowed)
		},
	}
	fs := flagsOf(cmd)
	f.add(cmd)
	fs.IntVar(&w.N, "jobs", 1, "jobs at a time; one already uses all cores")
	fs.IntVar(&w.Most, "most", 0, "end after that many jobs; 0: go on")
	fs.DurationVar(&w.Idle, "idle", 0, "end when no job has come for that long, such as 10m; 0: wait")
	fs.complete("idle", words("10m", "1h"))
	fs.DurationVar(&f.lease, "lease", 0, "how long a worker may be silent before its job is given to another; the "+
		"first worker of a queue decides (default 30s)")
	fs.complete("lease", words("30s", "2m"))
	fs.text(&w.Name, "name", "", "what others see of it (default: the host and the number of the process)", nothing)
	fs.text(&dir, "dir", "", "folder for what is under way (default: the system's for temporary files)", folders)
	fs.dataDir(&f.dataDir)
	fs.repeated(&allow, "allow", "folder or file, or beginning of an address (s3://, https://), that jobs "+
		"may have read; may be repeated (default: nothing but what is in --data-dir)", anyFile)
	fs.BoolVar(&outside, "outside", false, "let the manifests and lists of jobs name images outside their folder")
	fs.text(&launcher, "launch", "", "write what starts workers and end: slurm or kubernetes",
		words("slurm", "kubernetes"))
	fs.IntVar(&l.Count, "count", 1, "--launch: number of workers")
	fs.text(&l.Image, "image", "", "--launch kubernetes: the container image with kindred in it", nothing)
	fs.IntVar(&l.Cores, "cores", 0, "--launch: cores of a worker; 0: as the cluster has it")
	fs.text(&l.Memory, "memory-of-worker", "", "--launch: memory of a worker as the cluster writes it, such "+
		"as 8G or 8Gi", words("8G", "16G"))
	return cmd
}

// idleOfLaunched is when a worker that a batch system started ends: it costs while it waits.
const idleOfLaunched = 10 * time.Minute

// launchWorkers writes what starts workers like this one.
func launchWorkers(a *app, launcher string, f *queueFlags, l queue.Launch, idle time.Duration, allow []string,
	outside bool) error {
	if f.queue == "" || f.folder() {
		return usagef("--launch needs --queue nats://HOST:PORT,...: workers elsewhere reach no folder of this machine")
	}
	for _, s := range [][2]string{{"--queue", f.queue}, {"--queue-name", f.name}, {"--queue-creds", f.creds},
		{"--queue-ca", f.ca}, {"--queue-cert", f.cert}, {"--queue-key", f.key}, {"--queue-secret", f.secret},
		{"--data-dir", f.dataDir}} {
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
		idle = idleOfLaunched
	}
	l.Args = append(l.Args, "--idle", idle.String())
	text, err := l.File(launcher)
	if err != nil {
		return usageError(err)
	}
	_, err = io.WriteString(a.raw, text)
	return err
}

func runWorker(ctx context.Context, a *app, f *queueFlags, w *queue.Worker, dir string,
	allowed work.Allowed) error {
	q, err := f.open(ctx, a, nil)
	if err != nil {
		return err
	}
	defer q.close()
	kit := f.kit(a)
	defer kit.Close()
	kit.Allow = allowed
	if dir != "" {
		if kit.Dir, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	w.Queue, w.Kinds = q.Queue, kit.Kinds()
	w.Log = func(line string) { fmt.Fprintln(a.err, time.Now().Format(time.TimeOnly), line) }
	fmt.Fprintln(a.err, "kindred: waiting for jobs")
	err = w.Work(ctx)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the worker has given its jobs back: %w", err)
	}
	return err
}
