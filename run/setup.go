package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/keys"
	"github.com/kindred-ml/kindred/train"
)

// Setup is what a run is about to do.
type Setup struct {
	Dir    string // the run folder
	Config Config // resolved
	// Parts are the parts of the samples, the training part first. Why explains the
	// division in sentences.
	Parts   []PartSize
	Reasons []string
	// Spec describes the network. Imported says how pretrained weights fit it, and is nil
	// without pretrained weights.
	Spec     *nn.Spec
	Imported *zoo.ImportReport
	// Batch is the number of samples in a batch, and Batches the number of batches in an
	// epoch.
	Batch, Batches int
	// Memory is the planned memory of the run.
	Memory MemoryPlan
	// Notes are remarks for the user about the run and its training samples.
	Notes []string

	data            *data.Dataset
	pace            *pace  // of a run of train.minutes; else nil
	positivesReason string // why the positives were chosen; "" if a note says it
	usesProxies     bool   // samples are compared with proxies of the classes
}

// Fingerprint identifies the data set of the run.
func (s *Setup) Fingerprint() data.Fingerprint { return s.data.Fingerprint() }

// PartSize is the size of a part of the samples.
type PartSize struct {
	Name             string
	Samples, Classes int // classes by the fine label
	Labels           int // number of training labels
}

// String describes the setup in lines of at most 100 columns, unless a word is longer. It
// does not escape the names of files and classes.
func (s *Setup) String() string {
	const label, width = 13, 100
	var b strings.Builder
	for _, r := range s.rows() {
		for i, line := range keys.Wrap(r[1], width-label) {
			head := ""
			if i == 0 {
				head = r[0]
			}
			fmt.Fprintf(&b, "%-*s%s\n", label, head, line)
		}
	}
	return b.String()
}

// rows returns the entries of String: a title and its text.
func (s *Setup) rows() [][2]string {
	c := &s.Config
	item := "image"
	if s.data.Features != nil {
		item = "row"
	}
	out := [][2]string{{"data", fmt.Sprintf("%s: %s", cmp.Or(c.Data.Path, c.Data.Name, s.data.Name),
		enum.Count(s.data.Len(), item))}}
	if l := s.data.Levels; l != nil && l.Explain(c.Data.Label, "") != "" {
		out = append(out, [2]string{"labels", l.Explain(c.Data.Label, "kindred train --set data.label=")})
	}
	for _, p := range s.Parts {
		text := fmt.Sprintf("%s of %s", enum.Count(p.Samples, item), enum.Count(p.Classes, "class"))
		if p.Labels != p.Classes {
			text += fmt.Sprintf(", under %s", enum.Count(p.Labels, "label"))
		}
		out = append(out, [2]string{p.Name, text})
	}
	for i, why := range s.Reasons {
		out = append(out, [2]string{[]string{"division", ""}[min(i, 1)], why})
	}
	out = append(out, [2]string{"network", s.describeNetwork()}, [2]string{"batches", s.describeBatches()},
		[2]string{"objective", s.describeObjective()}, [2]string{"training", s.describeTraining()})
	if s.pace != nil {
		out = append(out, [2]string{"length", s.pace.row(s)})
	}
	out = append(out, [2]string{"memory", "about " + s.Memory.String()})
	if s.Dir != "" {
		out = append(out, [2]string{"run folder", s.Dir})
	}
	for _, n := range s.Notes {
		out = append(out, [2]string{"note", n})
	}
	return out
}

// describeNetwork describes the network, its input and its start.
func (s *Setup) describeNetwork() string {
	n, in := &s.Config.Network, s.Spec.Input
	name := n.Name
	if n.includesNetwork() {
		name = filepath.Base(n.Pretrained)
	}
	size := fmt.Sprintf("images of %d x %d x %d", in.H, in.W, in.C)
	if in.H*in.W == 1 {
		size = fmt.Sprintf("rows of %d values", in.C)
	}
	text := fmt.Sprintf("%s, from %s to embeddings of %d values", name, size, s.Spec.OutDim())
	if n.Normalize == On {
		text += " and length 1"
	}
	if n.LoRA.Rank > 0 {
		text += fmt.Sprintf(", trained by adapters of rank %d", n.LoRA.Rank)
	}
	if s.Imported == nil {
		return text + "; from scratch"
	}
	start := "pretrained"
	if !n.includesNetwork() {
		start = "pretrained weights " + n.Pretrained
	}
	text += fmt.Sprintf("; %s: %s", start, strings.ReplaceAll(s.Imported.String(), "\n", "; "))
	if a := len(s.Imported.Adapted); a > 0 {
		text += fmt.Sprintf("; %s adapted to the number of channels", enum.Count(a, "tensor"))
	}
	if n.Head == wccnHead {
		text += "; the embedding layer begins as " + wccnHead
	}
	return text
}

// describeBatches describes the batches of an epoch.
func (s *Setup) describeBatches() string {
	c := &s.Config.Sample
	if c.Name == customValue {
		return fmt.Sprintf("%d an epoch, of up to %d, drawn by the program's own sampler", s.Batches, s.Batch)
	}
	what := enum.Count(c.Classes, "class")
	if c.Name == hierarchical {
		what = fmt.Sprintf("%s x %d fine classes", enum.Count(c.Coarse, "coarse class"), c.Fine)
	}
	text := fmt.Sprintf("%d an epoch, of up to %d: %s x %d", s.Batches, s.Batch, what, c.PerClass)
	if c.Views > 1 {
		text += fmt.Sprintf(", each in %d views (%s)", c.Views, s.Config.Data.Augment)
	}
	return text
}

