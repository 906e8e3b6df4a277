package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// networkSpec describes the network of cfg for samples of the given shape. file is the
// network that network.pretrained includes, or nil.
func networkSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	spec, err := plainSpec(cfg, file, h, w, ch)
	if l := cfg.Network.LoRA; err == nil && l.Rank > 0 {
		if spec, err = spec.WithLoRA(l.Rank, l.Alpha); err != nil {
			err = fmt.Errorf("network.lora: %w", err)
		}
	}
	return spec, err
}

// plainSpec is networkSpec without adapters.
func plainSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	if file != nil {
		return fileSpec(cfg, file, h, w, ch)
	}
	input := nn.Shape{H: h, W: w, C: ch}
	spec, err := n.spec(input)
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	for i := range table.Keys {
		k := &table.Keys[i]
		if k.AllowUnused == nil || table.Unset(cfg, k) || k.AllowUnused(cfg) {
			continue
		}
		without := *cfg
		table.Set(&without, k, nil)
		if other, err := without.Network.spec(input); err == nil && reflect.DeepEqual(other, spec) {
			return nil, fmt.Errorf("%s: network %s does not have this setting; leave it out", k.Name, n.Name)
		}
	}
	return spec, nil
}

// spec returns the network by its name.
func (n *NetworkConfig) spec(input nn.Shape) (*nn.Spec, error) {
	return zoo.Network(n.Name, zoo.Options{
		Input: input, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: zoo.Stem(n.Stem), Dropout: n.Dropout, NoHead: n.Dim == 0,
		Pool: zoo.Pool(n.Pool), Patch: n.Patch, Registers: n.Registers, DropPath: n.DropPath, Depth: n.Depth,
		Heads: n.Heads, Hidden: n.Hidden, Act: nn.Kind(n.Act), Eps: n.Eps, Padding: zoo.Padding(n.Padding),
	})
}

// positionResampling returns how tables of position embeddings are resampled.
func (n *NetworkConfig) positionResampling() zoo.Resample {
	if n.Resample == defaultPositionResampling {
		return zoo.ResampleTimm
	}
	return zoo.Resample(n.Resample)
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

// numFeatures returns the number of features before the embedding layer, for samples of the given shape.
func (c *Config) numFeatures(file *onnxnet.Network, h, w, ch int) (int, error) {
	if h*w == 1 && c.Network.hasFrozenBody() {
		return 0, fmt.Errorf("network.freeze=%s: a data set of ready features has no body to freeze", wholeBody)
	}
	bare := *c
	bare.Network.Dim, bare.Network.Normalize, bare.Network.HeadNorm = 0, Off, false
	spec, err := networkSpec(&bare, file, h, w, ch)
	if err != nil {
		return 0, err
	}
	return spec.OutDim(), nil
}

// newNetwork makes the network that spec describes, with the start that cfg asks for.
// The report says how pretrained weights fit, and is nil without pretrained weights.
func newNetwork(cfg *Config, file *onnxnet.Network, path string, spec *nn.Spec) (*nn.Net, *zoo.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.frozenPrefixes(),
		FreezeBody: n.hasFrozenBody() || n.LoRA.Rank > 0,
		FrozenNorm: n.FrozenNorm == On, Precision: nn.Precision(n.Precision)})
	if err != nil {
		return nil, nil, err
	}
	if !n.isPretrained() {
		return net, nil, nil
	}
	if file != nil {
		report, err := zoo.Import(net, file.Weights, zoo.ImportOptions{})
		if err != nil {
			err = fmt.Errorf("network.pretrained: %s: %w", n.Pretrained, err)
		}
		return net, report, err
	}
	own := "" // a layer that is computed
	if n.Head == wccnHead {
		own = spec.Head()
	}
	report, err := importWeights(net, path, n.positionResampling(), own)
	return net, report, err
}

// importWeights starts the network from a file of weights. Parameters that the file lacks,
// such as the embedding layer, keep their random values. So do those of the layer own.
func importWeights(net *nn.Net, path string, how zoo.Resample, own string) (*zoo.ImportReport, error) {
	f, err := zoo.ReadWeights(path)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	report, err := zoo.Import(net, f, zoo.ImportOptions{AdaptInput: true, Positions: how, KeepLayer: own})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", path, err)
	}
	return report, nil
}

// adapterNet is a network of which only adapters and the head are trained (network.lora).
//
// Checkpoints hold these alone. What they are added to comes from network.pretrained, or is
// drawn again from train.seed, when a run is resumed; base tells whether it is the same. The
// network that a run saves has the adapters merged, so that nothing else needs to know them.
type adapterNet struct{ *nn.Net }

