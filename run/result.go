package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// Result is the outcome of a run.
type Result struct {
	Dir     string // the run folder
	Config  Config // resolved
	History []train.Epoch
	Net     *nn.Net
	// Test and Seen are the embeddings that were scored last: of the test split's queries, and of
	// the test samples of seen classes.
	Test, Seen *Embeddings
	// Params is the number of trained values. Wait is the share of training time spent waiting
	// for data.
	Params    int
	WaitShare float64
	Duration  time.Duration
	Notes     []string // see Setup
	// Epoch is the epoch of the final network: the last or, with train.best, the best one. 0 is
	// the network before training. Scores are the scores of that network. Untrained are the scores
	// of a pretrained start before training, at that network's own image size, whatever size
	// the run trains at.
	Epoch             int
	Scores, Untrained []train.Metric
	// UntrainedSize is the side of the images for Untrained; 0 without Untrained.
	UntrainedSize int
	// InterpolationWeight is the place of the network on the line from the start (0) to the epoch's weights
	// (1); 0 without train.line.
	InterpolationWeight float64
	// WCCNSamples is the number of training samples from whose features the run computed the last layer of the network,
	// "wccn", if it ends with the untrained network; 0 without such a layer.
	WCCNSamples int
	// Verdict explains that the run ended no better than it began; "" if it ended better.
	Verdict string
	// GalleryNote explains why validation and test scores differ; "" if their galleries have about
	// the same size.
	GalleryNote string
	// LeftOut lists the files and samples that were not used.
	LeftOut []data.LeftOut
}

// LastEpoch returns the last epoch's row.
func (r *Result) LastEpoch() *train.Epoch { return &r.History[len(r.History)-1] }

// finish writes the network and the embeddings of the sets that were scored.
func (t *trainer) finish(ctx context.Context, trained *train.Result) (*Result, error) {
	if trained.Epoch == 0 {
		if err := t.returnUntrained(ctx); err != nil {
			return nil, t.completeError(t.newStoppedError(err))
		}
	}
	res := &Result{Dir: t.plan.opts.Dir, Config: t.plan.cfg, Notes: t.plan.notes,
		WaitShare: t.plan.feeds.training.Stats().WaitShare(), Duration: time.Since(t.startTime),
		History: trained.History, Epoch: trained.Epoch, Scores: trained.Metrics, Untrained: trained.Untrained,
		InterpolationWeight: trained.Place, WCCNSamples: t.numWCCNSamples, Verdict: t.verdict(trained)}
	if len(res.Untrained) > 0 && t.plan.split.Train.Data.Features == nil {
		res.UntrainedSize = t.plan.cfg.Data.Size
		if t.plan.untrained != nil {
			res.UntrainedSize = t.plan.start.side
		}
	}
	for _, p := range t.plan.network.net.Params() {
		if p.Grad != nil {
			res.Params += len(p.Value)
		}
	}
	if !t.modelSaved { // the run was resumed after the last epoch
		if err := t.saveModel(); err != nil {
			return nil, err
		}
	}
	var err error
	if res.Net, err = t.plan.network.net.MergeLoRA(); err != nil {
		return nil, err
	}
	by, err := (&Model{Config: t.plan.cfg, Net: res.Net}).Identity(res.Net.Spec().Name)
	if err != nil {
		return nil, err
	}
	for _, s := range t.plan.feeds.scored {
		if s.q == nil { // resumed after the last epoch
			if err := s.embedAll(ctx, t.plan.network.trained, t.plan.cfg.Eval.Batch); err != nil {
				return nil, t.completeError(t.newStoppedError(err))
			}
		}
		switch s.set {
		case TestSet:
			res.Test = s.q
		case SeenSet:
			res.Seen = s.q
		}
		if t.record == nil {
			continue
		}
		if err := t.record.WriteEmbeddings(s.set.prefix(), s.q.recorded(), by); err != nil {
			return nil, err
		}
		if s.g != nil && s.set == TestSet {
			if err := t.record.WriteEmbeddings(GallerySet.prefix(), s.g.recorded(), by); err != nil {
				return nil, err
			}
		}
	}
	res.GalleryNote, res.LeftOut = describeGalleryGap(t.plan.feeds.scored), t.leftOut()
	return res, nil
}

