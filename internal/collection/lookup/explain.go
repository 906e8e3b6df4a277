package lookup

import (
	"cmp"
	"fmt"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/serve/api"
)

// Explain returns where the numbers of a search come from, for Options.Explain.
func (s *Source) Explain(in *Info, opt *Options, file string) *api.Provenance {
	what := "items of an index"
	switch s.kind {
	case Photos:
		what = "photos"
	case Vectors, Rows:
		what = "rows of a file of embeddings"
	case Store:
		what = "items of a store"
	}
	return Explain(in, fmt.Sprintf("%s: %d %s, of %s", in.Name, in.Items, what, s.networkText()), opt, file)
}

// Explain is Source.Explain for a gallery that is described for people. file is the calibration's.
func Explain(in *Info, gallery string, opt *Options, file string) *api.Provenance {
	p := &api.Provenance{Gallery: gallery, Distance: map[eval.Distance]string{
		eval.Euclidean: "euclidean: the square root of the sum of the squared differences",
		eval.Cosine:    "cosine: 1 - the cosine of the angle, 0 to 2",
		eval.Dot:       "dot: minus the sum of the products"}[in.Distance]}
	if opt.Same != nil {
		p.MatchProbability = "the probability that an item at this distance shows the same thing, by the calibration"
		if file != "" {
			p.MatchProbability += " " + file
		}
	}
	return p
}

// explain says where the numbers of an answer come from.
func (r *arranger) explain(q *Query, a *api.Answer, steps []string) *api.Provenance {
	p := *r.opt.Explain
	p.Query = cmp.Or(q.Name, "the query") + ": " + q.From
	if q.Summed {
		p.MatchProbability = ""
	}
	how := "a search that may have missed nearer items"
	if a.Exact {
		how = "an exact search"
	}
	p.Steps = append([]string{how + " for the nearest items"}, steps...)
	if n := len(a.QueryIDs); n > 0 {
		p.Steps = append(p.Steps, enum.Count(n, "item")+" that are the query were left out")
	}
	if r.opt.Least > 0 && p.MatchProbability != "" {
		p.Steps = append(p.Steps, fmt.Sprintf("neighbours with a probability below %g were left out", r.opt.Least))
	}
	return &p
}
