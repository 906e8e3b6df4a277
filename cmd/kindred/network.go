package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/contents"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/format/torchfile"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// networkFlags name a network, where it ends and how its images are
// prepared.
type networkFlags struct {
	network, cut, pixels, fit, resample, colours, weightsDir string

	size, shorter int
	joint         bool // a network by name makes embeddings that are compared with texts'
}

// networkFlagNames are the flags of networkFlags.add.
const networkFlagNames = "cut size shorter pixels fit resample colours weights-dir"

// add adds the flags for a network that was not trained here.
func (f *networkFlags) add(cmd *cobra.Command) {
	fs := newFlags(cmd)
	fs.text(&f.cut, "cut", "", "node or tensor at which a network from an .onnx file ends; "+
		"default: before the classifier", completeNothing)
	fs.IntVar(&f.size, "size", 0, "side of the images in pixels; default: the network's")
	fs.IntVar(&f.shorter, "shorter", 0,
		"length of the shorter side before the middle is cropped; default: the network's")
	fs.text(&f.pixels, "pixels", "", "range of pixel values, as in data.pixels of a run; default: the network's",
		completeWords(imaging.Normalizations()...))
	fs.text(&f.fit, "fit", "", "how images are made square: stretch, cover; default: the network's",
		completeWords("stretch", "cover"))
	fs.text(&f.resample, "resample", "", "Pillow's filter by which images are resized, as in data.resample of a run; "+
		"default: the network's", completeWords(imaging.Filters()...))
	fs.text(&f.colours, "colours", "", "what becomes of colours of another space than sRGB: srgb, raw; default: srgb",
		completeWords("srgb", "raw"))
	fs.weightsDir(&f.weightsDir)
}

