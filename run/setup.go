package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/format/torchfile"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// Network is what a run needs from the engine that runs a network; *nn.Net
// implements it. Forward and Infer return embeddings that are valid until the
// next call.
type Network interface {
	Forward(x []float32, n int) *mat.Dense
	Backward(dE *mat.Dense)
	Infer(x []float32, n int) *mat.Dense
	Params() []*nn.Param
	Dim() int
	Spec() *nn.Spec
	// Step counts training passes; with the seed it determines what dropout drops.
	Step() uint64
	SetStep(n uint64)
	// Diagnose passes n images forward again and returns an error that names the
	// first layer to give a value that is not finite, or nil.
	Diagnose(x []float32, n int) error
	// SaveWith passes the files of the weights and of the description to write.
	SaveWith(write func(name string, content func(io.Writer) error) error) error
}

// OpenData opens the data set that cfg names, until ctx ends. home is the data
// folder, as data.Home returns it. Files of features may have the given formats beside those
// of package embedding.
func OpenData(ctx context.Context, cfg DataConfig, home string, formats ...embedding.Format) (*data.Dataset, error) {
	what := cmp.Or(cfg.Path, cfg.Name)
	if what == "" {
		return nil, fmt.Errorf("no data set: give --data PATH, or data.name or data.path in the configuration")
	}
	return data.Open(ctx, what, data.OpenOptions{Home: home, Labels: cfg.Labels, Formats: formats, Crop: cfg.Crop,
		Outside: cfg.Outside})
}

// selectData applies the label rule, the split and the limits of cfg, and notes in
// it what the split came to.
func selectData(d *data.Dataset, cfg *Config) (*data.Selected, error) {
	c := &cfg.Data
	sel, err := d.Select(data.Selection{
		Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Seed: cfg.Train.Seed,
	})
	if err != nil {
		return nil, err
	}
	c.Split = sel.Split
	if sel.Seen != nil && overlap(sel.Seen, sel.Train) {
		sel.Seen = nil // where only classes are held out, what is seen is what was trained on
	}
	shared := sel.Query == sel.Gallery
	sel.Train = limit(sel.Train, c.TrainLimit)
	sel.Query = limit(sel.Query, c.TestLimit)
	if sel.Seen != nil {
		sel.Seen = limit(sel.Seen, c.TestLimit)
	}
	if shared {
		sel.Gallery = sel.Query
	}
	return sel, nil
}

// overlap reports whether two parts share a sample.
func overlap(a, b *data.Part) bool {
	in := make(map[int]bool, b.Len())
	for _, i := range b.Index {
		in[i] = true
	}
	return slices.ContainsFunc(a.Index, func(i int) bool { return in[i] })
}

// limit keeps the first n samples of every fine class; 0 keeps all.
func limit(p *data.Part, n int) *data.Part {
	if n == 0 {
		return p
	}
	taken := map[int64]int{}
	var keep []int
	for i, y := range p.Fine {
		if taken[y]++; taken[y] <= n {
			keep = append(keep, i)
		}
	}
	return subset(p, keep)
}

// subset is the part with the samples at the given positions.
func subset(p *data.Part, pos []int) *data.Part {
	out := &data.Part{Data: p.Data, LabelClasses: p.LabelClasses, FineClasses: p.FineClasses}
	for _, i := range pos {
		out.Index = append(out.Index, p.Index[i])
		out.Label = append(out.Label, p.Label[i])
		out.Fine = append(out.Fine, p.Fine[i])
	}
	return out
}

