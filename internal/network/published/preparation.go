package published

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/nn"
)

// Preparation says how a picture becomes the network's input: resized to the input's
// size, its values mapped to (v/255 - Mean) / Std, channels first. Unknown fields are
// zero.
type Preparation struct {
	// Pixels names the range of values, a preset of prepare.ParseNormalization.
	Pixels string
	// Mean and Std are the numbers of this range, for each channel: red, green and
	// blue, or with BGR blue, green and red.
	Mean, Std []float32
	BGR       bool
	// Fit says how a picture is made square. "cover" resizes the shorter side to Shorter
	// pixels and cuts out the middle; "stretch" resizes both sides to Shorter pixels and
	// cuts out the middle. Shorter 0 is the input's side, of which nothing is cut off.
	Fit     string
	Shorter int
	// Resample is the filter of the resizing: bilinear, bicubic, lanczos, nearest, box or
	// hamming, as Pillow computes them.
	Resample string
	// RawColours says that colours of another space than sRGB are not converted.
	RawColours bool
	// Unfit says why pictures cannot be made square as the files ask: it names the file and
	// the key. Fit is then "".
	Unfit string
	// FitSource is the name of the file that decided about Fit, Shorter and Resample.
	FitSource string
	// Side is the side of the images that the network was trained on, in pixels; 0 if the files
	// beside the network do not say it.
	Side int
	// Distance is what embeddings are compared by: euclidean or cosine.
	Distance string
	// Exported has two fingerprints of package run: that of the file as it is imported, and that of the network that
	// was exported. Neither is interpreted here.
	Exported string
	// Source says which evidence decided about Pixels: "the model's metadata", the name of a file
	// beside the network, "the network's first layers", "the type of its input, UINT8", or "the
	// file's name".
	Source string
}

// Raw is the text of RawColours, in metadata and as a value of data.colours.
const Raw = "raw"

// The values of Preparation.Fit.
const (
	cover   = "cover"
	stretch = "stretch"
)

// ForSide returns p for images of another side than Side: Shorter is in proportion.
func (p Preparation) ForSide(side int) Preparation {
	if p.Side > 0 && p.Shorter > 0 {
		p.Shorter = int(math.Round(float64(p.Shorter) * float64(side) / float64(p.Side)))
	}
	return p
}

// Facts says how images are prepared, and which file says so.
func (p *Preparation) Facts() (facts []Fact) {
	fit := p.Fit
	if p.Shorter > 0 {
		fit += fmt.Sprintf(" of %d pixels", p.Shorter)
	}
	for _, f := range []Fact{{"fit", fit, p.FitSource}, {"resampling", p.Resample, p.FitSource},
		{"pixels", p.Pixels, p.Source}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// Describe says in a sentence how a picture is prepared; "" if that is not known.
func (p *Preparation) Describe(in nn.Shape) string {
	if p.Pixels == "" || in.H*in.W == 1 {
		return ""
	}
	colours := "RGB"
	switch {
	case in.C == 1:
		colours = "grey (ITU-R 601 luma)"
	case p.BGR:
		colours = "BGR"
	}
	size := fmt.Sprintf("resized to %d x %d (height x width)", in.H, in.W)
	middle := fmt.Sprintf("middle %d x %d cut out (height x width)", in.H, in.W)
	switch {
	case p.Fit == cover && p.Shorter == 0:
		size = fmt.Sprintf("shorter side resized to %d pixels, %s", max(in.H, in.W), middle)
	case p.Fit == cover:
		size = fmt.Sprintf("shorter side resized to %d pixels, %s", p.Shorter, middle)
	case p.Shorter > 0:
		size = fmt.Sprintf("both sides resized to %d pixels, %s", p.Shorter, middle)
	}
	filter := "bilinear with antialiasing"
	if p.Resample != "" {
		filter = p.Resample + " as in Pillow"
	}
	return fmt.Sprintf("%s; %s, %s; (v / 255 - mean) / std with mean %v and std %v; "+
		"float32, batch x channels x height x width", colours, size, filter, p.Mean, p.Std)
}

// FormatNumbers writes a list of numbers.
func FormatNumbers(v []float32) string {
	var words []string
	for _, x := range v {
		words = append(words, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	return strings.Join(words, ",")
}
