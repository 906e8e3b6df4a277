package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
	"github.com/kindred-ml/kindred/internal/page/report/runs"
	"github.com/kindred-ml/kindred/run"
)

// TrainFlags has the flags of the command that trains, as typed.
type TrainFlags struct {
	Config, Data, DataDir string
	Set                   []string
	Out, Resume, Finish   string
	Force                 bool
	Minutes               float64
	PrintConfig           bool
	Outside, Strict       bool
	TryEncoders           bool
	WeightsFlags

	// Follows is set by a program for a process that helps to train a run that another process
	// writes. This process then writes nothing.
	Follows bool
}

// NewTrainCommand returns the command that trains, with its flags and its argument, for the named program.
// The program sets what it runs.
func NewTrainCommand(program string, f *TrainFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train [DATA] [-c FILE] [--set KEY=VALUE ...]",
		Short: "Train an embedding",
		Long: `train trains a network from images or features to an embedding and writes a run
folder:

  config.yaml                       every setting, resolved
  metrics.csv, timing.csv           one line per epoch
  metrics.jsonl                     the metrics as JSON
  model.safetensors, model.json     the network
  checkpoint/                       what --resume continues from
  embeddings.npy, labels.csv        the test split: embeddings and labels
  report.html                       a page with the whole run

DATA is a data set by name, a folder with a folder for each class, a manifest or the
root of a benchmark; --data means the same.

A folder that contains a run or other files is not changed without one of these flags:
--resume continues a run, and writes files that an interruption left unwritten;
--finish ends a run with its best weights so far; --force replaces it. With --resume
and --finish, --data may name the new place of the data.

--minutes 5 measures the pace of the machine before the first step, and then fixes the
number of epochs so that the command ends after about five minutes.

Every key of the configuration can be set by --set section.key=value;
'` + program + ` train --print-config' prints them all with their meaning.`,
		Example: `  ` + program + ` train mnist
  ` + program + ` train photos/ --set train.epochs=20 --out runs/photos
  ` + program + ` train photos/ --minutes 5
  ` + program + ` train -c run.yaml --set mine.positives=random
  ` + program + ` train --resume runs/photos
  ` + program + ` train --finish runs/photos`,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("minutes") && f.Minutes == 0 {
			return Usagef("--minutes is 0: must be above 0; leave it out for a length by train.epochs")
		}
		return f.readArgs(args)
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.Config, "config", "c", "", "configuration (YAML)")
	fs.StringVar(&f.Data, "data", "",
		"data set by name, folder, manifest or benchmark root; same as the argument and data.path")
	AddDataDir(fs, &f.DataDir)
	AddOutside(fs, &f.Outside)
	AddStrict(fs, &f.Strict)
	fs.StringArrayVar(&f.Set, "set", nil, "set a key of the configuration: section.key=value; may be repeated")
	fs.Float64Var(&f.Minutes, "minutes", 0,
		"minutes from the start of the command to its end, such as 5 or 0.5; same as train.minutes")
	fs.StringVar(&f.Out, "out", "", "run folder; default runs/NAME, with a number if it exists")
	fs.StringVar(&f.Resume, "resume", "", "continue the run in this folder")
	fs.StringVar(&f.Finish, "finish", "",
		"end the interrupted run in this folder: score and save its best weights so far, without further steps")
	fs.BoolVar(&f.Force, "force", false,
		"replace the run in the folder of --out: remove its files, and keep others")
	f.WeightsFlags.AddFlags(fs)
	fs.BoolVar(&f.TryEncoders, "try-encoders", false,
		"start from the network of the weights folder that finds images of one class best; at most 8 are tried")
	fs.BoolVar(&f.PrintConfig, "print-config", false, "print the keys of the configuration and stop")
	return cmd
}

// readArgs takes the data set from the arguments.
func (f *TrainFlags) readArgs(args []string) error {
	switch {
	case len(args) == 0:
	case len(args) > 1:
		return Usagef("unexpected argument %q", args[1])
	case f.Data != "":
		return Usagef("the data set is both the argument %q and --data %q: give one", args[0], f.Data)
	default:
		f.Data = args[0]
	}
	return nil
}