// resolve fills in what cfg leaves to the data, so that the configuration alone
// says all; newSampler does it for what it leaves to the classes.
func (c *Config) resolve(d *data.Dataset, o *objective.Options) {
	if d.Features != nil {
		c.Network.Name = cmp.Or(c.Network.Name, "mlp")
	} else {
		w, h, ch := d.Source.Shape()
		if d.Boxes != nil {
			w, h = 0, 0
		}
		c.Data.Channels = cmp.Or(c.Data.Channels, ch, 3)
		if c.Data.Size == 0 {
			c.Data.Size = usualSize(w, h, c.Data.Channels)
		}
		if c.Data.Fit == "" {
			c.Data.Fit = "stretch"
			if c.Data.Channels == 3 {
				c.Data.Fit = "cover"
			}
		}
		name := "conv4"
		if c.Data.Size == 28 && c.Data.Channels == 1 {
			name = "mnist"
		}
		c.Network.Name = cmp.Or(c.Network.Name, name)
	}
	if c.Network.Normalize == Auto {
		c.Network.Normalize = On
		if c.Network.Dim < 4 {
			c.Network.Normalize = Off
		}
	}
	c.Mine["positives"] = o.Mine.Positives.String()
	c.Mine["negatives"] = o.Mine.Negatives.String()
}

// cacheImages puts the decoded images behind the selected samples, at no more than
// the size that the run can use: twice the final one where random parts are cut
// out. Where there is no place for a cache, the run goes without.
func (t *trainer) cacheImages(ctx context.Context) error {
	cfg := &t.cfg.Data
	dir, err := data.CacheHome()
	if err != nil {
		if t.opts.Resume { // the images of the cache may be smaller, and other bits
			return fmt.Errorf("the run was begun with data.cache: %w; set $HOME or $XDG_CACHE_HOME", err)
		}
		cfg.Cache = false
		t.note("data.cache is off, and images are decoded in every epoch: %v", err)
		return nil
	}
	a, err := imaging.ParseAugment(cfg.Augment)
	if err != nil {
		return err
	}
	side := max(cfg.Size, cfg.Shorter)
	if a.CropArea[1] > 0 {
		side *= 2
	}
	return t.sel.Cache(ctx, data.CacheOptions{Dir: dir, Side: side, SkipCorrupt: cfg.SkipCorrupt})
}

// usualSize is the side that images are brought to unless the user says: their
// own if they are small and square, 40 for line drawings, 64 for photographs.
func usualSize(w, h, channels int) int {
	switch {
	case w == h && w > 0 && w <= 64:
		return w
	case channels == 1:
		return 40
	}
	return 64
}

// networkSpec describes the network of cfg for samples of the given shape.
func networkSpec(cfg *Config, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	spec, err := nn.Network(n.Name, nn.NetworkOptions{
		Input: nn.Shape{H: h, W: w, C: ch}, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: nn.Stem(n.Stem), Dropout: n.Dropout,
	})
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	return spec, nil
}

// newNetwork makes the network that spec describes, as cfg says to start it.
// The report says how pretrained weights fit, nil without any.
func newNetwork(cfg *Config, spec *nn.Spec) (*nn.Net, *nn.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.Freeze, FrozenNorm: n.FrozenNorm})
	if err != nil {
		return nil, nil, err
	}
	if n.Pretrained == "" {
		return net, nil, nil
	}
	report, err := importWeights(net, n.Pretrained)
	return net, report, err
}

// importWeights starts the network from a file of weights. What the file lacks,
// such as the embedding layer, keeps its fresh values.
func importWeights(net *nn.Net, path string) (*nn.ImportReport, error) {
	f, err := torchfile.ReadWeights(path)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	report, err := net.Import(f, nn.ImportOptions{AdaptInput: true})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", path, err)
	}
	return report, nil
}

// fingerprint identifies the training samples and their labels, so that a run
// is not resumed on other data.
func fingerprint(p *data.Part) string {
	h := sha256.New()
	var b [16]byte
	for i, idx := range p.Index {
		h.Write([]byte(p.Data.Names[idx]))
		binary.LittleEndian.PutUint64(b[:8], uint64(p.Label[i]))
		binary.LittleEndian.PutUint64(b[8:], uint64(p.Fine[i]))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
