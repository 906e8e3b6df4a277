package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// includesNetwork reports whether the weights are in a file that includes its network.
func (n *NetworkConfig) includesNetwork() bool {
	return strings.EqualFold(filepath.Ext(n.Pretrained), ".onnx")
}

// PretrainedIsFile reports whether Pretrained is a file instead of a name of weights.
func (n *NetworkConfig) PretrainedIsFile() bool {
	return filepath.Ext(n.Pretrained) != "" || strings.ContainsRune(n.Pretrained, filepath.Separator)
}

// isPretrained reports whether the network starts from pretrained weights.
func (n *NetworkConfig) isPretrained() bool { return n.Pretrained != "" && n.Pretrained != none }

// importFileNetwork imports the network of network.pretrained from the file at path, for images of
// the given side. It returns nil if the file includes no network.
func (c *Config) importFileNetwork(path string, size int) (*onnxnet.Network, error) {
	if !c.Network.includesNetwork() {
		return nil, nil
	}
	net, err := onnxnet.Read(path, onnxnet.Options{Cut: c.Network.Cut, Size: size})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	return net, nil
}

// fileSpec returns the network of a file with the head that the configuration asks for.
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
	cfg := Default()
	cfg.Data = data
	cfg.Network = NetworkConfig{Pretrained: path, Cut: cut, Normalize: Off, FrozenNorm: Off}
	file, err := cfg.importFileNetwork(path, cfg.Data.Size)
	if err != nil {
		return nil, nil, err
	}
	said, notes, err := cfg.adoptNetworkInput(file)
	if err != nil {
		return nil, nil, err
	}
	if said.Unfit == "" {
		said.Fit = cmp.Or(said.Fit, defaultFit(cfg.Data.Channels))
	}
	if err := cfg.Data.usePreparation(said); err != nil {
		return nil, nil, err
	}
	cfg.Data.Chroma = cmp.Or(cfg.Data.Chroma, smoothChroma)
	if err := cfg.setDistance(file.Preparation.Distance, path); err != nil {
		return nil, nil, err
	}
	if _, err := cfg.Data.imagingConfig(false); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
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

// loadPretrained is Pretrained with a last layer of dim values, which the file has too; 0 is none.
func loadPretrained(network, weights string, data DataConfig, dim int) (*Model, error) {
	cfg := Default()
	cfg.Data = data
	cfg.Network = NetworkConfig{Name: network, Pretrained: weights, Normalize: Off, FrozenNorm: Off}
	cfg.Eval.Distance = eval.Cosine.String()
	d := &cfg.Data
	d.Channels, d.Chroma = cmp.Or(d.Channels, 3), cmp.Or(d.Chroma, smoothChroma)
	d.Fit = cmp.Or(d.Fit, defaultFit(d.Channels))
	spec, err := zoo.Network(network, zoo.Options{
		Input: nn.Shape{H: data.Size, W: data.Size, C: cfg.Data.Channels}, Stem: zoo.StemLarge, Dim: dim,
		NoHead: dim == 0})
	if err != nil {
		return nil, err
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		return nil, err
	}
	report, err := importWeights(net, weights, zoo.ResampleTimm, "")
	if err != nil {
		return nil, err
	}
	if len(report.Missing)+len(report.MisShaped) > 0 {
		return nil, fmt.Errorf("%s does not fit network %s: %s", weights, network, report)
	}
	return &Model{Config: cfg, Net: net}, nil
}

// preparation returns how a picture becomes the network's input, for the export of a model.
func (m *Model) preparation() (onnxnet.Preparation, error) {
	d := &m.Config.Data
	in := m.Net.Spec().Input
	if in.H*in.W == 1 { // ready features
		return onnxnet.Preparation{Distance: m.Config.Eval.Distance}, nil
	}
	pixels := cmp.Or(d.Pixels, defaultPixels)
	norm, err := imaging.ParseNormalization(pixels)
	if err != nil {
		return onnxnet.Preparation{}, err
	}
	for i, s := range norm.Std {
		if s == 0 { // the zero value means no division
			norm.Std[i] = 1
		}
	}
	return onnxnet.Preparation{Pixels: pixels, Mean: norm.Mean[:in.C], Std: norm.Std[:in.C], BGR: norm.BGR && in.C > 1,
		Fit: cmp.Or(d.Fit, defaultFit(in.C)), Shorter: d.Shorter, Resample: d.resampleFilter(),
		RawColours: d.Colours == rawColours,
		Distance:   m.Config.Eval.Distance}, nil
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
	for _, p := range table.Problems(&cfg) {
		return nil, nil, fmt.Errorf("%s: %s: %s", dir, p.Key, p.Text)
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}
