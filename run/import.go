package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// includesNetwork tells whether the weights are a file that includes its network.
func (n *NetworkConfig) includesNetwork() bool {
	return strings.EqualFold(filepath.Ext(n.Pretrained), ".onnx")
}

// PretrainedFile tells whether Pretrained is a file, and not the name of weights.
func (n *NetworkConfig) PretrainedFile() bool {
	return filepath.Ext(n.Pretrained) != "" || strings.ContainsRune(n.Pretrained, filepath.Separator)
}

// pretrained tells whether the network starts from weights.
func (n *NetworkConfig) pretrained() bool { return n.Pretrained != "" && n.Pretrained != none }

// fileNetwork imports the network that network.pretrained includes and that can be read at path,
// for images of the given side; nil if it includes none.
func (c *Config) fileNetwork(path string, size int) (*onnxnet.Network, error) {
	if !c.Network.includesNetwork() {
		return nil, nil
	}
	net, err := onnxnet.Read(path, onnxnet.Options{Cut: c.Network.Cut, Size: size})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	return net, nil
}

// fileSpec is the network of a file with the head that the configuration asks for.
func fileSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	if in := file.Spec.Input; in.H != h || in.W != w || in.C != ch {
		return nil, fmt.Errorf("network.pretrained: %s takes samples of %s, not of %d x %d x %d", n.Pretrained, in, h,
			w, ch)
	}
	spec, err := zoo.WithHead(file.Spec, zoo.Options{
		Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm, Dropout: n.Dropout, NoHead: n.Dim == 0,
	})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", n.Pretrained, err)
	}
	return spec, nil
}

// Import returns a network from elsewhere unchanged, and remarks for the user. path is an
// ONNX file, or a folder that nn.Net.Save wrote, or one of its files. Size, Channels, Fit,
// Shorter and Pixels of data say how Embed prepares images; where they are 0 or "", the
// file's metadata or name decides. Model.Distance says how its embeddings are compared. cut
// names the last tensor or node to use of an ONNX
// file; "" leaves the classifier out. The error wraps fs.ErrNotExist if there is no such
// network.
func Import(path, cut string, data DataConfig) (*Model, []string, error) {
	if n := (NetworkConfig{Pretrained: path}); !n.includesNetwork() {
		if cut != "" {
			return nil, nil, fmt.Errorf("%s: only a network of ONNX (.onnx) is cut, at %s", path, cut)
		}
		return saved(path, data)
	}
	return imported(path, cut, data)
}

// imported is Import of an ONNX file.
func imported(path, cut string, data DataConfig) (*Model, []string, error) {
	cfg := Default()
	cfg.Data = data
	cfg.Network = NetworkConfig{Pretrained: path, Cut: cut, Normalize: Off, FrozenNorm: Off}
	file, err := cfg.fileNetwork(path, cfg.Data.Size)
	if err != nil {
		return nil, nil, err
	}
	said, notes, err := cfg.adopt(file)
	if err != nil {
		return nil, nil, err
	}
	said.Fit = cmp.Or(said.Fit, fitFor(cfg.Data.Channels))
	cfg.Data.prepareAs(said)
	cfg.Data.Chroma = cmp.Or(cfg.Data.Chroma, smoothChroma)
	if err := cfg.compareBy(file.Preparation.Distance, path); err != nil {
		return nil, nil, err
	}
	net, err := nn.New(file.Spec, nn.Options{})
	if err != nil {
		return nil, nil, err
	}
	if err := net.SetState(file.Weights); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}

// compareBy takes over how a file says that its embeddings are compared; see Model.Distance.
func (c *Config) compareBy(said, path string) error {
	c.Eval.Distance = cmp.Or(said, rank.Cosine.String())
	if _, err := rank.ParseDistance(c.Eval.Distance); err != nil {
		return fmt.Errorf("%s: how its embeddings are compared: %w", path, err)
	}
	return nil
}