// Summary is the result of a run as one JSON document.
type Summary struct {
	Dir         string  `json:"dir,omitempty"`
	Epochs      int     `json:"epochs"`
	Steps       int     `json:"steps"`
	Parameters  int     `json:"parameters"`
	Loss        float64 `json:"loss"` // mean of the last epoch
	ActiveShare float64 `json:"active_share"`
	NoPositive  int     `json:"anchors_without_positive"` // of the last epoch
	// Metrics are the scores of the final network, that of Epoch. Untrained are the scores of a
	// pretrained network before training.
	Epoch               int                `json:"epoch"`
	Metrics             map[string]float64 `json:"metrics"`
	Untrained           map[string]float64 `json:"untrained,omitempty"`
	UntrainedSize       int                `json:"untrained_size,omitempty"` // of the images, in pixels
	InterpolationWeight float64            `json:"place,omitempty"`          // see Result
	WCCNSamples         int                `json:"computed,omitempty"`       // see Result
	Verdict             string             `json:"verdict,omitempty"`
	GalleryNote         string             `json:"beside,omitempty"` // see Result
	Seconds             float64            `json:"seconds"`
	WaitedForData       float64            `json:"waited_for_data"` // share of the training time
	TrainingLabels      string             `json:"training_labels,omitempty"`
	// Notes are remarks about the run. Warnings are remarks about epochs.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// LeftOut lists the files and samples that were not used.
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

// Summary returns the summary of the run in dir.
func (r *Result) Summary(dir string) Summary {
	last := r.LastEpoch()
	s := Summary{
		Dir: dir, Epoch: r.Epoch, Epochs: len(r.History), Parameters: r.Params, Loss: last.MeanLoss(),
		ActiveShare: last.ActiveShare(),
		NoPositive:  last.NoPositive, Metrics: map[string]float64{}, GalleryNote: r.GalleryNote,
		UntrainedSize:       r.UntrainedSize,
		InterpolationWeight: r.InterpolationWeight, WCCNSamples: r.WCCNSamples, Verdict: r.Verdict,
		Seconds: math.Round(r.Duration.Seconds()*1000) / 1000, WaitedForData: r.WaitShare,
		TrainingLabels: r.Config.Data.Label, Notes: r.Notes, LeftOut: r.LeftOut,
	}
	for _, e := range r.History {
		s.Steps += e.Steps
		if e.Warning != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("epoch %d: %s", e.Epoch, e.Warning))
		}
	}
	for _, m := range r.Scores {
		s.Metrics[m.Key()] = m.Value
	}
	if len(r.Untrained) > 0 {
		s.Untrained = map[string]float64{}
	}
	for _, m := range r.Untrained {
		s.Untrained[m.Key()] = m.Value
	}
	return s
}

// describeGalleryGap explains why validation and test scores cannot be compared if their galleries differ
// in size; "" if they can be compared. Every image in a gallery can be mistaken for the right
// one, so a larger gallery gives lower scores.
func describeGalleryGap(sets []*scoredSet) string {
	test, validation := findSet(sets, TestSet), findSet(sets, ValidationSet)
	if test == nil || validation == nil {
		return ""
	}
	item := "image"
	if test.query.Data.Features != nil {
		item = "row"
	}
	v, vc := validation.gallerySize()
	t, tc := test.gallerySize()
	if haveSimilarSize(v, t) && haveSimilarSize(vc, tc) {
		return ""
	}
	return fmt.Sprintf("the validation gallery has %s of %s and the test gallery %d of %d: a larger gallery gives "+
		"lower scores, so compare validation with validation and test with test", enum.Count(v, item),
		enum.Count(vc, "class"), t, tc)
}

// haveSimilarSize reports whether neither of two numbers is more than a tenth above the other.
func haveSimilarSize(a, b int) bool { return 10*a <= 11*b && 10*b <= 11*a }

// verdict compares the run with not training by the score that chose the epoch, and says why
// training did not help and what to do; "" if it helped, or if nothing can be compared.
func (t *trainer) verdict(r *train.Result) string {
	says := t.compareWithUntrained(r)
	if early := t.describeEarlyEnd(r); early != "" {
		says = strings.TrimSuffix(early+"; "+says, "; ")
	}
	if name := t.plan.start.missingDefault; name != "" {
		random := fmt.Sprintf("this run started from random weights, because no pretrained network could be fetched: "+
			"on photographs a pretrained start helps more than any other setting. Get one with 'kindred weights get "+
			"%s' on a machine with internet access, or name a file with network.pretrained, and train again", name)
		return strings.TrimSuffix(random+"; "+says, "; ")
	}
	return says
}

