// Package sweep chooses settings on validation classes, and only then tests them.
//
// The input is a Plan, read from YAML by ParsePlan: ranges for keys of the
// configuration, arms to compare, and the number of trials and of epochs of each
// arm. The output has for every arm the trials with their scores, the winner, and the
// test scores of the winner, which is trained once per seed on the whole training part.
//
//	plan, err := sweep.ParsePlan("plan.yaml", text)
//	out, err := sweep.Run(ctx, plan, sweep.Options{Dir: "sweeps/letters", Jobs: 2})
//
// A trial is trained once for each fold of the training part's classes (the key
// data.fold), on the other folds; its score is the mean over the folds. It never
// sees the test classes. Trials are drawn at random or by TPE, and can be stopped
// early by ASHA: the best third of a rung go on from their checkpoints.
//
// The plan and its seed fix every result, whatever the number of jobs, the clock or
// the number of interruptions. Decisions are made as if Plan.AtOnce trials ran at
// once and every epoch took the same time.
//
// Runs are jobs of package jobs: a Job goes in and a Result comes out, both as JSON.
// Local trains them in this process; another Runner can train them elsewhere.
// Compare trains arms as they are with several seeds and tests the differences between
// them; ParseComparison reads its plan. docs/sweep.md is the page for users.
package sweep
