// Package jobs describes work that is divided into repeatable units. The result of a unit has the same bytes,
// whoever does it and however often. Examples are a seed of an experiment's arm, a trial of a
// sweep, a shard of a data set to embed.
//
// A Job is a kind and a spec; a Func does jobs of one kind; a Runner takes jobs and returns their
// results in the same order. Local does them in this process:
//
//	kinds := jobs.Kinds{"square": func(ctx context.Context, t jobs.Task) ([]byte, error) {
//		var n int
//		if err := t.Job().Decode(&n); err != nil {
//			return nil, err
//		}
//		return fmt.Append(nil, n*n), nil
//	}}
//	three, err := jobs.New("square", 3)
//	results, err := (&jobs.Local{Kinds: kinds}).Run(ctx, []jobs.Job{three})
//
// Remembering is a Runner that first looks in a Memory, so that finished jobs are not done again.
//
// Package internal/jobs/queue has another Runner, which hands jobs to workers on other
// machines: kindred's commands use it with a queue. This package imports no network code, so that
// programs that only describe jobs stay small.
//
// The name of a job is the digest of its kind and spec. Running the same job again returns the
// kept result of the first time, so a spec must name all that the result depends on: settings,
// seed, digests of files. Other inputs (a data set by path) must not change while results are
// kept.
package jobs
