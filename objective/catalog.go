package objective

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/loss"
)

// lossEntry is a loss under its name in configurations, with its customary mining.
type lossEntry struct {
	name, alias string
	positives   PositivePolicy
	negatives   NegativePolicy
	build       func(*section) loss.Loss
}

const (
	easyPositive   = EasyPositive
	randomPositive = RandomPositive
	allPositives   = AllPositives
	allNegatives   = AllNegatives
)

// entries are all losses that configurations can name.
var entries = [...]lossEntry{
	{"triplet", "", easyPositive, FaceNetNegative, func(s *section) loss.Loss {
		return loss.Triplet{Margin: s.nonNegative("margin"), Euclidean: s.euclidean(false), Reduce: s.reduction()}
	}},
	{"soft-triplet", "", easyPositive, HardNegative, func(s *section) loss.Loss {
		return loss.SoftTriplet{Squared: !s.euclidean(true), Reduce: s.reduction()}
	}},
	{"contrastive", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Contrastive{Margin: s.nonNegative("margin"), Squared: !s.euclidean(true), Reduce: s.reduction()}
	}},
	{"margin", "", randomPositive, DistanceNegative, func(s *section) loss.Loss {
		return &loss.Margin{Alpha: s.nonNegative("margin"), Beta: s.nonNegative("beta"), Rate: s.nonNegative("rate"),
			Single: s.boolean("single", false), Squared: !s.euclidean(true), Reduce: s.reduction()}
	}},
	{"multisimilarity", "ms", MultiSimilarityPositives, MultiSimilarityNegatives, func(s *section) loss.Loss {
		return loss.MultiSimilarity{Alpha: s.positive("alpha"), Beta: s.positive("beta"), Lambda: s.number("lambda"),
			Reduce: s.reduction()}
	}},
	{"nca", "", easyPositive, HardNegative, func(s *section) loss.Loss { return loss.NCA{Reduce: s.reduction()} }},
	{"nca2", "", easyPositive, HardNegative,
		func(s *section) loss.Loss { return loss.NCA2{Reduce: s.reduction()} }},
	{"npair", "", allPositives, allNegatives, func(s *section) loss.Loss { return loss.NPair{Reduce: s.reduction()} }},
	{"ntxent", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.NTXent{Temperature: s.positive("temperature"), Reduce: s.reduction()}
	}},
	{"supcon", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.SupCon{Temperature: s.positive("temperature"), Reduce: s.reduction()}
	}},
	{"circle", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Circle{Margin: s.nonNegative("margin"), Gamma: s.positive("gamma"), Reduce: s.reduction()}
	}},
	{"lifted", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Lifted{Margin: s.nonNegative("margin"), Reduce: s.reduction()}
	}},
	{"generalized-lifted", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.GeneralizedLifted{Margin: s.nonNegative("margin"), Reduce: s.reduction()}
	}},
	{"angular", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Angular{Degrees: s.angle("degrees"), Reduce: s.reduction()}
	}},
	{"fastap", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.FastAP{Bins: s.nonNegativeInt("bins"), Reduce: s.reduction()}
	}},
	{"ranked-list", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.RankedList{Alpha: s.nonNegative("alpha"), Margin: s.nonNegative("margin"),
			PosWeight: s.nonNegative("pos_weight"),
			NegWeight: s.nonNegative("neg_weight"), Imbalance: s.fraction("imbalance"), Reduce: s.reduction()}
	}},
	{"tuplet-margin", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.TupletMargin{Scale: s.positive("scale"), Slack: s.nonNegative("slack"), Reduce: s.reduction()}
	}},
	{"intra-pair-variance", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.IntraPairVariance{PosEpsilon: s.nonNegative("pos_epsilon"),
			NegEpsilon: s.nonNegative("neg_epsilon")}
	}},
	{"snr-contrastive", "snr", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.SNRContrastive{Margin: s.nonNegative("margin"), Reduce: s.reduction()}
	}},
	{"proxynca", "proxy-nca", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.ProxyNCA{Scale: s.positive("scale"), Rate: s.nonNegative("rate"), Reduce: s.reduction()}
	}},
	{"proxy-anchor", "proxyanchor", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.ProxyAnchor{Alpha: s.positive("alpha"), Delta: s.nonNegative("delta"), Rate: s.nonNegative("rate"),
			Reduce: s.reduction()}
	}},
	{"softtriple", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.SoftTriple{La: s.positive("la"), Gamma: s.positive("gamma"), Delta: s.nonNegative("delta"),
			Centers: s.nonNegativeInt("centers"), Rate: s.nonNegative("rate"), Reduce: s.reduction()}
	}},
	{"normsoftmax", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.NormSoftmax{Temperature: s.positive("temperature"), Rate: s.nonNegative("rate"),
			Reduce: s.reduction()}
	}},
	{"cosface", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.CosFace{Margin: s.nonNegative("margin"), Scale: s.positive("scale"), Rate: s.nonNegative("rate"),
			Reduce: s.reduction()}
	}},
	{"arcface", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.ArcFace{Margin: s.nonNegative("margin"), Scale: s.positive("scale"), Rate: s.nonNegative("rate"),
			Reduce: s.reduction()}
	}},
	{"smooth-ap", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.SmoothAP{Temperature: s.positive("temperature"), Reduce: s.reduction()}
	}},
	{"recall-at-k", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.RecallAtK{K: s.nonNegativeInt("k"), Temperature: s.positive("temperature"),
			RankTemperature: s.positive("rank_temperature"), Reduce: s.reduction()}
	}},
	{"spread", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Spread{Temperature: s.positive("temperature"), Reduce: s.reduction()}
	}},
	{"vicreg", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.VICReg{Lambda: s.nonNegative("lambda"), Mu: s.nonNegative("mu"), Nu: s.nonNegative("nu"),
			Gamma:  s.nonNegative("gamma"),
			Reduce: s.reduction()}
	}},
	{"decorrelate", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.Decorrelate{Parts: s.positiveInts("parts"), Hidden: s.nonNegativeInt("hidden"),
			Rate: s.nonNegative("rate")}
	}},
	{"histogram", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.Histogram{Bins: s.nonNegativeInt("bins"), Reduce: s.reduction()}
	}},
	{"dynamic-soft-margin", "", easyPositive, HardNegative, func(s *section) loss.Loss {
		return &loss.DynamicSoftMargin{Bins: s.nonNegativeInt("bins"), Momentum: s.fraction("momentum"),
			Reduce: s.reduction()}
	}},
	{"subcenter-arcface", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.SubcenterArcFace{Margin: s.nonNegative("margin"), Scale: s.positive("scale"),
			Centers: s.nonNegativeInt("centers"), Rate: s.nonNegative("rate"), Reduce: s.reduction()}
	}},
	{"curricularface", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return &loss.CurricularFace{Margin: s.nonNegative("margin"), Scale: s.positive("scale"),
			Momentum: s.fraction("momentum"), Rate: s.nonNegative("rate"), Reduce: s.reduction()}
	}},
	{"maskcon", "", allPositives, allNegatives, func(s *section) loss.Loss {
		return loss.MaskCon{Temperature: s.positive("temperature"), Soft: s.positive("soft"), Reduce: s.reduction()}
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

// findLoss returns the loss of that name or alias.
func findLoss(name string) (lossEntry, error) {
	for _, e := range entries {
		if e.name == name || e.alias != "" && e.alias == name {
			return e, nil
		}
	}
	_, err := enum.Index("loss", name, LossNames())
	return lossEntry{}, err
}

// Info describes a loss that configurations can name.
type Info struct {
	Name, Alias string
	Loss        loss.Loss    // with its defaults
	Keys        []string     // of the loss section, besides those of every loss
	Mining      MiningConfig // the customary mining
}

// Losses describes all losses, in the order of their introduction.
func Losses() []Info {
	var all []Info
	for _, e := range entries {
		s := &section{name: "loss"}
		l := e.build(s)
		all = append(all, Info{
			Name: e.name, Alias: e.alias, Loss: l, Keys: s.asked,
			Mining: MiningConfig{Positives: e.positives, Negatives: e.negatives},
		})
	}
	return all
}

// DefaultMining returns the default mining of the named loss.
func DefaultMining(name string) (MiningConfig, error) {
	e, err := findLoss(name)
	return MiningConfig{Positives: e.positives, Negatives: e.negatives}, err
}