// existingRun returns the folder of an existing run and the flag that named it; "" for a
// new run.
func (f *TrainFlags) existingRun() (dir, flag string) {
	if f.Finish != "" {
		return f.Finish, "finish"
	}
	return f.Resume, "resume"
}

// LoadConfig reads the configuration of a new run or of the one to resume. seed, if not nil,
// is the seed of the command line.
func (f *TrainFlags) LoadConfig(seed *uint64) (run.Config, error) {
	file, set := f.Config, f.Set
	if f.Finish != "" && (f.Resume != "" || len(f.Set) > 0 || seed != nil) {
		return run.Config{}, Usagef("--finish keeps the configuration of the run and cannot be combined with " +
			"--resume, --set or --seed")
	}
	dir, flag := f.existingRun()
	if dir != "" {
		if f.Minutes != 0 {
			return run.Config{}, Usagef("--minutes is for a new run, and the run in %s has its number of epochs: "+
				"leave it out; --resume %[1]s --set train.epochs=N makes the run longer", dir)
		}
		if f.Config != "" || f.Out != "" || f.Force {
			return run.Config{}, Usagef("--%s keeps the configuration of the run and cannot be combined with -c, "+
				"--out or --force", flag)
		}
		folder, err := run.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return run.Config{}, fmt.Errorf("nothing to %s: %s is not the folder of a run", flag, dir)
		} else if err != nil {
			return run.Config{}, err
		}
		file = folder.ConfigPath()
	}
	if f.Data != "" {
		if !utf8.ValidString(f.Data) {
			return run.Config{}, Usagef("--data %q is not valid UTF-8: rename it", f.Data)
		}
		set = append([]string{"data.path=" + fmt.Sprintf("%q", f.Data)}, set...)
	}
	if f.Outside {
		set = append(set, "data.outside=true")
	}
	if f.Strict {
		set = append(set, "data.strict=true")
	}
	if f.Minutes != 0 {
		set = append(set, fmt.Sprintf("train.minutes=%v", f.Minutes))
	}
	if seed != nil {
		set = append([]string{fmt.Sprintf("train.seed=%d", *seed)}, set...)
	}
	var text []byte
	if file != "" {
		var err error
		if text, err = yamltext.ReadFile(file); dir != "" && errors.Is(err, fs.ErrNotExist) {
			return run.Config{}, fmt.Errorf("nothing to %s: %s is not the folder of a run", flag, dir)
		} else if err != nil {
			return run.Config{}, err
		}
	}
	cfg, err := run.Parse(file, text, set...)
	if err != nil {
		return cfg, UsageError{err}
	}
	return cfg, nil
}

// Run trains with the configuration cfg into the folder of the flags, and writes the run's
// page there. In opts the program sets the observer, the source of pretrained networks and
// the engine.
func (f *TrainFlags) Run(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
	opts.Dir, opts.Force, opts.Finish = f.Out, f.Force, f.Finish != ""
	opts.Formats, opts.StartTime = EmbeddingFormats(), time.Now()
	if dir, _ := f.existingRun(); dir != "" {
		opts.Dir, opts.Resume = dir, true
	} else if opts.Dir == "" {
		opts.Dir, opts.UniqueDir = filepath.Join("runs", cfg.Name()), true
	}
	if f.TryEncoders {
		var err error
		if opts.Encoders, err = f.cachedNames(); err != nil {
			return nil, err
		}
	}
	if remotedata.IsAddress(cfg.Data.Path) {
		cfg.Data.Cache = true // every image is read only once
		var err error
		opts.Dataset, err = remotedata.Open(ctx, cfg.Data.Path, cfg.Data.OpenOptions("", opts.Formats...))
		if err != nil {
			return nil, err
		}
		defer opts.Dataset.Close()
	}
	if f.Follows && !opts.Resume {
		opts.Dir, opts.UniqueDir = "", false
	}
	res, err := run.Train(ctx, cfg, opts)
	if err != nil || f.Follows {
		return res, err
	}
	folder, err := run.Open(res.Dir)
	if err != nil {
		return nil, err
	}
	_, err = runs.Write(ctx, []string{res.Dir}, runs.PageOptions{Home: opts.Home, Page: folder.ReportPath(),
		Seed: cfg.Train.Seed})
	return res, err
}
