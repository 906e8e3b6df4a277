package textencoder

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Template is the usual text around a label: CLIP saw captions, not single words.
const Template = "a photo of a {}"

// Slot is the placeholder of the label in a template.
const Slot = "{}"

// defaultScale is the scale of CLIP, which its training limits to this value.
const defaultScale = 100

// Labels are embeddings of labels, with which photos are compared.
type Labels struct {
	Names []string
	Notes []string      // the texts that were cut off
	rows  *matrix.Dense // of unit length
	logit logit
}

// logit turns the cosine of a photo and a text into a logit, as in the tower's training.
type logit struct {
	scale, bias float64
	independent bool // each text has a separate probability, as in SigLIP; else the probabilities sum to 1
	isSet       bool // the weights have it
}

// Labels embeds labels: for each the mean over the templates, each of unit length.
func (t *Tower) Labels(ctx context.Context, names, templates []string) (*Labels, error) {
	if t.logit.independent && !t.logit.isSet {
		return nil, fmt.Errorf("the weights in %s have no logit_scale and logit_bias, which give probabilities their "+
			"meaning: take a file with both towers", t.dir)
	}
	l := &Labels{Names: names, rows: matrix.New(len(names), t.Dim()), logit: t.logit}
	for _, template := range templates {
		texts := make([]string, len(names))
		for i, name := range names {
			texts[i] = strings.ReplaceAll(template, Slot, name)
		}
		if err := t.checkDistinct(texts); err != nil {
			return nil, err
		}
		l.Notes = append(l.Notes, t.TruncationNotes(texts)...)
		rows, err := t.Embed(ctx, texts)
		if err == nil {
			err = NormalizeRows(rows)
		}
		if err != nil {
			return nil, err
		}
		for i, v := range rows.Data {
			l.rows.Data[i] += v
		}
	}
	return l, NormalizeRows(l.rows)
}

// SumToOne reports whether the probabilities of all labels sum to 1. Otherwise each is a separate probability.
func (l *Labels) SumToOne() bool { return !l.logit.independent }

// Probabilities returns the probability of each label for the embedding of a photo.
func (l *Labels) Probabilities(photo []float32) ([]float64, error) {
	x := matrix.New(1, len(photo))
	copy(x.Data, photo)
	if err := NormalizeRows(x); err != nil {
		return nil, err
	}
	p := make([]float64, len(l.Names))
	most := math.Inf(-1)
	for i := range p {
		for k, v := range l.rows.Row(i) {
			p[i] += float64(v) * float64(x.Data[k])
		}
		p[i] = p[i]*l.logit.scale + l.logit.bias
		most = max(most, p[i])
	}
	sum := 0.0
	for i := range p {
		if l.logit.independent {
			p[i] = 1 / (1 + math.Exp(-p[i]))
		} else {
			p[i] = math.Exp(p[i] - most)
			sum += p[i]
		}
	}
	for i := range p {
		if !l.logit.independent {
			p[i] /= sum
		}
	}
	return p, nil
}

// readLogit reads the scale and the bias of a file.
func readLogit(f *safetensors.File, each bool) (logit, error) {
	l := logit{scale: defaultScale, independent: each}
	read := func(name string) (float64, bool, error) {
		t := f.Tensor(name)
		if t == nil {
			return 0, false, nil
		}
		v, err := t.FiniteFloat32s()
		if err == nil && len(v) != 1 {
			err = fmt.Errorf("it has %d numbers: must be 1", len(v))
		}
		if err != nil {
			return 0, false, fmt.Errorf("the tensor %s: %w", name, err)
		}
		return float64(v[0]), true, nil
	}
	scale, has, err := read("logit_scale")
	if err != nil {
		return l, err
	}
	if has {
		if l.scale, l.isSet = math.Exp(scale), true; !(l.scale > 0 && l.scale < 1e6) {
			return l, fmt.Errorf("logit_scale is %g: its exponential must be above 0 and below 1e6", scale)
		}
	}
	if each {
		var bias bool
		l.bias, bias, err = read("logit_bias")
		l.isSet = l.isSet && bias
	}
	return l, err
}
