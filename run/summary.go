package run

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/data"
)

// Summary is the result of a run as one JSON document.
type Summary struct {
	Dir         string  `json:"dir,omitempty"`
	Epochs      int     `json:"epochs"`
	Steps       int     `json:"steps"`
	Parameters  int     `json:"parameters"`
	Loss        float64 `json:"loss"` // mean of the last epoch
	ActiveShare float64 `json:"active_share"`
	NoPositive  int     `json:"anchors_without_positive"` // of the last epoch
	// Metrics are the scores of the final network, which is that of Epoch;
	// Untrained those of a pretrained network before training.
	Epoch          int                `json:"epoch"`
	Metrics        map[string]float64 `json:"metrics"`
	Untrained      map[string]float64 `json:"untrained,omitempty"`
	UntrainedSize  int                `json:"untrained_size,omitempty"` // of the images, in pixels
	Place          float64            `json:"place,omitempty"`          // see Result
	Computed       int                `json:"computed,omitempty"`       // see Result
	Verdict        string             `json:"verdict,omitempty"`
	Beside         string             `json:"beside,omitempty"` // see Result
	Seconds        float64            `json:"seconds"`
	WaitedForData  float64            `json:"waited_for_data"` // share of the training time
	TrainingLabels string             `json:"training_labels,omitempty"`
	// Notes are remarks about the run, Warnings those of epochs.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// LeftOut lists the files and samples that were not used.
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

// Summary summarises the run in dir.
func (r *Result) Summary(dir string) Summary {
	last := r.Last()
	s := Summary{
		Dir: dir, Epoch: r.Epoch, Epochs: len(r.History), Parameters: r.Params, Loss: last.MeanLoss(),
		ActiveShare: last.ActiveShare(),
		NoPositive:  last.NoPositive, Metrics: map[string]float64{}, Beside: r.Beside, UntrainedSize: r.UntrainedSize,
		Place: r.Place, Computed: r.Computed, Verdict: r.Verdict,
		Seconds: math.Round(r.Took.Seconds()*1000) / 1000, WaitedForData: r.Wait,
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