// describeObjective names the loss with its settings, and describes the mining.
func (s *Setup) describeObjective() string {
	c := &s.Config
	text := fmt.Sprint(c.Loss["name"])
	if text == customValue {
		text = "the program's own loss"
	}
	var names []string
	for k := range c.Loss {
		if k != "name" && k != "plus" {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		text += fmt.Sprintf(" %s=%v", k, c.Loss[k])
	}
	for _, w := range s.furtherLossNames() {
		text += " + " + w
	}
	if c.Mine[positivesKey] == customValue && c.Mine[negativesKey] == customValue {
		return text + "; the program chooses the triplets"
	}
	item := "each image"
	if s.data.Features != nil {
		item = "each row"
	}
	if s.usesProxies {
		return fmt.Sprintf("%s; %s is pulled towards the proxy of its class and pushed away from those of the others "+
			"(train.proxies %s)", text, item, c.Train.Proxies)
	}
	p, n := describePolicies(c.Mine)
	text += fmt.Sprintf("; %s is pulled towards %s (positives %v) and pushed away from %s (negatives %v)", item, p,
		c.Mine["positives"], n, c.Mine["negatives"])
	if s.positivesReason != "" {
		text += ", " + s.positivesReason
	}
	return text
}

// furtherLossNames returns the names of the losses that are added to the first one. A weight other
// than 1 precedes the name.
func (s *Setup) furtherLossNames() []string {
	list, _ := s.Config.Loss["plus"].([]any)
	var out []string
	for _, v := range list {
		m, _ := v.(map[string]any)
		text := fmt.Sprint(m["name"])
		if w := m["weight"]; w != nil && fmt.Sprint(w) != "1" {
			text = fmt.Sprintf("%v %s", w, text)
		}
		out = append(out, text)
	}
	return out
}

// describePolicies returns the policies of a section in plain words.
func describePolicies(m Section) (positive, negative string) {
	positive, negative = fmt.Sprint(m["positives"]), fmt.Sprint(m["negatives"])
	if p, err := objective.ParsePositivePolicy(positive); err == nil {
		positive = p.Words()
	}
	if n, err := objective.ParseNegativePolicy(negative); err == nil {
		negative = n.Words()
	}
	for _, words := range []*string{&positive, &negative} {
		if *words == customValue {
			*words = "what the program chooses"
		}
	}
	return positive, negative
}

// describeTraining describes the length of the run, the optimizer, and which epoch is kept.
func (s *Setup) describeTraining() string {
	t := &s.Config.Train
	kept := s.Config.BestRule()
	text := enum.Count(t.Epochs, "epoch")
	if t.Minutes > 0 {
		text = fmt.Sprintf("as many epochs as fit into %v minutes", t.Minutes)
	}
	if t.canEndEarly() || t.Budget != "" {
		text = "at most " + text
	}
	if t.Budget != "" {
		text += " or " + t.Budget
	}
	text += fmt.Sprintf(", %s, rate %v, seed %d", t.Optimizer, t.LR, t.Seed)
	if a := s.Config.Data.Augment; a != none && s.data.Features == nil {
		text += fmt.Sprintf(", %s augmentation", a)
	}
	what := "the last epoch"
	if kept.Metric != "" {
		what = kept.Rule(kept.Metric)
	}
	if a := t.Average; a != "" && a != none {
		if !strings.HasSuffix(a, stepsWord) {
			a += " epochs"
		}
		what = fmt.Sprintf("the average of the weights over %s, of %s", a, what)
	}
	text += "; keeps " + what
	if kept.Metric == "" {
		return text
	}
	if t.Line > 1 {
		text += fmt.Sprintf(" or the best of %d points on the line from the start to it", t.Line)
	}
	if t.canEndEarly() {
		text += fmt.Sprintf(", and ends after %s without a higher score", enum.Count(kept.Patience, "evaluation"))
	}
	return text
}

// UsualEpochs returns the range of epochs after which patience has ended runs like this one. It is
// zero if patience cannot end the run, or seldom does because the rate falls to 0.
func (s *Setup) UsualEpochs() (epochs [2]int) {
	t := &s.Config.Train
	if !t.canEndEarly() || !s.Config.Network.isPretrained() || t.Schedule == string(train.CosineRate) {
		return epochs
	}
	for i, samples := range []int{usualMinSamples, usualMaxSamples} {
		drawn := max(s.Batches*s.Batch, 1)
		epochs[i] = (samples + drawn - 1) / drawn
	}
	return epochs
}

// canEndEarly reports whether patience can end a run whose settings are resolved.
func (t *TrainConfig) canEndEarly() bool {
	return t.Best != none && t.Patience > 0 && t.Patience < t.Epochs
}

// pace is the measured pace of a run of train.minutes, and what follows from it.
type pace struct {
	minutes    float64
	step, eval time.Duration  // of a step, and of an evaluation after an epoch
	untrained  time.Duration  // of the evaluation before training
	scores     []train.Metric // of that evaluation
	setupTime  time.Duration  // from the start of the command to the first step
	deadline   time.Time      // of the last step
}

// row describes the length of the run for Setup.
func (p *pace) row(s *Setup) string {
	c := &s.Config
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2g s", d.Seconds()) }
	text := fmt.Sprintf("%v minutes: %s of %s at %s a step, evaluations of %s", p.minutes,
		enum.Count(c.Train.Epochs, "epoch"), enum.Count(s.Batches, "step"), seconds(p.step), seconds(p.eval))
	if c.Eval.Every > 1 {
		text += fmt.Sprintf(" every %d epochs", c.Eval.Every)
	}
	return fmt.Sprintf("%s, after %s of preparation", text, seconds(p.setupTime))
}
