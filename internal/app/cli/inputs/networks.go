package inputs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/contents"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
	"github.com/spf13/cobra"
)

// NetworkFlags name a network, where it ends and how its images are
// prepared.
type NetworkFlags struct {
	Network, cut, pixels, fit, resample, colours, weightsDir string

	size, shorter int
	Joint         bool // a network by name makes embeddings that are compared with texts'
}

// NetworkFlagNames are the flags of NetworkFlags.Add.
const NetworkFlagNames = "cut size shorter pixels fit resample colours weights-dir"

// Add adds the flags for a network that was not trained here.
func (f *NetworkFlags) Add(cmd *cobra.Command) {
	fs := flags.New(cmd)
	fs.Text(&f.cut, "cut", "", "node or tensor at which a network from an .onnx file ends; "+
		"default: before the classifier", complete.Nothing)
	fs.IntVar(&f.size, "size", 0, "side of the images in pixels; default: the network's")
	fs.IntVar(&f.shorter, "shorter", 0,
		"length of the shorter side before the middle is cropped; default: the network's")
	fs.Text(&f.pixels, "pixels", "", "range of pixel values, as in data.pixels of a run; default: the network's",
		complete.Words(prepare.Normalizations()...))
	fs.Text(&f.fit, "fit", "", "how images are made square: stretch, cover; default: the network's",
		complete.Words("stretch", "cover"))
	fs.Text(&f.resample, "resample", "", "Pillow's filter by which images are resized, as in data.resample of a run; "+
		"default: the network's", complete.Words(prepare.Filters()...))
	fs.Text(&f.colours, "colours", "", "what becomes of colours of another space than sRGB: srgb, raw; default: srgb",
		complete.Words("srgb", "raw"))
	fs.WeightsDir(&f.weightsDir)
}

// open returns the network that --network names: of a file of ONNX, of the folder
// of a run or of a saved network, or known by name, with weights in the weights
// folder.
func (f *NetworkFlags) open(a *console.Console) (*run.Model, []string, error) {
	d := run.DataConfig{Size: f.size, Shorter: f.shorter, Pixels: f.pixels, Fit: f.fit, Resample: f.resample,
		Colours: f.colours}
	st, err := os.Stat(f.Network)
	isONNX := strings.EqualFold(filepath.Ext(f.Network), ".onnx")
	switch {
	case f.weightsDir != "" && (isONNX || err == nil):
		return nil, nil, cli.Usagef("--weights-dir applies to a network by name; %s is a file or folder", f.Network)
	case isONNX:
		return run.Import(f.Network, f.cut, d)
	case f.cut != "":
		return nil, nil, cli.Usagef("--cut needs an ONNX file; %s is not one", f.Network)
	}
	dir := f.Network
	if isSaved(dir) {
		dir = filepath.Dir(dir)
	}
	switch {
	case err == nil && (st.IsDir() || dir != f.Network):
		if !hasConfig(dir) {
			return run.Import(dir, "", d)
		}
		if d != (run.DataConfig{}) {
			return nil, nil, cli.Usagef("the run sets --size, --shorter, --pixels, --fit, --resample and --colours " +
				"itself")
		}
		m, err := run.Load(dir)
		return m, nil, err
	case err == nil:
		return nil, nil, fmt.Errorf("%s has weights but no network: train with network.name and "+
			"network.pretrained, or give an ONNX file, which has both", f.Network)
	}
	w, err := OpenWeightsDir(a, f.weightsDir)
	if err != nil {
		return nil, nil, err
	}
	e, here, unknown := w.Find(f.Network)
	if unknown != nil {
		return nil, nil, fmt.Errorf("%s: no such file or folder: give %s, an ONNX file or weights by name: %w",
			f.Network, WantRun, unknown)
	}
	if !here {
		return nil, nil, fmt.Errorf("%s is not in the weights folder %s: fetch it with kindred weights get %s, or "+
			"give an ONNX file with --network model.onnx", e.Name, w.home, e.Name)
	}
	d.Size, d.Pixels = cmp.Or(d.Size, e.Size), cmp.Or(d.Pixels, e.Pixels)
	d.Resample = cmp.Or(d.Resample, e.Resample)
	if f.size == 0 {
		d.Shorter = cmp.Or(d.Shorter, e.Shorter)
	}
	load := run.LoadPretrained
	if f.Joint {
		load = run.LoadTextImage
	}
	m, err := load(e.Network, e.Path(w.home), d)
	return m, nil, err
}

// isSaved reports whether a path is one of the files that a network is saved in.
func isSaved(path string) bool {
	name := filepath.Base(path)
	return name == nn.WeightsFile || name == nn.SpecFile
}

// hasConfig reports whether a folder is that of a run, rather than of a network alone.
func hasConfig(dir string) bool {
	f, err := run.Open(dir)
	if err != nil {
		return false
	}
	_, err = os.Stat(f.ConfigPath())
	return err == nil
}

