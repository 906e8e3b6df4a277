package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

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
