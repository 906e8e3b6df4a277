package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// ErrInUse is the error, by errors.Is, of a run folder that another process trains in. The message names the process.
var ErrInUse = lock.ErrHeld

// Options are the options of Train and Plan. The zero value writes nothing to disk.
type Options struct {
	// Dir is the run folder, created if it does not exist. For a new run it must be empty.
	// The process that trains locks it, and for any other the error is ErrInUse.
	Dir string
	// UniqueDir lets a new run that finds Dir in use create Dir-2, Dir-3 and so on instead. Setup.Dir
	// and Result.Dir have the folder's name.
	UniqueDir bool
	// Resume continues from the checkpoint in Dir. A run that was stopped before
	// its first checkpoint starts again, and one that has finished gets its files
	// written again.
	Resume bool
	// Finish ends the run in Dir instead of training it further. Its best weights so far, including
	// those of the epoch under way, are scored and saved as at the end of any run. The
	// configuration then has the number of trained epochs; Resume with more epochs continues. It
	// is an error if no step has been taken.
	Finish bool
	// Force lets a new run replace the one in Dir: the files that a run writes are
	// removed, others are kept.
	Force bool
	// CallerFiles names files in Dir that belong to the caller. Train does not touch them.
	CallerFiles []string
	// Home is the folder with the data sets known by name; see data.Home.
	Home string
	// StartTime is the time from which train.minutes counts. The zero time is that of the call of Train.
	StartTime time.Time
	// Formats are formats of files of features, besides those of package embedding.
	Formats embedding.Formats
	// Weights, if set, finds pretrained networks by name, and for "" the default start for
	// photographs. With an error it returns the name of the network that it could not find.
	// Without Weights, network.pretrained takes only files, and photographs start from random
	// weights.
	Weights func(ctx context.Context, name string) (Start, error)
	// Encoders, if not nil, are networks to choose the start from, as network.pretrained names them: at
	// most eight. Those that cannot be read are left out with a note. network.pretrained must be unset.
	Encoders []string
	// Dataset, if set, replaces the data set that the configuration names. It is not closed.
	Dataset *data.Dataset
	// Loss, if set, replaces the loss that the configuration names. The keys of section loss that
	// every loss has still count: normalize, memory, trim and so on. config.yaml says "own", as
	// for Miner and Sampler, and only a program that provides the same loss can resume the run.
	Loss loss.Loss
	// Positives and Negatives, if set, replace the mining policies that the configuration names.
	// config.yaml then says "own".
	Positives, Negatives *objective.CustomPolicy
	// Miner, if set, chooses the triplets of a batch in place of mining policies. A triplet is
	// anchor, positive and negative as rows of e, the network's output. The loss must be a loss
	// over triplets (loss.Tuples). Runs are reproducible only if the choice depends on nothing but
	// the arguments.
	Miner func(e *matrix.Dense, b objective.Batch) ([][3]int32, error)
	// Sampler, if set, draws the batches of the training part p, as positions from 0 to
	// p.Len()-1. The memory of the run is planned for the largest batch of its first epoch.
	Sampler func(p *data.Part) (train.Sampler, error)
	// Engine, if set, makes an engine that computes the network in place of package nn.
	Engine func(net *nn.Net, cfg *Config) (Engine, error)
	// Ranks, if set, are processes that train the run together; see train.Ranks. The results have
	// the same bits as those of one process with the same train.chunk, which must be set. The
	// ranks share the evaluations too. Only the process of rank 0 needs a Dir. To resume a run,
	// the other ranks need a copy of the folder.
	Ranks train.Ranks
	// SkipUntrainedScores leaves out the scores of the network before training, unless train.best or
	// eval.keep needs them.
	SkipUntrainedScores bool
	// FeatureProgress, if set, is called before Begin with the number of computed features: the features
	// that decide settings of a pretrained start, or those of a frozen body (network.freeze=body).
	FeatureProgress func(done, total int)
	// OnSetup, if set, is called with the setup before training.
	OnSetup func(Setup)
	// Observe, if set, is called with the progress; see train.Config. train.LogEvents logs it.
	Observe func(train.Event)

	files atomic.Files // tests put faults into it
}

// Start is a network to start from.
type Start struct {
	// Name is the network's name, and Path the file of its weights.
	Name, Path string
	// Network is the architecture of the weights, as zoo.Network names it; "" for a file
	// that includes its own network.
	Network string
	// Size is the side in pixels of the images that the network was trained on, or 0 if unknown.
	// Pixels is the range of their values, as data.pixels names it, and Resample the filter by which they were resized,
	// as data.resample names it; "" if unknown.
	Size             int
	Pixels, Resample string
}

// Engine runs a network and updates its parameters in place of package nn, for example on a
// GPU. *xla.Net is an Engine. Checkpoints and the files of a run are written from the nn.Net
// that the engine was made from, which holds copies of the parameters.
type Engine interface {
	train.Remote
	train.OptimizerDevice
}

// claim says how the run wants to use its folder.
func (o *Options) claim() *record.Claim {
	return &record.Claim{Dir: record.Dir{Path: o.Dir, Files: o.files}, Unique: o.UniqueDir, Resume: o.Resume,
		Force: o.Force, CallerFiles: o.CallerFiles}
}

// Options that errors name, besides keys of the configuration.
const (
	optEncoders option.Option = "run.Options.Encoders"
	// trainResume and trainFinish are the calls of Train with the option.
	trainResume option.Option = "run.Train with Options.Resume"
	trainFinish option.Option = "run.Train with Options.Finish"
	// keyPath and keyStrict are keys for which a command may have a flag.
	keyPath   option.Option = "data.path"
	keyStrict option.Option = "data.strict"
	// overrides are the overrides of Parse.
	overrides option.Option = "overrides"
)

// notes are remarks for the user.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// checkMinutes refuses train.minutes where the number of epochs cannot follow from the pace.
func (c *Config) checkMinutes(opts *Options) error {
	switch {
	case c.Train.Minutes == 0:
		return nil
	case opts.Resume:
		return errors.New("train.minutes: a run that has begun has its number of epochs: leave it out; a larger " +
			"train.epochs makes the run longer")
	case opts.Ranks != nil || opts.Engine != nil:
		return errors.New("train.minutes: the pace is measured only where one process trains on its processor: set " +
			"train.epochs or train.budget instead")
	}
	return nil
}

// StoppedError is the error of a run that was interrupted and has written its checkpoint. It wraps
// the context's error.
type StoppedError struct {
	Dir string
	*train.StoppedError
}

func (s *StoppedError) Error() string {
	return fmt.Sprintf("%v: %s; continue with %s", s.Err, s.Location(), record.OptResume)
}

// Location returns the folder, and the epoch and step at which the run stopped.
func (s *StoppedError) Location() string { return s.Dir + " " + s.StoppedError.Where() }

// adviseSkipping adds advice to the error of an unreadable sample.
func adviseSkipping(err error) error {
	if u := (*data.UnreadableError)(nil); errors.As(err, &u) {
		return option.Errorf("%w\n%s ends the run here; without it, unreadable samples are left out and named at the "+
			"end", err, keyStrict)
	}
	return err
}
