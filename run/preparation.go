package run

import (
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
)

// Preparation says how a picture becomes the input of a model, for programs that run an exported
// model elsewhere: the picture is resized to Input, and its values become (v/255 - Mean) / Std,
// channels first. For a model of ready features all but Input and Distance is empty.
type Preparation struct {
	// Input is the network's input: height, width and channels.
	Input nn.Shape
	// Pixels names the range of values, a preset of imaging.ParseNormalization.
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
	for _, e := range onnxnet.Entries(&p, m.Net.Spec().Input) {
		lines[e.Key] = e.Value
	}
	return lines, nil
}
