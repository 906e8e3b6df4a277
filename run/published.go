package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// publishedConfig is the file that a folder of Hugging Face or timm has beside the weights.
const publishedConfig = "config.json"

// publishedIn returns the file of weights of such a folder; "" if dir is not one.
func publishedIn(dir string) string {
	is := func(name string) bool {
		st, err := os.Stat(filepath.Join(dir, name))
		return err == nil && st.Mode().IsRegular()
	}
	if !is(publishedConfig) || is(nn.SpecFile) {
		return ""
	}
	if !is(publishedWeights) {
		return ""
	}
	return filepath.Join(dir, publishedWeights)
}

// PublishedFiles returns the files of a network that Import reads from a folder of Hugging Face or timm: config.json
// and the weights; nil if dir is not such a folder.
func PublishedFiles(dir string) []string {
	if weights := publishedIn(dir); weights != "" {
		return []string{filepath.Join(dir, publishedConfig), weights}
	}
	return nil
}

// published returns the image network of a folder of Hugging Face or timm, by the names and the shapes of its weights.
// CLIP's keeps the projection that it ends with.
func published(dir, weights string, data DataConfig) (*Model, []string, error) {
	f, err := zoo.ReadWeights(weights)
	if err != nil {
		return nil, nil, err
	}
	name, o, err := zoo.Guess(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", weights, err)
	}
	said, notes, err := onnxnet.Beside(dir)
	if err != nil {
		return nil, nil, err
	}
	cfg := Default()
	cfg.Data = data
	cfg.Network = NetworkConfig{Name: name, Pretrained: weights, Normalize: Off, FrozenNorm: Off}
	cfg.Eval.Distance = rank.Cosine.String()
	d := &cfg.Data
	if d.Pixels == "" && said.Pixels == "" {
		notes = append(notes, fmt.Sprintf("%s does not state the range of pixel values of the network "+
			"(preprocessor_config.json): %s is assumed", dir, usualPixels))
	}
	d.Size, d.Channels = cmp.Or(d.Size, said.Side, o.Input.H), cmp.Or(d.Channels, o.Input.C)
	d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	said.Fit = cmp.Or(said.Fit, fitFor(d.Channels))
	d.prepareAs(said)
	if _, err := d.images(false); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	o.Input = nn.Shape{H: d.Size, W: d.Size, C: d.Channels}
	o.Dim = projected(f)
	o.NoHead = o.Dim == 0
	spec, err := zoo.Network(name, o)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		return nil, nil, err
	}
	report, err := importWeights(net, weights, zoo.ResampleTimm)
	if err != nil {
		return nil, nil, err
	}
	if len(report.Missing)+len(report.MisShaped) > 0 {
		return nil, nil, fmt.Errorf("%s does not fit network %s: %s", weights, name, report)
	}
	return &Model{Config: cfg, Net: net}, notes, nil
}

// noNetwork is the error about a folder without a network.
func noNetwork(dir string) error {
	_, err := os.Stat(filepath.Join(dir, nn.SpecFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s holds no network: want %s and %s, %s and %s, or an .onnx file: %w", dir, nn.SpecFile,
		nn.WeightsFile, publishedConfig, publishedWeights, fs.ErrNotExist)
}
