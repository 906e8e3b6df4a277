package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// findPublishedFiles returns the file of weights of a folder of Hugging Face, timm or OpenCLIP, and the configuration
// beside it; "" if dir is not one.
func findPublishedFiles(dir string) (weights, config string) {
	if _, err := os.Stat(filepath.Join(dir, nn.SpecFile)); err == nil {
		return "", ""
	}
	return published.Weights(dir)
}

// PublishedFiles returns the files of a network that Import reads from a folder of Hugging Face or timm: config.json
// and the weights; nil if dir is not such a folder.
func PublishedFiles(dir string) []string {
	if weights, config := findPublishedFiles(dir); weights != "" {
		return []string{config, weights}
	}
	return nil
}

// importPublished returns the image network of such a folder, by the names and the shapes of its weights and by what
// its publisher says. CLIP's keeps the projection that it ends with.
func importPublished(weights, config string, data DataConfig) (*Model, []string, error) {
	f, err := zoo.ReadWeights(weights)
	if err != nil {
		return nil, nil, err
	}
	name, o, err := zoo.Guess(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", weights, err)
	}
	said, err := published.Read(weights, config)
	if err != nil {
		return nil, nil, err
	}
	o.Dim = projectionLen(f)
	if err := said.Tower.Apply(name, &o); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", weights, err)
	}
	cfg, notes := Default(), said.Notes
	cfg.Data = data
	cfg.Network = NetworkConfig{Name: name, Pretrained: weights, Normalize: Off, FrozenNorm: Off}
	cfg.Eval.Distance = eval.Cosine.String()
	d, p := &cfg.Data, said.Preparation
	if d.Pixels == "" && p.Pixels == "" {
		notes = append(notes, fmt.Sprintf("%s does not state the range of pixel values of the network "+
			"(preprocessor_config.json): %s is assumed", filepath.Dir(config), defaultPixels))
	}
	d.Size, d.Channels = cmp.Or(d.Size, p.Side, o.Input.H), cmp.Or(d.Channels, o.Input.C)
	d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	if p.Unfit == "" {
		p.Fit = cmp.Or(p.Fit, defaultFit(d.Channels))
	}
	if err := d.usePreparation(p); err != nil {
		return nil, nil, err
	}
	if _, err := d.imagingConfig(false); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Dir(config), err)
	}
	o.Input, o.NoHead = nn.Shape{H: d.Size, W: d.Size, C: d.Channels}, o.Dim == 0
	net, err := newPublished(name, weights, said.Tower.Positions, o)
	if err != nil {
		return nil, nil, err
	}
	net.Spec().Meta = map[string]string{computationMeta: describeComputation(said, net.Spec())}
	return &Model{Config: cfg, Net: net}, notes, nil
}

// usePublishedConfig takes from the configuration beside the weights how the network computes, where the
// run's configuration leaves it open. path is the file of weights.
func (n *NetworkConfig) usePublishedConfig(path string, notes *notes) error {
	weights, config := findPublishedFiles(filepath.Dir(path))
	if weights != path {
		return nil
	}
	f, err := zoo.ReadWeights(weights)
	if err != nil {
		return err
	}
	name, o, err := zoo.Guess(f)
	if err != nil {
		return nil // the weights are for a network that only its name tells
	}
	said, err := published.Read(weights, config)
	if err != nil {
		return err
	}
	if err := said.Tower.Apply(name, &o); err != nil {
		return fmt.Errorf("%s: %w", weights, err)
	}
	if n.Name == "" {
		n.Name, n.Width, n.Multiple = name, cmp.Or(n.Width, o.Width), cmp.Or(n.Multiple, o.Multiple)
		n.Patch, n.Registers = cmp.Or(n.Patch, o.Patch), cmp.Or(n.Registers, o.Registers)
		n.Depth, n.Hidden = cmp.Or(n.Depth, o.Depth), cmp.Or(n.Hidden, o.Hidden)
	}
	n.Heads, n.Act, n.Eps = cmp.Or(n.Heads, o.Heads), cmp.Or(n.Act, string(o.Act)), cmp.Or(n.Eps, o.Eps)
	n.Resample = cmp.Or(n.Resample, string(said.Tower.Positions))
	n.Padding, n.Pool = cmp.Or(n.Padding, string(o.Padding)), cmp.Or(n.Pool, string(o.Pool))
	o.NoHead = true
	spec, err := zoo.Network(name, o)
	if err != nil {
		return err
	}
	notes.add("the publisher says how network %s computes: %s", n.Name, describeComputation(said, spec))
	*notes = append(*notes, said.Notes...)
	return nil
}

// computationMeta is the key under which a network's description says how it computes beyond its weights, and where
// that is known from.
const computationMeta = "computed"

// describeComputation joins what is known of a network and its images to a text.
func describeComputation(n *published.Network, spec *nn.Spec) string {
	var words []string
	for _, f := range append(n.Tower.Facts(spec), n.Preparation.Facts()...) {
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}

// newPublished makes the network that a file of weights was guessed to be for. All of its parameters must be in the
// file, and all of the file in the network.
func newPublished(name, weights string, positions zoo.Resample, o zoo.Options) (*nn.Net, error) {
	spec, err := zoo.Network(name, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weights, err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		return nil, err
	}
	report, err := importWeights(net, weights, positions, "")
	if err != nil {
		return nil, err
	}
	if len(report.Missing)+len(report.MisShaped) > 0 {
		return nil, fmt.Errorf("%s does not fit network %s: %s", weights, name, report)
	}
	if unused := report.Unused(); len(unused) > 0 {
		return nil, fmt.Errorf("%s: network %s has no layer for %d of its tensors (%s): a network that computes with "+
			"them is not supported", weights, name, len(unused), unused[0])
	}
	return net, nil
}

// noNetworkError is the error about a folder without a network.
func noNetworkError(dir string) error {
	_, err := os.Stat(filepath.Join(dir, nn.SpecFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s holds no network: want %s and %s, config.json and %s, or an .onnx file: %w", dir, nn.SpecFile,
		nn.WeightsFile, publishedWeights, fs.ErrNotExist)
}
