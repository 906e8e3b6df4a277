package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// Import returns an existing network unchanged, and remarks for the user. path is an ONNX
// file, a folder that nn.Net.Save wrote, or one of its files, or a folder of Hugging Face or timm
// (config.json and weights of a network of package nn/zoo). Size, Channels, Fit, Shorter, Resample, Colours
// and Pixels of data say how Embed prepares images. If they are 0 or "", the file's metadata
// or name decides. Model.Distance returns how its embeddings are compared. cut names the last
// tensor or node to use of an ONNX file; "" leaves the classifier out. The error wraps
// fs.ErrNotExist if the network does not exist.
func Import(path, cut string, data DataConfig) (*Model, []string, error) {
	if n := (NetworkConfig{Pretrained: path}); !n.includesNetwork() {
		if cut != "" {
			return nil, nil, fmt.Errorf("%s is not an ONNX file (.onnx): only ONNX files can be cut, here at "+
				"%s", path, cut)
		}
		return loadSaved(path, data)
	}
	return importONNX(path, cut, data)
}

// importONNX implements Import for an ONNX file.
func importONNX(path, cut string, data DataConfig) (*Model, []string, error) {
	cfg := newImportConfig(NetworkConfig{Pretrained: path, Cut: cut}, data)
	file, err := cfg.importFileNetwork(path, cfg.Data.Size)
	if err != nil {
		return nil, nil, err
	}
	said, notes, err := cfg.adoptNetworkInput(file)
	if err != nil {
		return nil, nil, err
	}
	if err := cfg.Data.prepareAsStated(said, path); err != nil {
		return nil, nil, err
	}
	if err := cfg.setDistance(file.Preparation.Distance, path); err != nil {
		return nil, nil, err
	}
	net, err := nn.New(file.Spec, nn.Options{})
	if err != nil {
		return nil, nil, err
	}
	if err := net.SetState(file.Weights); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if said.Exported != "" {
		net.Spec().Meta = map[string]string{exportedMeta: said.Exported}
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}

// newImportConfig returns the configuration of an existing network that is used unchanged.
func newImportConfig(n NetworkConfig, data DataConfig) Config {
	cfg := Default()
	cfg.Data, cfg.Network = data, n
	cfg.Network.Normalize, cfg.Network.FrozenNorm = Off, Off
	cfg.Eval.Distance = eval.Cosine.String()
	return cfg
}

// prepareAsStated completes how pictures are prepared by what the network's file or folder, from, states.
func (d *DataConfig) prepareAsStated(said onnxnet.Preparation, from string) error {
	if said.Unfit == "" {
		said.Fit = cmp.Or(said.Fit, defaultFit(d.Channels))
	}
	if err := d.usePreparation(said); err != nil {
		return err
	}
	d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	if _, err := d.imagingConfig(false); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// setDistance sets eval.distance to the distance that the file at path states; see Model.Distance.
func (c *Config) setDistance(said, path string) error {
	c.Eval.Distance = cmp.Or(said, eval.Cosine.String())
	if _, err := eval.ParseDistance(c.Eval.Distance); err != nil {
		return fmt.Errorf("%s: distance of its embeddings: %w", path, err)
	}
	return nil
}

// LoadPretrained returns a network of package nn with the weights of a file, without its embedding
// layer and without training. data says how images are prepared, as for Import; Size is
// required. It is an error if the file lacks weights that the network needs.
func LoadPretrained(network, weights string, data DataConfig) (*Model, error) {
	return loadPretrained(network, weights, data, 0)
}

// loadPretrained is LoadPretrained with a last layer of dim values, which the file has too; 0 is none.
func loadPretrained(network, weights string, data DataConfig, dim int) (*Model, error) {
	cfg := newImportConfig(NetworkConfig{Name: network, Pretrained: weights}, data)
	d := &cfg.Data
	d.Channels, d.Chroma = cmp.Or(d.Channels, 3), cmp.Or(d.Chroma, smoothChroma)
	d.Fit = cmp.Or(d.Fit, defaultFit(d.Channels))
	net, _, err := newFilledNetwork(network, weights, zoo.ResampleTimm, zoo.Options{
		Input: nn.Shape{H: data.Size, W: data.Size, C: d.Channels}, Stem: zoo.StemLarge, Dim: dim, NoHead: dim == 0})
	if err != nil {
		return nil, err
	}
	return &Model{Config: cfg, Net: net}, nil
}

// newFilledNetwork makes a network with the weights of a file. All of its parameters must be in the file.
func newFilledNetwork(name, weights string, positions zoo.Resample, o zoo.Options) (
	*nn.Net, *zoo.ImportReport, error) {
	spec, err := zoo.Network(name, o)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", weights, err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		return nil, nil, err
	}
	report, err := importWeights(net, weights, positions, "")
	if err == nil && len(report.Missing)+len(report.MisShaped) > 0 {
		err = fmt.Errorf("%s does not fit network %s: %s", weights, name, report)
	}
	return net, report, err
}

// preparation returns how a picture becomes the network's input, for the export of a model.
func (m *Model) preparation() (onnxnet.Preparation, error) {
	d := &m.Config.Data
	in := m.Net.Spec().Input
	if in.H*in.W == 1 { // ready features
		return onnxnet.Preparation{Distance: m.Config.Eval.Distance}, nil
	}
	pixels := cmp.Or(d.Pixels, defaultPixels)
	norm, err := prepare.ParseNormalization(pixels)
	if err != nil {
		return onnxnet.Preparation{}, err
	}
	mean, std := norm.Numbers(in.C)
	return onnxnet.Preparation{Pixels: pixels, Mean: mean, Std: std, BGR: norm.BGR && in.C > 1, Fit: cmp.Or(d.Fit,
		defaultFit(in.C)), Shorter: d.Shorter, Resample: d.resampleFilter(), RawColours: d.Colours == rawColours,
		Distance: m.Config.Eval.Distance}, nil
}

// loadSaved returns the network that nn.Net.Save wrote. path is the folder or one of its two
// files. data says how images are prepared, as for Import. Settings that data leaves open come
// from the network: the size and the channels of its input, and from its description
// (nn.Spec.Meta) "pixels", "fit", "shorter", "resample" and "colours", as in DataConfig, and "distance", as in
// EvalConfig. notes tell the user which settings were not found. The error wraps
// fs.ErrNotExist if the network does not exist.
func loadSaved(path string, data DataConfig) (m *Model, notes []string, err error) {
	dir := path
	if name := filepath.Base(path); name == nn.WeightsFile || name == nn.SpecFile {
		dir = filepath.Dir(path)
	} else if info, err := os.Stat(path); path == "" || err == nil && !info.IsDir() {
		return nil, nil, fmt.Errorf("%q is not a network: want an .onnx file, %s with %s beside it, or a folder that "+
			"has one of them", path, nn.WeightsFile, nn.SpecFile)
	}
	if weights, config := findPublishedFiles(dir); weights != "" {
		return importPublished(weights, config, data)
	}
	if err := noNetworkError(dir); err != nil {
		return nil, nil, err
	}
	var opt nn.Options
	if _, err := os.Stat(filepath.Join(dir, nn.QuantizationFile)); err == nil {
		opt.Precision = nn.Int8
	}
	net, err := nn.Load(dir, opt)
	if err != nil {
		return nil, nil, err
	}
	in, meta := net.Spec().Input, net.Spec().Meta
	cfg := Default()
	cfg.Data = data
	cfg.Network.Precision = string(opt.Precision)
	if err := cfg.setDistance(meta["distance"], dir); err != nil {
		return nil, nil, err
	}
	if in.H*in.W == 1 { // ready features
		return &Model{Config: cfg, Net: net}, nil, nil
	}
	d := &cfg.Data
	if in.H != in.W || d.Size != 0 && d.Size != in.H || d.Channels != 0 && d.Channels != in.C {
		return nil, nil, fmt.Errorf("the network in %s takes images of %s, but they are prepared as squares with "+
			"data.size %d and data.channels %d (0: the network's own)", dir, in, d.Size, d.Channels)
	}
	d.Size, d.Channels, d.Chroma = in.H, in.C, cmp.Or(d.Chroma, meta["chroma"])
	said := onnxnet.Preparation{Pixels: meta["pixels"], Fit: meta["fit"], Resample: meta["resample"],
		RawColours: meta["colours"] == rawColours}
	if s := meta["shorter"]; s != "" && d.Shorter == 0 {
		if _, err := fmt.Sscan(s, &said.Shorter); err != nil {
			return nil, nil, fmt.Errorf("%s: meta: shorter is %q: must be a number of pixels", dir, s)
		}
	}
	if d.Pixels == "" && said.Pixels == "" {
		notes = append(notes, fmt.Sprintf("%s does not state the range of pixel values of the network (meta: "+
			"pixels): %s is assumed", filepath.Join(dir, nn.SpecFile), defaultPixels))
	}
	said.Fit = cmp.Or(said.Fit, defaultFit(d.Channels))
	if err := d.usePreparation(said); err != nil {
		return nil, nil, err
	}
	if err := firstProblem(&cfg); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}

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
	cfg, notes := newImportConfig(NetworkConfig{Name: name, Pretrained: weights}, data), said.Notes
	d, p := &cfg.Data, said.Preparation
	if d.Pixels == "" && p.Pixels == "" {
		notes = append(notes, fmt.Sprintf("%s does not state the range of pixel values of the network "+
			"(preprocessor_config.json): %s is assumed", filepath.Dir(config), defaultPixels))
	}
	d.Size, d.Channels = cmp.Or(d.Size, p.Side, o.Input.H), cmp.Or(d.Channels, o.Input.C)
	if err := d.prepareAsStated(p, filepath.Dir(config)); err != nil {
		return nil, nil, err
	}
	o.Input, o.NoHead = nn.Shape{H: d.Size, W: d.Size, C: d.Channels}, o.Dim == 0
	net, report, err := newFilledNetwork(name, weights, said.Tower.Positions, o)
	if err != nil {
		return nil, nil, err
	}
	if unused := report.Unused(); len(unused) > 0 {
		return nil, nil, fmt.Errorf("%s: network %s has no layer for %d of its tensors (%s): a network that computes "+
			"with them is not supported", weights, name, len(unused), unused[0])
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

// noNetworkError is the error about a folder without a network.
func noNetworkError(dir string) error {
	_, err := os.Stat(filepath.Join(dir, nn.SpecFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s holds no network: want %s and %s, config.json and %s, or an .onnx file: %w", dir, nn.SpecFile,
		nn.WeightsFile, publishedWeights, fs.ErrNotExist)
}

// LoadTextImage is LoadPretrained for embeddings that are compared with those of texts: CLIP's image tower
// keeps the projection that it ends with. Other networks are as LoadPretrained makes them.
func LoadTextImage(network, weights string, data DataConfig) (*Model, error) {
	f, err := zoo.ReadWeights(weights)
	if err != nil {
		return nil, err
	}
	return loadPretrained(network, weights, data, projectionLen(f))
}

// projectionLen is the length of the embeddings after the projection in a file of CLIP; 0 without one.
func projectionLen(f *safetensors.File) int {
	// Hugging Face has out x in, OpenAI in x out.
	for _, of := range []struct {
		name string
		axis int
	}{{"visual_projection.weight", 0}, {"visual.proj", 1}, {"proj", 1}} {
		if t := f.Tensor(of.name); t != nil && len(t.Shape) == 2 {
			return t.Shape[of.axis]
		}
	}
	return 0
}

// publishedWeights is the file of weights in a folder of Hugging Face's libraries or timm.
const publishedWeights = "model.safetensors"