// Params returns the parameters that training changes.
func (a *adapterNet) Params() []*nn.Param {
	var out []*nn.Param
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			out = append(out, p)
		}
	}
	return out
}

// baseDigest is a digest of the other parameters.
func (a *adapterNet) baseDigest() string {
	sum := sha256.New()
	var b []byte
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			continue
		}
		sum.Write([]byte(p.Name))
		b = b[:0]
		for _, v := range p.Value {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// headNetwork is a network whose body is frozen. Its input is features. It computes the head, whose
// parameters it shares with the whole network.
type headNetwork struct {
	*nn.Net // the head
	body    *nn.Net
	whole   *nn.Net // the network that is saved
}

func newHeadNetwork(whole *nn.Net) (*headNetwork, error) {
	body, err := whole.Body()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	head, err := whole.Tail()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	return &headNetwork{head, body, whole}, nil
}

// Params returns the parameters of the whole network, so that a checkpoint contains them.
func (h *headNetwork) Params() []*nn.Param { return h.whole.Params() }

// describePreparation adds the preparation of the input to the meta data of a network's description.
func describePreparation(net *nn.Net, cfg *Config) {
	net.Spec().Meta = map[string]string{
		"pixels": cfg.Data.Pixels, "channels": strconv.Itoa(cfg.Data.Channels),
		"loss": fmt.Sprint(cfg.Loss["name"]), "distance": cfg.Eval.Distance,
		"fit": cfg.Data.Fit, "chroma": cfg.Data.Chroma,
	}
	if name := cfg.Data.resampleFilter(); name != "" {
		net.Spec().Meta["resample"] = name
	}
	if cfg.Data.Colours == rawColours {
		net.Spec().Meta["colours"] = rawColours
	}
	if cfg.Data.Shorter > 0 {
		net.Spec().Meta["shorter"] = strconv.Itoa(cfg.Data.Shorter)
	}
}

// adoptNetworkInput settles the size and the channels of images by the network of a file. It returns the
// preparation that the file states, and remarks for the user.
func (c *Config) adoptNetworkInput(net *onnxnet.Network) (onnxnet.Preparation, []string, error) {
	in, said := net.Spec.Input, net.Preparation
	notes := net.Notes
	if c.Data.Size == 0 && in.H != in.W {
		return said, nil, fmt.Errorf("network.pretrained: %s takes images of %d x %d, which are not square: set "+
			"data.size to the side of square images", c.Network.Pretrained, in.H, in.W)
	}
	if c.Data.Channels != 0 && c.Data.Channels != in.C {
		return said, nil, fmt.Errorf("data.channels is %d, but %s takes %d", c.Data.Channels, c.Network.Pretrained,
			in.C)
	}
	if said.Pixels == "" && c.Data.Pixels == "" {
		said.Pixels = "imagenet"
		notes = append(notes, "the model does not state its range of pixel values: imagenet is assumed; "+
			"set data.pixels if that is wrong")
	} else {
		notes = append(notes, c.Data.describePixelRange(&said)...)
	}
	c.Data.Size, c.Data.Channels = in.H, in.C
	return said, notes, nil
}

// describePixelRange gives the range of pixel values its name, if it has one, and tells which evidence decided.
func (d *DataConfig) describePixelRange(said *onnxnet.Preparation) []string {
	if n, err := prepare.ParseNormalization(said.Pixels); err == nil && said.Pixels != "" {
		said.Pixels = n.String()
	}
	if d.Pixels != "" || said.Pixels == "" || said.Source == "" {
		return nil
	}
	return []string{fmt.Sprintf("data.pixels is %s, from %s", said.Pixels, said.Source)}
}

// usePreparation settles how pictures are prepared, by the preparation that the network's file states.
func (d *DataConfig) usePreparation(said onnxnet.Preparation) error {
	if d.Fit == "" && said.Unfit != "" {
		return fmt.Errorf("%s: set data.fit to stretch or cover to make images square in another way", said.Unfit)
	}
	if d.Fit == "" || d.Fit == said.Fit {
		d.Fit, d.Shorter = said.Fit, cmp.Or(d.Shorter, said.Shorter)
	}
	d.Pixels = cmp.Or(d.Pixels, said.Pixels, defaultPixels)
	d.Resample = cmp.Or(d.Resample, said.Resample)
	if d.Colours == "" && said.RawColours {
		d.Colours = rawColours
	}
	return nil
}

// defaultPixels is the default range of pixel values.
const defaultPixels = "unit"

// defaultFit returns how images with this number of channels are made square.
func defaultFit(channels int) string {
	if channels == 3 {
		return prepare.Cover.String()
	}
	return prepare.Stretch.String()
}

// exportedMeta is the key of Preparation.Exported in the description of a network that was imported.
const exportedMeta = "exported"
