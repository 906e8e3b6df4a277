package main

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/jobs/queue"
)

func newJobs(a *console.Console) *cobra.Command {
	var f queues.Flags
	cmd := &cobra.Command{
		Use:   "jobs --queue URL",
		Short: "Show the jobs of a queue; cancel or retry them",
		Long: `jobs lists the jobs of a queue: the state of each, how often it has failed, how
many workers it has lost, which worker does it, and its progress or error. A job is
given up after three failures or ten lost workers.

Name jobs by their keys; the beginning of a key is enough. A result is removed from
the queue when its command has collected it, anything else a week after its last
change.`,
		Example: `  kindred jobs --queue nats://a:4222
  kindred jobs cancel 3fc2 --queue nats://a:4222
  kindred jobs retry 3fc2 --queue nats://a:4222`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Open(cmd.Context(), a, nil)
			if err != nil {
				return err
			}
			defer q.Close()
			return listJobs(cmd.Context(), a, q.Queue)
		},
	}
	f.Add(cmd)
	for _, c := range []struct {
		name, short string
		do          func(q *queue.Queue, ctx context.Context, key string) error
	}{
		{"cancel", "Cancel jobs that are queued or running", (*queue.Queue).Cancel},
		{"retry", "Retry jobs that failed or were cancelled", (*queue.Queue).Retry},
		{"remove", "Remove jobs with their results and checkpoints", (*queue.Queue).Remove},
	} {
		cmd.AddCommand(newJobsChange(a, c.name, c.short, c.do))
	}
	return cmd
}

func newJobsChange(a *console.Console, name, short string,
	do func(q *queue.Queue, ctx context.Context, key string) error) *cobra.Command {
	var f queues.Flags
	cmd := &cobra.Command{
		Use:               name + " KEY...", // keys cannot be completed without the queue
		ValidArgsFunction: complete.Nothing,
		Short:             short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("missing argument KEY: 'kindred jobs' shows the keys")
			}
			q, err := f.Open(cmd.Context(), a, nil)
			if err != nil {
				return err
			}
			defer q.Close()
			for _, arg := range args {
				s, err := q.Find(cmd.Context(), arg)
				if err == nil {
					err = do(q.Queue, cmd.Context(), s.Key)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(a.Err, "%s: %s (was %v)\n", escape.Line(cmp.Or(s.Title, s.Key)), name, s.State)
			}
			return nil
		},
	}
	f.Add(cmd)
	return cmd
}

func listJobs(ctx context.Context, a *console.Console, q *queue.Queue) error {
	all, err := q.List(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if all == nil {
			all = []queue.Status{}
		}
		return a.PrintJSON(all)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tSTATE\tFAILED\tLOST\tSINCE\tWORKER\tJOB\t")
	for _, s := range all {
		text := escape.Line(cmp.Or(s.Title, s.Kind))
		if s.Text != "" {
			text += ": " + escape.Name(escape.Message(s.Text))
		}
		if !s.Mine {
			text += " (of another build or instruction set)"
		}
		fmt.Fprintf(w, "%.8s\t%v\t%d\t%d\t%v\t%s\t%s\t\n", s.Key, s.State, s.Tries, s.Losses,
			time.Since(s.Since).Round(time.Second), escape.Line(s.Worker), text)
	}
	return w.Flush()
}
