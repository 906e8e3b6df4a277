// Package sweep chooses settings on validation classes, and only then tests them.
//
// In: a Plan, read from YAML by ParsePlan, with ranges for keys of the
// configuration, arms to compare, a number of trials and of epochs that each arm
// may spend. Out: for every arm the trials with their scores, the winner, and what
// the winner reaches on the test, trained once per seed on the whole training part.
//
//	plan, err := sweep.ParsePlan("plan.yaml", text)
//	out, err := sweep.Run(ctx, plan, sweep.Options{Dir: "sweeps/letters", Jobs: 2})
//
// A trial is trained once for each fold of the training part's classes (the key
// data.fold), on the other folds; its score is the mean over the folds. The test
// classes take no part. Trials are drawn at random or by TPE, and can be stopped
// early by ASHA: those among the best third of a rung go on from their checkpoint.
//
// The plan and its seed fix every result: whatever the number of jobs, the clock or
// the number of interruptions. Decisions are taken in the order in which a given
// number of trials at once would end if every epoch took the same time.
//
// Runs are jobs of package jobs, from Job to Result, both of which are JSON: Local
// trains them in this process, and any Runner elsewhere. docs/sweep.md is the
// page for users.
package sweep
