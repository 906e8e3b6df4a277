package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
)

// choiceFlags give labels as words.
type choiceFlags struct{ labels, templates []string }

func (f *choiceFlags) add(fs flags.Set) {
	fs.List(&f.labels, "choices", nil, "labels as words, with commas between them, instead of a gallery: the text "+
		"tower of --words decides", complete.Nothing)
	fs.Repeated(&f.templates, "template", "text around each label of --choices, with {} for the label; may be "+
		"repeated, and the mean decides (default \""+textencoder.Template+"\")", complete.Nothing)
}

// check refuses labels and templates with wrong values.
func (f *choiceFlags) check(spec *lookup.Spec) error {
	if spec.Index == "" && spec.NetworkName() == "" {
		return cli.Usagef("--choices needs --network, or --index: the network that embeds the photos")
	}
	if len(f.labels) < 2 {
		return cli.Usagef("--choices %s: want two labels or more", strings.Join(f.labels, ","))
	}
	for i, c := range f.labels {
		f.labels[i] = strings.TrimSpace(c)
		if f.labels[i] == "" || slices.Contains(f.labels[:i], f.labels[i]) {
			return cli.Usagef("--choices: label %d is %q: must not be empty or occur twice", i+1, f.labels[i])
		}
	}
	if f.templates == nil {
		f.templates = []string{textencoder.Template}
	}
	for _, t := range f.templates {
		if !strings.Contains(t, textencoder.Slot) {
			return cli.Usagef("--template %q: want {}, where the label stands", t)
		}
	}
	return nil
}

// choicesResult is what kindred identify --choices --json prints.
type choicesResult struct {
	Queries   []queryChoices `json:"queries"`
	Templates []string       `json:"templates"`
	LeftOut   []data.LeftOut `json:"left_out,omitempty"`
	// Together reports whether the probabilities of a photo sum to 1.
	Together bool `json:"together"`
}

type queryChoices struct {
	Query string `json:"query"`
	// Labels has all labels, the likeliest first.
	Labels []labelChoice `json:"labels"`
}

type labelChoice struct {
	Label       string  `json:"label"`
	Probability float64 `json:"probability"`
}

// identifyByWords gives each photo the likeliest of labels that are words.
func (f *identifyFlags) identifyByWords(ctx context.Context, photos []string) error {
	a := f.lookup.Console
	source, err := lookup.Open(ctx, &f.lookup.Spec, &f.lookup)
	if err != nil {
		return err
	}
	defer source.Close()
	tower, err := source.OpenTower()
	if err != nil {
		return err
	}
	labels, err := tower.Labels(ctx, f.choices.labels, f.choices.templates)
	if err != nil {
		return fmt.Errorf("--choices: %w", err)
	}
	inputs.PrintRemarks(a, labels.Notes)
	s, queries, err := source.EmbedPhotos(ctx, photos, f.data)
	if err != nil {
		return err
	}
	defer s.Close()
	res := &choicesResult{Queries: []queryChoices{}, Templates: f.choices.templates, LeftOut: s.LeftOut,
		Together: labels.SumToOne()}
	for _, q := range queries {
		p, err := labels.Probabilities(q.Vector)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
		one := queryChoices{Query: q.Name}
		for i, name := range labels.Names {
			one.Labels = append(one.Labels, labelChoice{name, p[i]})
		}
		slices.SortStableFunc(one.Labels, func(x, y labelChoice) int {
			switch {
			case x.Probability > y.Probability:
				return -1
			case x.Probability < y.Probability:
				return 1
			}
			return 0
		})
		res.Queries = append(res.Queries, one)
	}
	return a.PrintResult(res, func() error { return printChoices(a, res) })
}

func printChoices(a *console.Console, res *choicesResult) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, q := range res.Queries {
		fmt.Fprintf(w, "%s\t%s\t%.1f %%\tthen %s %.1f %%\n", q.Query, q.Labels[0].Label, 100*q.Labels[0].Probability,
			q.Labels[1].Label, 100*q.Labels[1].Probability)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Err, "the probabilities are the network's own, among these labels: they have no stated "+
		"error, and no photo is unknown")
	return err
}
