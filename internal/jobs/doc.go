// Package jobs describes work that can be cut into units which anyone may do, and
// do again, with the same bytes as the result: a seed of an experiment's arm, a
// trial of a sweep, a shard of a data set to embed.
//
// A Job is a kind and a spec; a Func does jobs of one kind; a Runner takes jobs and
// returns what they came to, in their order. Local does them in this process:
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
// Remembering is a Runner that asks a Memory first, so that what was done before,
// by whoever, is not done again.
//
// Package internal/jobs/queue has another Runner, which hands jobs to workers on other
// machines: kindred's commands use it with a queue. This package imports no network, so that what
// only describes its work in jobs stays small.
//
// The name of a job is the digest of its kind and spec. Whoever runs the same job
// twice gets the result of the first time where that was kept, so a spec must name
// all that the result depends on: settings, seed, digests of files. What it reads
// beside that (a data set by path) must not change while results are kept.
package jobs