// Pretrained returns a network known to package nn by name with the weights of a
// file, without its embedding layer and without training. data says how images
// are prepared, as for Import; Size is required. Weights that the network needs
// and the file lacks are an error.
func Pretrained(network, weights string, data DataConfig) (*Model, error) {
	cfg := Default()
	cfg.Data = data
	cfg.Network = NetworkConfig{Name: network, Pretrained: weights, Normalize: Off, FrozenNorm: Off}
	cfg.Eval.Distance = rank.Cosine.String()
	d := &cfg.Data
	d.Channels, d.Chroma = cmp.Or(d.Channels, 3), cmp.Or(d.Chroma, smoothChroma)
	d.Fit = cmp.Or(d.Fit, fitFor(d.Channels))
	spec, err := zoo.Network(network, zoo.Options{
		Input: nn.Shape{H: data.Size, W: data.Size, C: cfg.Data.Channels}, Stem: zoo.StemLarge, NoHead: true})
	if err != nil {
		return nil, err
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		return nil, err
	}
	report, err := importWeights(net, weights, zoo.ResampleTimm)
	if err != nil {
		return nil, err
	}
	if len(report.Missing)+len(report.MisShaped) > 0 {
		return nil, fmt.Errorf("%s does not fit network %s: %s", weights, network, report)
	}
	return &Model{Config: cfg, Net: net}, nil
}

// Preparation says how a picture becomes the network's input, for the export of a model.
func (m *Model) Preparation() (onnxnet.Preparation, error) {
	d := &m.Config.Data
	in := m.Net.Spec().Input
	if in.H*in.W == 1 { // ready features
		return onnxnet.Preparation{Distance: m.Config.Eval.Distance}, nil
	}
	pixels := cmp.Or(d.Pixels, usualPixels)
	norm, err := imaging.ParseNormalization(pixels)
	if err != nil {
		return onnxnet.Preparation{}, err
	}
	for i, s := range norm.Std {
		if s == 0 { // of the zero value, which divides by nothing
			norm.Std[i] = 1
		}
	}
	return onnxnet.Preparation{Pixels: pixels, Mean: norm.Mean[:in.C], Std: norm.Std[:in.C], BGR: norm.BGR && in.C > 1,
		Fit: cmp.Or(d.Fit, fitFor(in.C)), Shorter: d.Shorter, Distance: m.Config.Eval.Distance}, nil
}

// saved returns the network that nn.Net.Save wrote; path is the folder or one of its two
// files. data says how images are prepared, as for Import. What data leaves open comes from
// the network: the size and the channels of its input, and "pixels", "fit" and "shorter"
// among the remarks of its description (nn.Spec.Meta), which mean what DataConfig says, and
// "distance", which is EvalConfig's.
// notes tell the user what was found nowhere. The error wraps fs.ErrNotExist if there is no
// such network.
func saved(path string, data DataConfig) (m *Model, notes []string, err error) {
	dir := path
	if name := filepath.Base(path); name == nn.WeightsFile || name == nn.SpecFile {
		dir = filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(dir, nn.SpecFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s holds no network, which is a %s and a %s, or an .onnx file: %w", dir,
			nn.SpecFile, nn.WeightsFile, fs.ErrNotExist)
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
	if err := cfg.compareBy(meta["distance"], dir); err != nil {
		return nil, nil, err
	}
	if in.H*in.W == 1 { // ready features
		return &Model{Config: cfg, Net: net}, nil, nil
	}
	d := &cfg.Data
	if in.H != in.W || d.Size != 0 && d.Size != in.H || d.Channels != 0 && d.Channels != in.C {
		return nil, nil, fmt.Errorf("the network in %s takes images of %s, and they are prepared square, of data.size "+
			"%d and data.channels %d (0: as the network says)", dir, in, d.Size, d.Channels)
	}
	d.Size, d.Channels = in.H, in.C
	said := onnxnet.Preparation{Pixels: meta["pixels"], Fit: meta["fit"]}
	if s := meta["shorter"]; s != "" && d.Shorter == 0 {
		if _, err := fmt.Sscan(s, &said.Shorter); err != nil {
			return nil, nil, fmt.Errorf("%s: meta: shorter is %q and no number of pixels", dir, s)
		}
	}
	if d.Pixels == "" && said.Pixels == "" {
		notes = append(notes, fmt.Sprintf("%s does not say what range of pixel values the network takes (meta: "+
			"pixels): %s is assumed", filepath.Join(dir, nn.SpecFile), usualPixels))
	}
	said.Fit = cmp.Or(said.Fit, fitFor(d.Channels))
	d.prepareAs(said)
	for _, p := range table.Problems(&cfg) {
		return nil, nil, fmt.Errorf("%s: %s: %s", dir, p.Key, p.Text)
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}