// ModelFlags name the network to use: a run's, or another.
type ModelFlags struct {
	NetworkFlags
	Run     string
	Offline bool // do not fetch the default network
}

// Add adds the flags.
func (f *ModelFlags) Add(cmd *cobra.Command) {
	flags.New(cmd).Text(&f.Run, "run", "", "folder of a finished run", complete.Runs)
	flags.New(cmd).Text(&f.Network, "network", "", "network to use instead of a run: an ONNX file, a saved "+
		"network (model.safetensors with model.json), a folder of Hugging Face, or a name", complete.Network)
	f.NetworkFlags.Add(cmd)
}

// ReadArgs takes the network from the arguments, unless a flag names it, and then the data, which
// messages call what.
func (f *ModelFlags) ReadArgs(args []string, data *string, what, flag string) error {
	if f.Run+f.Network == "" && len(args) > 0 {
		f.useArg(args[0])
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case len(args) > 1 || data == nil:
		return cli.Usagef("unexpected argument %q", args[len(args)-1])
	case *data != "":
		return cli.Usagef("%s is both the argument %q and %s %q: give one", what, args[0], flag, *data)
	default:
		*data = args[0]
	}
	return nil
}

// NetworkText returns the run or the network, for messages.
func (f *ModelFlags) NetworkText() string { return cmp.Or(f.Run, f.Network) }

// Title returns the name of the network for people, without its folder.
func (f *ModelFlags) Title() string {
	return strings.TrimSuffix(filepath.Base(f.NetworkText()), ".onnx")
}

// useArg takes an argument for the folder of a run, or for what --network takes: a file,
// the folder of a saved network, or a name that is no path.
func (f *ModelFlags) useArg(arg string) {
	st, err := os.Stat(arg)
	network := strings.EqualFold(filepath.Ext(arg), ".onnx")
	switch {
	case err != nil:
		network = network || !strings.ContainsRune(arg, filepath.Separator)
	case !st.IsDir():
		network = true
	case !hasConfig(arg):
		_, err := os.Stat(filepath.Join(arg, nn.SpecFile))
		network = err == nil || run.PublishedFiles(arg) != nil
	}
	if network {
		f.Network = arg
	} else {
		f.Run = arg
	}
}

// Load loads the network, and prints what was assumed about a network from a file.
func (f *ModelFlags) Load(ctx context.Context, a *console.Console) (*run.Model, error) {
	if f.Offline && f.Run+f.Network != "" {
		return nil, cli.Usagef("--offline does not apply to --run and --network: it applies to the pretrained " +
			"network " +
			"that is used without them")
	}
	if f.Run != "" {
		if f.Network != "" || f.cut+f.pixels+f.fit+f.resample+f.colours+f.weightsDir != "" || f.size+f.shorter != 0 {
			return nil, cli.Usagef("--run defines the network: leave out --network, --cut, --size, --shorter, " +
				"--pixels, --fit, --resample, --colours and --weights-dir")
		}
		return run.Load(f.Run)
	}
	if f.Network == "" {
		s, err := FindWeights(a, cli.WeightsFlags{Dir: f.weightsDir, Offline: f.Offline})(ctx, "")
		if err != nil {
			return nil, option.Errorf("no network to compare the photos: give --run or --network; %w\n"+
				"--network model.onnx is an ONNX file on this machine, --run DIR a run that was trained here", err)
		}
		f.Network = s.Name
		fmt.Fprintf(a.Err, "compared by the pretrained network %s; use --run DIR for a network trained on such "+
			"photos\n",
			s.Name)
	}
	m, notes, err := f.open(a)
	PrintRemarks(a, notes)
	return m, err
}

// PrintRemarks prints remarks for the user.
func PrintRemarks(a *console.Console, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(a.Err, "kindred: "+escape.Text(n))
	}
}

// Describe returns the description of the network to show. A name may be of a network without
// weights.
func (f *NetworkFlags) Describe(a *console.Console) (*nn.Spec, *contents.Preparation, []string, error) {
	if _, err := os.Stat(f.Network); err != nil && slices.Contains(zoo.Networks(), f.Network) {
		in := nn.Shape{H: cmp.Or(f.size, 224), W: cmp.Or(f.size, 224), C: 3}
		spec, err := zoo.Network(f.Network, zoo.Options{Input: in})
		return spec, nil, nil, err
	}
	m, notes, err := f.open(a)
	if err != nil {
		return nil, nil, nil, err
	}
	var of *contents.Preparation
	if d := &m.Config.Data; d.Size > 0 {
		of = &contents.Preparation{Pixels: d.Pixels, Fit: d.Fit, Shorter: d.Shorter, Resample: d.Resample,
			Colours: d.Colours}
	}
	return m.Net.Spec(), of, notes, nil
}
