// Package queue sends jobs to workers on other machines through NATS JetStream: a
// running cluster, or the server that package internal/jobs/natsserver starts.
//
// A Queue is the jobs.Runner of whoever has work: Run submits jobs and waits for
// their results. A Worker takes jobs, one after the other, and does them:
//
//	q, err := queue.Connect(ctx, queue.Options{URL: "nats://a:4222,b:4222,c:4222"})
//	defer q.Close()
//	results, err := q.Run(ctx, list)                              // here
//	err := (&queue.Worker{Queue: q, Kinds: kinds}).Work(ctx)      // there
//
// Guarantees when processes and servers are killed:
//
//   - No job is lost. It is in the work stream until its result is stored; a message
//     whose worker has been silent for Options.Lease is delivered to another one.
//   - No job counts twice. A worker's write to a job's state is conditional on its
//     own last write; when another worker has taken the job over, the write fails and
//     the slower one gives up. The names of checkpoints and results contain the attempt.
//   - The result has the same bits, because a job is repeatable and its successor
//     starts from its last checkpoint, or from the beginning.
//   - A job that fails Options.Tries times with an error is given up; so is one that
//     Options.Losses workers did not survive.
//
// Bits depend on the program and on its kernels. Options.Lane names both; jobs are
// done only by workers of the lane in which they were submitted, and results are
// found again only there.
//
// docs/design/scale.md has the reasons for this design.
package queue
