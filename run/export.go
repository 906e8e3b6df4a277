package run

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
)

// Identity returns the identity of the model for the embeddings that it makes, with a name for people. The
// fingerprint covers the network and the preparation of photos, so it is the same wherever the model was read from.
// Bfloat16 does not count: it rounds the same embedding. The method reads all weights.
func (m *Model) Identity(name string) (embedding.Network, error) {
	id := embedding.Network{Name: name}
	net, err := m.Net.Fingerprint()
	if err != nil {
		return id, err
	}
	of := []any{net}
	in := m.Net.Spec().Input
	if in.H*in.W > 1 { // ready features are not prepared
		img, err := m.Config.Data.imagingConfig(false)
		if err != nil {
			return id, err
		}
		mean, std := img.Normalize.Numbers(in.C)
		var resampling any = false // as fingerprints had it before there were filters
		if img.Rounded {
			resampling = img.Filter
		}
		of = append(of, mean, std, img.Normalize.BGR && in.C > 1, img.Fit, img.Shorter, resampling,
			m.Config.Data.Chroma == smoothChroma, m.Config.Data.Crop)
		if m.Config.Data.Colours == rawColours {
			of = append(of, rawColours)
		}
		if id.Preparation, err = m.preparationText(); err != nil {
			return id, err
		}
	}
	text, err := json.Marshal(of)
	id.Fingerprint = fmt.Sprintf("k1:%x", sha256.Sum256(text))
	if as, of, ok := strings.Cut(m.Net.Spec().Meta[exportedMeta], " "); ok && as == id.Fingerprint {
		id.Fingerprint = of
	}
	return id, err
}

// Export writes the model as an ONNX file. Its layers may change on the way to the file, as those of batch norm are
// merged. The file says which network it was, so that Import gives it the same fingerprint. It does not if the file is
// changed or cut, or if photos are prepared otherwise.
func (m *Model) Export(w io.Writer) error {
	model, err := m.export()
	if err != nil {
		return err
	}
	return model.Write(w)
}

func (m *Model) export() (*onnxnet.Model, error) {
	p, err := m.preparation()
	if err != nil {
		return nil, err
	}
	model, err := onnxexport.Export(m.Net, p)
	if err != nil {
		return nil, err
	}
	is, err := m.Identity("")
	if err != nil {
		return nil, err
	}
	as, err := importedIdentity(model)
	if err != nil || as.Fingerprint == is.Fingerprint {
		return model, nil // networks for features are written, but not imported
	}
	p.Exported = as.Fingerprint + " " + is.Fingerprint
	model.Meta = published.Entries(&p, m.Net.Spec().Input)
	return model, nil
}

// importedIdentity returns the identity of an exported network when its file is imported.
func importedIdentity(model *onnxnet.Model) (id embedding.Network, err error) {
	dir, err := os.MkdirTemp("", "kindred-export-")
	if err != nil {
		return id, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "exported.onnx")
	if err := atomic.WriteFile(path, model.Write); err != nil {
		return id, err
	}
	m, _, err := Import(path, "", DataConfig{})
	if err != nil {
		return id, err
	}
	return m.Identity("")
}

// preparationText describes for people how photos become the network's input.
func (m *Model) preparationText() (string, error) {
	p, err := m.preparation()
	if err != nil {
		return "", err
	}
	in := m.Net.Spec().Input
	text := fmt.Sprintf("%d x %d, pixels %s, fit %s", in.H, in.W, p.Pixels, p.Fit)
	if p.Shorter > 0 {
		text += fmt.Sprintf(" after the shorter side is %d", p.Shorter)
	}
	if p.Resample != "" {
		text += ", resized by Pillow's filter " + p.Resample
	}
	if p.RawColours {
		text += ", colours as they are stored"
	}
	return text, nil
}

// Preparation says how a picture becomes the input of a model, for programs that run an exported
// model elsewhere: the picture is resized to Input, and its values become (v/255 - Mean) / Std,
// channels first. For a model of ready features all but Input and Distance is empty.
type Preparation struct {
	// Input is the network's input: height, width and channels.
	Input nn.Shape
	// Pixels names the range of values, a preset of prepare.ParseNormalization.
	Pixels string
	// Mean and Std are the numbers of this range, for each channel: red, green and blue, or with
	// BGR blue, green and red.
	Mean, Std []float32
	BGR       bool
	// Fit says how a picture is made square. "cover" resizes the shorter side to Shorter pixels
	// and cuts out the middle; "stretch" resizes both sides to Shorter pixels and cuts out the
	// middle. Shorter 0 is the input's side, of which nothing is cut off.
	Fit     string
	Shorter int
	// Resample is the filter of the resizing: bilinear, bicubic, lanczos, nearest, box or hamming,
	// as Pillow computes them; "" is bilinear with antialiasing.
	Resample string
	// RawColours says that colours of another space than sRGB are not converted.
	RawColours bool
	// Distance is what embeddings are compared by: euclidean or cosine.
	Distance string

	sentence string
}

// String describes the preparation in a sentence; "" for a model of ready features.
func (p Preparation) String() string { return p.sentence }

// Preparation returns how a picture becomes the model's input. The error is that of a configuration
// whose data.pixels is not a range of values.
func (m *Model) Preparation() (Preparation, error) {
	p, err := m.preparation()
	in := m.Net.Spec().Input
	return Preparation{Input: in, Pixels: p.Pixels, Mean: p.Mean, Std: p.Std, BGR: p.BGR, Fit: p.Fit,
		Shorter: p.Shorter, Resample: p.Resample, RawColours: p.RawColours, Distance: p.Distance,
		sentence: p.Describe(in)}, err
}

// Metadata returns the lines of an exported file that describe the preparation, by their keys.
func (m *Model) Metadata() (map[string]string, error) {
	p, err := m.preparation()
	if err != nil {
		return nil, err
	}
	lines := map[string]string{}
	for _, e := range published.Entries(&p, m.Net.Spec().Input) {
		lines[e.Key] = e.Value
	}
	return lines, nil
}
