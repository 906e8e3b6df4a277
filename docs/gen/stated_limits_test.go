package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// statedAbsent are the things that docs/pytorch-metric-learning-names.md
// and docs/coming-from say are not there, each with names
// that kindred would have if it were. The name of a thing that was built since makes the sentence wrong. A
// sentence without names is about something that no name would show.
var statedAbsent = map[string][]string{
	"no loss here uses the mean of a class in the batch": {"loss.CentroidTriplet", "loss.name: centroid"},
	"its softmax counts the anchor itself":               {"loss.Instance", "loss.name: instance"},
	"its margin multiplies the angle, which needs annealing to train": {"loss.LargeMarginSoftmax",
		"loss.name: large-margin-softmax"},
	"no loss here uses a graph of the batch":    {"loss.Manifold", "loss.name: manifold"},
	"its margin multiplies the angle":           {"loss.SphereFace", "loss.name: sphereface"},
	"every loss takes labels":                   {"loss.SelfSupervised"},
	"each loss defines its terms":               {"loss.reduce: per-anchor", "loss.PerAnchor"},
	"weights of classes are normalised":         {"loss.CenterInvariant", "loss.regularize"},
	"no loss here compares weights of classes":  {"loss.RegularFace", "loss.regularize"},
	"draws do not depend on mining":             {"train.TupleSampler"},
	"batches are drawn by labels":               {"train.TripletSampler", "data.Triplets"},
	"`IndexHNSWFlat`":                           {"index.HNSW", "index.Graph"},
	"`IndexPQ` and other inexact codes":         {"index.PQ", "index.ProductCodes"},
	"on a GPU":                                  {"index.GPU", "index.Device"},
	"segmentation, video, point clouds":         {"data.Video", "data.Segments"},
	"postprocessing of the nearest by a second": {"rank.Reranker"},
	"Regularizers of a loss's weights":          {"loss.regularize", "loss.Regularizer"},
}

// formerlyAbsent are sentences that were true once, with a name that shows why they are not.
var formerlyAbsent = map[string]string{
	"training is one process":         "run.Options.Ranks",
	"no miners of your own":           "run.Options.Miner",
	"training over several processes": "run.Options.Ranks",
	"no losses of your own":           "loss.Batches",
	"tuples come from labels":         "objective.Objective.StepTriplets",
}

// limitPages returns the pages that list what kindred lacks, by name.
func limitPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "coming-from", "*.md"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	pages := map[string]string{}
	for _, f := range append(files, filepath.Join("..", "pytorch-metric-learning-names.md")) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[f] = string(text)
	}
	return pages
}

// statedLimits returns the sentences of a page about what is not there.
func statedLimits(page string) (out []string) {
	section := false
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "#") {
			section = strings.Contains(line, "Not supported")
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if _, why, ok := strings.Cut(line, "| none, because "); ok {
			out = append(out, strings.Trim(why, "| "))
		} else if len(cells) == 2 && strings.HasPrefix(cells[1], "not supported") {
			out = append(out, cells[0])
		} else if section && line != "" {
			out = append(out, line)
			section = false // the first line of the section begins its sentence
		}
	}
	return out
}

// TestLimits: what the pages say is not there is in the list, and is not there.
func TestLimits(t *testing.T) {
	used := map[string]bool{}
	for page, text := range limitPages(t) {
		for _, sentence := range statedLimits(text) {
			known := ""
			for limit := range statedAbsent {
				if strings.HasPrefix(sentence, limit) && len(limit) > len(known) {
					known = limit
				}
			}
			if known == "" {
				t.Errorf("%s: %q is not in the list of limits: add it with the names that would make it wrong", page,
					sentence)
			}
			used[known] = true
		}
		for sentence, name := range formerlyAbsent {
			if strings.Contains(strings.ToLower(strings.Join(strings.Fields(text), " ")), sentence) {
				t.Errorf("%s says %q, but there is %s", page, sentence, name)
			}
		}
	}
	for limit, names := range statedAbsent {
		if !used[limit] {
			t.Errorf("no page says %q: take it out of the list", limit)
		}
		if i := slices.IndexFunc(names, func(name string) bool { return nameError(name) == "" }); i >= 0 {
			t.Errorf("the pages say %q, but there is %s", limit, names[i])
		}
	}
	for sentence, name := range formerlyAbsent {
		if why := nameError(name); why != "" {
			t.Errorf("%q is called wrong because of %s: %s", sentence, name, why)
		}
	}
}

// TestStatedLimits: the forms in which pages say it are found.
func TestStatedLimits(t *testing.T) {
	got := statedLimits("| `A` | none, because of b; nearest is c |\n| d | not supported; use e |\n| f | g |\n\n" +
		"## Not supported\n\nH and\nmore.\n\n## Other\n\nnot this\n")
	if want := []string{"of b; nearest is c", "d", "H and"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