// open returns the network that --network names: of a file of ONNX, of the folder
// of a run or of a saved network, or known by name, with weights in the weights
// folder.
func (f *networkFlags) open(a *app) (*run.Model, []string, error) {
	d := run.DataConfig{Size: f.size, Shorter: f.shorter, Pixels: f.pixels, Fit: f.fit, Resample: f.resample,
		Colours: f.colours}
	st, err := os.Stat(f.network)
	isONNX := strings.EqualFold(filepath.Ext(f.network), ".onnx")
	switch {
	case f.weightsDir != "" && (isONNX || err == nil):
		return nil, nil, usagef("--weights-dir applies to a network by name; %s is a file or folder", f.network)
	case isONNX:
		return run.Import(f.network, f.cut, d)
	case f.cut != "":
		return nil, nil, usagef("--cut needs an ONNX file; %s is not one", f.network)
	}
	dir := f.network
	if isSaved(dir) {
		dir = filepath.Dir(dir)
	}
	switch {
	case err == nil && (st.IsDir() || dir != f.network):
		if !hasConfig(dir) {
			return run.Import(dir, "", d)
		}
		if d != (run.DataConfig{}) {
			return nil, nil, usagef("the run sets --size, --shorter, --pixels, --fit, --resample and --colours itself")
		}
		m, err := run.Load(dir)
		return m, nil, err
	case err == nil:
		return nil, nil, fmt.Errorf("%s has weights but no network: train with network.name and "+
			"network.pretrained, or give an ONNX file, which has both", f.network)
	}
	w, err := a.weightsIn(f.weightsDir)
	if err != nil {
		return nil, nil, err
	}
	e, here, unknown := w.find(f.network)
	if unknown != nil {
		return nil, nil, fmt.Errorf("%s: no such file or folder: give %s, an ONNX file or weights by name: %w",
			f.network, wantRun, unknown)
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
	if f.joint {
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

// modelFlags name the network to use: a run's, or another.
type modelFlags struct {
	networkFlags
	run     string
	offline bool // do not fetch the default network
}

// add adds the flags.
func (f *modelFlags) add(cmd *cobra.Command) {
	newFlags(cmd).text(&f.run, "run", "", "folder of a finished run", completeRuns)
	newFlags(cmd).text(&f.network, "network", "", "network to use instead of a run: an ONNX file, a saved "+
		"network (model.safetensors with model.json), a folder of Hugging Face, or a name", completeNetwork)
	f.networkFlags.add(cmd)
}

// readArgs takes the network from the arguments, unless a flag names it, and then the data, which
// messages call what.
func (f *modelFlags) readArgs(args []string, data *string, what, flag string) error {
	if f.run+f.network == "" && len(args) > 0 {
		f.useArg(args[0])
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case len(args) > 1 || data == nil:
		return usagef("unexpected argument %q", args[len(args)-1])
	case *data != "":
		return usagef("%s is both the argument %q and %s %q: give one", what, args[0], flag, *data)
	default:
		*data = args[0]
	}
	return nil
}

// networkText returns the run or the network, for messages.
func (f *modelFlags) networkText() string { return cmp.Or(f.run, f.network) }

// title returns the name of the network for people, without its folder.
func (f *modelFlags) title() string {
	return strings.TrimSuffix(filepath.Base(f.networkText()), ".onnx")
}

// useArg takes an argument for the folder of a run, or for what --network takes: a file,
// the folder of a saved network, or a name that is no path.
func (f *modelFlags) useArg(arg string) {
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
		f.network = arg
	} else {
		f.run = arg
	}
}

// model loads the network, and prints what was assumed about a network from a file.
func (f *modelFlags) model(ctx context.Context, a *app) (*run.Model, error) {
	if f.offline && f.run+f.network != "" {
		return nil, usagef("--offline does not apply to --run and --network: it applies to the pretrained network " +
			"that is used without them")
	}
	if f.run != "" {
		if f.network != "" || f.cut+f.pixels+f.fit+f.resample+f.colours+f.weightsDir != "" || f.size+f.shorter != 0 {
			return nil, usagef("--run defines the network: leave out --network, --cut, --size, --shorter, " +
				"--pixels, --fit, --resample, --colours and --weights-dir")
		}
		return run.Load(f.run)
	}
	if f.network == "" {
		s, err := a.findWeights(cli.WeightsFlags{Dir: f.weightsDir, Offline: f.offline})(ctx, "")
		if err != nil {
			return nil, option.Errorf("no network to compare the photos: give --run or --network; %w\n"+
				"--network model.onnx is an ONNX file on this machine, --run DIR a run that was trained here", err)
		}
		f.network = s.Name
		fmt.Fprintf(a.err, "compared by the pretrained network %s; use --run DIR for a network trained on such "+
			"photos\n",
			s.Name)
	}
	m, notes, err := f.open(a)
	a.printRemarks(notes)
	return m, err
}

// printRemarks prints remarks for the user.
func (a *app) printRemarks(notes []string) {
	for _, n := range notes {
		fmt.Fprintln(a.err, "kindred: "+escape.Text(n))
	}
}

func newNetwork(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "network", Short: "Show what networks and files of weights consist of"}
	cmd.AddCommand(newNetworkShow(a))
	return cmd
}

func newNetworkShow(a *app) *cobra.Command {
	var f networkFlags
	var nodes bool
	cmd := &cobra.Command{
		Use:               "show FILE|NAME",
		ValidArgsFunction: completeOne(completeNetwork),
		Short:             "List the layers of a network: shapes, weights, arithmetic",
		Long: `show lists the layers of a network in the order of execution: each layer's
output (height x width x channels), its trained values, and its multiply-adds for
one image. FILE may be

  model.onnx             the network as it is imported: up to --cut, by default without
                         the classifier; --onnx lists the nodes of the file instead
  runs/photos            the folder of a finished run
  resnet18               a network by name, also without weights
  weights.pth, .safetensors   the tensors in a file of weights`,
		Example: `  kindred network show model.onnx
  kindred network show runs/photos
  kindred network show resnet18 --size 64 --json`,
		Args: exactArgs("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			f.network = args[0]
			switch ext := strings.ToLower(filepath.Ext(f.network)); {
			case nodes && ext == ".onnx":
				return a.showNodes(f.network)
			case nodes:
				return usagef("--onnx needs an ONNX file; %s is not one", f.network)
			case slices.Contains([]string{".pth", ".pt", ".bin", ".safetensors"}, ext):
				return a.showTensors(f.network)
			}
			return a.showNetwork(&f)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&nodes, "onnx", false, "list the nodes of an .onnx file by the names that --cut accepts")
	return cmd
}

func (a *app) showNetwork(f *networkFlags) error {
	spec, of, notes, err := f.describe(a)
	if err != nil {
		return err
	}
	n, err := contents.NewNetwork(spec)
	if err != nil {
		return err
	}
	n.Preparation, n.Notes = of, notes
	if a.json {
		return a.printJSON(n)
	}
	for _, note := range notes {
		fmt.Fprintln(a.err, "kindred: "+note)
	}
	return n.Write(a.out)
}

// describe returns the description of the network to show. A name may be of a network without
// weights.
func (f *networkFlags) describe(a *app) (*nn.Spec, *contents.Preparation, []string, error) {
	if _, err := os.Stat(f.network); err != nil && slices.Contains(zoo.Networks(), f.network) {
		in := nn.Shape{H: cmp.Or(f.size, 224), W: cmp.Or(f.size, 224), C: 3}
		spec, err := zoo.Network(f.network, zoo.Options{Input: in})
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

func (a *app) showNodes(path string) error {
	m, err := onnx.Read(path)
	if err != nil {
		return err
	}
	return a.printResult(contents.NewModel(m), func() error { return contents.WriteModel(a.out, path, m) })
}

func (a *app) showTensors(path string) error {
	f, err := torchfile.ReadWeights(path)
	if err != nil {
		return err
	}
	t := contents.NewWeights(f)
	return a.printResult(t, func() error { return t.Write(a.out, path) })
}