// compareWithUntrained compares the trained network with not training, in a sentence.
func (t *trainer) compareWithUntrained(r *train.Result) string {
	p := t.plan
	key := p.cfg.BestRule().Metric
	before, err := train.FindMetric(r.Untrained, key)
	if key == "" || err != nil {
		return ""
	}
	if r.Epoch == 0 {
		with := ""
		if t.numWCCNSamples > 0 {
			with = fmt.Sprintf(", with a layer computed from %d of the training samples (wccn)", t.numWCCNSamples)
		}
		return fmt.Sprintf("the network before training is kept, at %d px%s: %s; %s", p.cfg.Data.Size, with,
			t.explainUntrained(r, key, before), t.suggestRemedies(r))
	}
	after, err := train.FindMetric(r.Metrics, key)
	if err == nil && after < before {
		return fmt.Sprintf("the trained network is worse than the features that it started from (%s %.4f, and %.4f "+
			"at %d px): leave network.dim out, which keeps the features unchanged; %s", key, after, before,
			p.start.side, t.suggestRemedies(r))
	}
	if n := len(r.History); r.Epoch == n && n == p.cfg.Train.Epochs && !p.schedule.endsAtZero(&p.cfg.Train) {
		more := fmt.Sprintf("train.epochs=%d", 2*n)
		if t.pace != nil {
			more = fmt.Sprintf("train.minutes=%v", 2*t.pace.minutes)
		}
		return "the last epoch was the best, so a longer run may be better: set " + more
	}
	return ""
}

// highestValue returns the highest value of a metric over the epochs.
func highestValue(history []train.Epoch, key string) float64 {
	most := math.Inf(-1)
	for _, row := range history {
		if v, err := row.Metric(key); err == nil {
			most = max(most, v)
		}
	}
	return most
}

// explainUntrained says how the scores show that the trained network is no better.
func (t *trainer) explainUntrained(r *train.Result, key string, before float64) string {
	most, c := highestValue(r.History, key), r.Compared
	switch {
	case c == nil:
		return fmt.Sprintf("no epoch had a higher %s than %.4f (%.4f at most)", key, before, most)
	case c.Samples == 0:
		return "no class has two validation samples, so nothing can be compared"
	case t.numWCCNSamples > 0 && most > before:
		return fmt.Sprintf("training raised %s (%.4f before, %.4f at most after), but by no more than the layer does "+
			"(difference %+.4f on %s, p %.2f)", key, before, most, c.Gain, enum.Count(c.Samples, "validation sample"),
			c.P)
	case c.Gain <= 0:
		return fmt.Sprintf("training made %s worse (%.4f before, %.4f at most after)", key, before, most)
	}
	return fmt.Sprintf("%s rose (%.4f before, %.4f at most after), but by no more than chance explains on %s (p %.2f)",
		key, before, most, enum.Count(c.Samples, "validation sample"), c.P)
}

// suggestRemedies lists what to try if training did not make the network better. What the run is known
// to lack comes first.
func (t *trainer) suggestRemedies(r *train.Result) string {
	p := t.plan
	var ways []string
	classes, samples := p.batches.population.classes, p.split.Train.Len()
	if c := r.Compared; c != nil && c.Gain > 0 && c.Samples > 0 {
		ways = append(ways, "more validation samples, for a surer comparison (data.validation=as-test:0.4)")
	}
	if classes < fewClasses {
		ways = append(ways, fmt.Sprintf("photographs of more classes: from %d little is learned that tells other "+
			"classes apart", classes))
	}
	if samples < minSamplesPerClass*classes {
		ways = append(ways, fmt.Sprintf("more photographs of each class: there are %.1f on average for training",
			float64(samples)/float64(max(classes, 1))))
	}
	if n := cmp.Or(t.trainedSize, p.cfg.Data.Size); p.untrained != nil && n < p.start.side {
		ways = append(ways, fmt.Sprintf("data.size=%d: training used images of %d px", p.start.side, n))
	}
	if p.loss.unclearGroups {
		ways = append(ways, "mine.positives=easy, if labels are made of several unrelated sub-classes")
	}
	if p.split.Train.HasTwoLevels() {
		ways = append(ways, "finer labels (data.label)")
	}
	if !p.cfg.Network.hasFrozenBody() {
		ways = append(ways, "network.freeze=body, which trains only one layer")
	}
	return "what may help: " + strings.Join(append(ways, "a lower train.lr"), "; ")
}

// minSamplesPerClass is the mean number of samples of a class below which suggestRemedies asks for more.
const minSamplesPerClass = 8
