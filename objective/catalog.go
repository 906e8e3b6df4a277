package objective

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mine"
)

// entry is a loss under its name in configurations, with its customary mining.
type entry struct {
	name, alias string
	positives   mine.Positive
	negatives   mine.Negative
	build       func(*section) loss.Loss
}

const (
	easy   = mine.EasyPositive
	random = mine.RandomPositive
	allPos = mine.AllPositives
	allNeg = mine.AllNegatives
)

// entries are all losses that configurations can name.
var entries = [...]entry{
	{"triplet", "", easy, mine.FaceNetNegative, func(s *section) loss.Loss {
		return loss.Triplet{Margin: s.size("margin"), Euclidean: s.euclidean(false), Reduce: s.reduce()}
	}},
	{"soft-triplet", "", easy, mine.HardNegative, func(s *section) loss.Loss {
		return loss.SoftTriplet{Squared: !s.euclidean(true), Reduce: s.reduce()}
	}},
	{"contrastive", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Contrastive{Margin: s.size("margin"), Squared: !s.euclidean(true), Reduce: s.reduce()}
	}},
	{"margin", "", random, mine.DistanceNegative, func(s *section) loss.Loss {
		return &loss.Margin{Alpha: s.size("margin"), Beta: s.size("beta"), Rate: s.size("rate"),
			Single: s.boolean("single", false), Squared: !s.euclidean(true), Reduce: s.reduce()}
	}},
	{"multisimilarity", "ms", mine.MultiSimilarityPositives, mine.MultiSimilarityNegatives, func(s *section) loss.Loss {
		return loss.MultiSimilarity{Alpha: s.positive("alpha"), Beta: s.positive("beta"), Lambda: s.number("lambda"),
			Reduce: s.reduce()}
	}},
	{"nca", "", easy, mine.HardNegative, func(s *section) loss.Loss { return loss.NCA{Reduce: s.reduce()} }},
	{"nca2", "", easy, mine.HardNegative, func(s *section) loss.Loss { return loss.NCA2{Reduce: s.reduce()} }},
	{"npair", "", allPos, allNeg, func(s *section) loss.Loss { return loss.NPair{Reduce: s.reduce()} }},
	{"ntxent", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.NTXent{Temperature: s.positive("temperature"), Reduce: s.reduce()}
	}},
	{"supcon", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.SupCon{Temperature: s.positive("temperature"), Reduce: s.reduce()}
	}},
	{"circle", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Circle{Margin: s.size("margin"), Gamma: s.positive("gamma"), Reduce: s.reduce()}
	}},
	{"lifted", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Lifted{Margin: s.size("margin"), Reduce: s.reduce()}
	}},
	{"generalized-lifted", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.GeneralizedLifted{Margin: s.size("margin"), Reduce: s.reduce()}
	}},
	{"angular", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Angular{Degrees: s.angle("degrees"), Reduce: s.reduce()}
	}},
	{"fastap", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.FastAP{Bins: s.count("bins"), Reduce: s.reduce()}
	}},
	{"ranked-list", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.RankedList{Alpha: s.size("alpha"), Margin: s.size("margin"), PosWeight: s.size("pos_weight"),
			NegWeight: s.size("neg_weight"), Imbalance: s.share("imbalance"), Reduce: s.reduce()}
	}},
	{"tuplet-margin", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.TupletMargin{Scale: s.positive("scale"), Slack: s.size("slack"), Reduce: s.reduce()}
	}},
	{"intra-pair-variance", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.IntraPairVariance{PosEpsilon: s.size("pos_epsilon"), NegEpsilon: s.size("neg_epsilon")}
	}},
	{"snr-contrastive", "snr", allPos, allNeg, func(s *section) loss.Loss {
		return loss.SNRContrastive{Margin: s.size("margin"), Reduce: s.reduce()}
	}},
	{"proxynca", "proxy-nca", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.ProxyNCA{Scale: s.positive("scale"), Rate: s.size("rate"), Reduce: s.reduce()}
	}},
	{"proxy-anchor", "proxyanchor", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.ProxyAnchor{Alpha: s.positive("alpha"), Delta: s.size("delta"), Rate: s.size("rate"),
			Reduce: s.reduce()}
	}},
	{"softtriple", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.SoftTriple{La: s.positive("la"), Gamma: s.positive("gamma"), Delta: s.size("delta"),
			Centers: s.count("centers"), Rate: s.size("rate"), Reduce: s.reduce()}
	}},
	{"normsoftmax", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.NormSoftmax{Temperature: s.positive("temperature"), Rate: s.size("rate"), Reduce: s.reduce()}
	}},
	{"cosface", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.CosFace{Margin: s.size("margin"), Scale: s.positive("scale"), Rate: s.size("rate"),
			Reduce: s.reduce()}
	}},
	{"arcface", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.ArcFace{Margin: s.size("margin"), Scale: s.positive("scale"), Rate: s.size("rate"),
			Reduce: s.reduce()}
	}},
	{"smooth-ap", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.SmoothAP{Temperature: s.positive("temperature"), Reduce: s.reduce()}
	}},
	{"recall-at-k", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.RecallAtK{K: s.count("k"), Temperature: s.positive("temperature"),
			RankTemperature: s.positive("rank_temperature"), Reduce: s.reduce()}
	}},
	{"spread", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Spread{Temperature: s.positive("temperature"), Reduce: s.reduce()}
	}},
	{"vicreg", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.VICReg{Lambda: s.size("lambda"), Mu: s.size("mu"), Nu: s.size("nu"), Gamma: s.size("gamma"),
			Reduce: s.reduce()}
	}},
	{"decorrelate", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.Decorrelate{Parts: s.counts("parts"), Hidden: s.count("hidden"), Rate: s.size("rate")}
	}},
	{"histogram", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.Histogram{Bins: s.count("bins"), Reduce: s.reduce()}
	}},
	{"dynamic-soft-margin", "", easy, mine.HardNegative, func(s *section) loss.Loss {
		return &loss.DynamicSoftMargin{Bins: s.count("bins"), Momentum: s.share("momentum"), Reduce: s.reduce()}
	}},
	{"subcenter-arcface", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.SubcenterArcFace{Margin: s.size("margin"), Scale: s.positive("scale"),
			Centers: s.count("centers"), Rate: s.size("rate"), Reduce: s.reduce()}
	}},
	{"curricularface", "", allPos, allNeg, func(s *section) loss.Loss {
		return &loss.CurricularFace{Margin: s.size("margin"), Scale: s.positive("scale"),
			Momentum: s.share("momentum"), Rate: s.size("rate"), Reduce: s.reduce()}
	}},
	{"maskcon", "", allPos, allNeg, func(s *section) loss.Loss {
		return loss.MaskCon{Temperature: s.positive("temperature"), Soft: s.positive("soft"), Reduce: s.reduce()}
	}},
}

// LossNames returns the names that Parse knows, sorted.
func LossNames() []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

// find returns the loss of that name or alias.
func find(name string) (entry, error) {
	for _, e := range entries {
		if e.name == name || e.alias != "" && e.alias == name {
			return e, nil
		}
	}
	_, err := enum.Index("loss", name, LossNames())
	return entry{}, err
}

// Info describes a loss that configurations can name.
type Info struct {
	Name, Alias string
	Loss        loss.Loss   // with its defaults
	Keys        []string    // of the loss section, besides those of every loss
	Mine        mine.Config // the customary mining
}

// Losses describes all losses, in the order of their introduction.
func Losses() []Info {
	var all []Info
	for _, e := range entries {
		s := &section{name: "loss"}
		l := e.build(s)
		all = append(all, Info{
			Name: e.name, Alias: e.alias, Loss: l, Keys: s.known,
			Mine: mine.Config{Positives: e.positives, Negatives: e.negatives},
		})
	}
	return all
}

// Customary returns the default mining of the named loss.
func Customary(name string) (mine.Config, error) {
	e, err := find(name)
	return mine.Config{Positives: e.positives, Negatives: e.negatives}, err
}
