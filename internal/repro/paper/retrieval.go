package paper

import (
	"context"
	"fmt"
	"slices"
)

// xuan is the source of the experiments on the second-order loss.
const xuan = "Xuan et al. 2020, \"Extreme triplet learning: effectively optimizing easy positives and hard " +
	"negatives\", "

// photoScales are the sizes that the experiments on photographs are run in.
// paper holds the settings that their papers state.
func photoScales(paper ...string) []Scale {
	return []Scale{
		{"small", "a Conv4 of 32 filters from scratch on 40 x 40 images, for two CPU cores and without pretrained " +
			"weights; the papers fine-tune ImageNet networks on 224 or 256 pixels",
			[]string{"data.size=40", "data.augment=standard", "network.name=conv4", "network.width=32",
				"train.epochs=10", "train.optimizer=adam", "train.lr=0.001", "train.schedule=cosine",
				"sample.classes=8", "sample.per_class=14", "eval.every=5"}},
		{"medium", "a Conv4 of 64 filters from scratch on 64 x 64 images",
			[]string{"data.size=64", "data.augment=standard", "network.name=conv4", "train.epochs=30",
				"train.optimizer=adam", "train.lr=0.001", "train.schedule=cosine", "sample.classes=8",
				"sample.per_class=14", "eval.every=5"}},
		{"paper", "the paper's own setting; give ImageNet's weights by --set network.pretrained=FILE", paper},
	}
}

// photoFast is a run of seconds that still tells first and second order apart.
// The arms or the experiment set the batch.
var photoFast = []string{
	"data.size=32", "data.augment=none", "network.name=conv4", "network.width=32", "network.dim=32",
	"data.train_limit=40", "data.test_limit=6",
	"train.epochs=4", "train.optimizer=adam", "train.lr=0.001", "train.schedule=constant", "eval.every=2",
}

// pairs are batches of two samples of a class.
var pairs = []string{"sample.classes=48", "sample.per_class=2"}

var leviPaper = []string{
	"data.size=224", "data.fit=cover", "data.shorter=256", "data.pixels=imagenet", "data.augment=standard",
	"network.name=resnet50", "network.dim=128",
	"train.optimizer=adam", "train.lr=0.00001", "train.epochs=60", "sample.classes=8", "sample.per_class=14",
	"eval.every=5",
}

func xuanPaper(lr string) []string {
	return []string{
		"data.size=256", "data.fit=cover", "data.pixels=imagenet", "data.augment=light", "network.name=resnet50",
		"network.dim=512",
		"train.optimizer=sgd", "train.lr=" + lr, "train.schedule=step", "train.steps=[20, 30]", "train.gamma=0.1",
		"train.epochs=40", "eval.every=5",
	}
}

// easyHard are EPHN with the first- and the second-order loss.
func easyHard(first, second float64) []Arm {
	set := []string{"mine.positives=easy", "mine.negatives=hard"}
	return []Arm{
		{Name: "EPHN, first order", Set: append([]string{"loss.name=nca"}, set...), Published: []float64{first}},
		{Name: "EPHN, second order", Set: append([]string{"loss.name=nca2"}, set...), Published: []float64{second},
			Baseline: "EPHN, first order"},
	}
}

// photos is an experiment on one data set of the papers.
func photos(name string, set Dataset, title, source, about string, scales []Scale, arms []Arm) *Experiment {
	return &Experiment{
		Name: name, Title: title, Source: source, About: about, Dataset: set, Tuning: photosTuning,
		Base:     []string{"data.name=" + set.Name, "network.dim=128", "eval.recall=[1, 2, 4, 10]"},
		Scales:   scales,
		Fast:     slices.Concat(photoFast, pairs),
		Arms:     arms,
		Measures: []Measure{{"test_recall@1", "R@1", "test classes"}},
	}
}

// birdsOrCars is an experiment on Cars-196 or CUB-200-2011 with the EPS paper's
// figures 3 and 6.
func birdsOrCars(name string, set Dataset, arms []Arm) *Experiment {
	e := photos(name, set, "Choosing positives and negatives", levi+"table 2; "+xuan+"table 1", photosAbout,
		photoScales(leviPaper...), arms)
	e.onFeatures()
	e.Base = append(e.Base, "eval.train=-1")
	e.Pictures = func(ctx context.Context, out *Outcome, shown *Shown) error {
		compared := []string{"Dist-Margin", "EPS+Dist-Margin"}
		if err := out.queries(ctx, shown, "After the paper's figure 3: what is found for a test picture, without and "+
			"with easy positives, first seed.", compared...); err != nil {
			return err
		}
		return out.maps(ctx, shown, "After the paper's figure 6, first seed: with easy positives a training class "+
			"may stay apart in several groups.", compared...)
	}
	return e
}

const photosTuning = "There is no record of how the settings of the small and the medium scale were chosen, and no " +
	"validation classes were split off from the training part: assume that they were chosen by looking at the scores " +
	"of the test classes. All arms share them. The scale \"paper\" uses the papers' settings as far as they state them."

const photosAbout = "Disjoint classes: half of them are used for training, the other half for retrieval. If the data " +
	"set or the weights are not available, --data, --size and --backbone run the same comparison on what is."

// Cars is the Cars-196 half of table 2 (Levi et al.) and of table 1 (Xuan et al.).
func Cars() *Experiment {
	trip, margin, ms := methods()
	arms := []Arm{
		trip.arm(76.1), {Name: "ProxyNCA", Set: []string{"loss.name=proxynca"}, Published: []float64{77.1},
			Ranges: proxyRanges()},
		margin.arm(79.6), ms.arm(81.2),
		trip.eps(78.3), margin.eps(83.6), ms.eps(82.9),
	}
	set := Dataset{Name: "cars196", Title: "Cars-196", Images: 16185,
		About: "Car models by the papers' split, classes 1-98 against 99-196."}
	return birdsOrCars("cars", set, append(arms, easyHard(82.7, 83.2)...))
}

// CUB is the CUB-200-2011 half of table 2 (Levi et al.) and of table 1 (Xuan et al.).
func CUB() *Experiment {
	trip, margin, ms := methods()
	arms := []Arm{
		trip.arm(61.5), {Name: "ProxyNCA", Set: []string{"loss.name=proxynca"}, Published: []float64{63.1},
			Ranges: proxyRanges()},
		margin.arm(63.6), ms.arm(62.3),
		trip.eps(61.8), margin.eps(64.7), ms.eps(63.3),
	}
	return birdsOrCars("cub", birds(), append(arms, easyHard(64.9, 65.2)...))
}

// featuresScale trains what minutes allow from a pretrained start: a layer on the features
// of a network, which are computed once.
func featuresScale() Scale {
	return Scale{"features", "a layer on the features that a network pretrained on ImageNet, which --set " +
		"network.pretrained=FILE names, has of 128 x 128 images; the papers fine-tune the whole network on 224 or 256",
		append(frozenBody(), "sample.classes=8", "sample.per_class=14", "eval.every=4")}
}

// onFeatures adds that scale, second to the usual one, and where its settings are sought.
func (e *Experiment) onFeatures() {
	s := featuresScale()
	e.Scales = slices.Insert(e.Scales, 1, s)
	e.PretrainedScale = s.Name
	e.Space = &Space{
		Scale: s.Name,
		Held: "A third of the training classes is held out at a time, and the photos of those are looked for among " +
			"each other, as the test does with further classes.",
		Kept: "The network, the size of the images, the schedule and the 8 epochs were not chosen, and are the same " +
			"for all arms.",
		Ranges: []string{"train.lr={low: 0.0001, high: 0.01, log: true}", "sample.per_class=[4, 8, 14]"},
		Plan:   []string{"folds: 3", "search: tpe", "stop: asha", "first: 2"},
	}
}

// birds is CUB-200-2011.
func birds() Dataset {
	return Dataset{Name: "cub200", Title: "CUB-200-2011", Images: 11788,
		About: "Bird species by the papers' split, classes 1-100 against 101-200."}
}

// coarsely is an experiment of ours on a data set of the papers: what its classes are
// pulled together by is label, and what is scored are the classes. Every way to choose
// tuples stands beside itself with easy positives.
func coarsely(name string, set Dataset, label, what, classes, groups string) *Experiment {
	trip, margin, ms := methods()
	e := photos(name, set, "Trained on "+what+" only", "kindred, after "+levi+"section 5.2",
		"The classes of the official protocol are scored, queries against the gallery where the set has both, and "+
			"training is told "+what+" only. That is the setting in which easy positives are to matter: a label "+
			"holds many kinds of things.", photoScales(leviPaper...),
		[]Arm{trip.arm(), margin.arm(), ms.arm(), trip.eps(), margin.eps(), ms.eps()})
	e.Own = true
	e.onFeatures()
	e.Space.Start = true
	e.Base = append(e.Base, "data.label="+label)
	e.Fast = append(slices.Clone(photoFast), "sample.classes=2", "sample.per_class=8")
	e.Measures = []Measure{{"test_recall@1", "R@1", classes}, {"test_label_recall@1", "R@1", groups}}
	for _, m := range []method{trip, margin, ms} {
		e.Claims = append(e.Claims, Claim{
			Text: "EPS+" + m.name + " finds more of the " + classes + " than " + m.name + ".",
			Arms: []string{m.name, "EPS+" + m.name},
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				const key = "test_recall@1"
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean("EPS+"+m.name, key), out.mean(m.name, key)),
					[]Paired{out.ahead(key, "EPS+"+m.name, m.name)}
			},
		})
	}
	return e
}

// CUBCoarse trains on groups of related birds.
func CUBCoarse() *Experiment {
	return coarsely("cub-coarse", birdSpecies(), groupsRule(), "groups of related birds", "species", "groups")
}

// CUBMixed trains on labels that hold birds of several kinds each.
func CUBMixed() *Experiment {
	e := coarsely("cub-mixed", birdSpecies(), neighboursRule(100, 5), "labels of five unrelated birds each",
		"species", "labels")
	e.Space.Set = []string{"sample.classes=6"} // of the ten labels that train, two thirds
	return e
}

// CarsCoarse trains on the makes of cars.
func CarsCoarse() *Experiment {
	return coarsely("cars-coarse", Cars().Dataset, "make", "makes of cars", "models", "makes")
}

// SOPCoarse trains on the 12 kinds of products.
func SOPCoarse() *Experiment {
	return coarsely("sop-coarse", SOP().Dataset, "coarse", "kinds of products", "products", "kinds")
}

// InShopCoarse trains on the categories of clothes.
func InShopCoarse() *Experiment {
	return coarsely("inshop-coarse", InShop().Dataset, "coarse", "categories of clothes", "items", "categories")
}

// products is an experiment on shop items with a handful of photos each: two of
// an item in a batch, where the first order collapses and the second does not.
func products(name string, set Dataset, first, second float64) *Experiment {
	scales := photoScales(append(xuanPaper("0.005"), "sample.classes=64", "sample.per_class=2")...)
	for i := range scales[:len(scales)-1] {
		scales[i].Set = append(scales[i].Set, pairs...)
	}
	e := photos(name, set, "First and second order, two of a class in a batch", xuan+"table 1", photosAbout, scales,
		easyHard(first, second))
	e.Base = append(e.Base, "data.label=fine")
	e.Space = rateSpace("half", "images:2")
	return e
}

// rateSpace is where the rate is sought of arms that differ in the order of the loss, at the
// small scale. A batch of theirs needs nearly all classes, so pictures are held out, a
// share of them.
func rateSpace(share, folds string) *Space {
	return &Space{
		Scale: "small",
		Held: "A " + share + " of the pictures of every training class is held out and looked for among themselves; " +
			"the test has other classes.",
		Kept: "Everything but the rate is the same for all arms and was not chosen; of how it was found there is no " +
			"record. The scale \"paper\" uses the papers' settings as far as they state them.",
		Ranges: []string{"train.lr={low: 0.0002, high: 0.01, log: true}"},
		Start:  true,
		Plan:   []string{"folds: " + folds, "use: 1", "search: random", "stop: never"},
	}
}

// SOP is the Stanford Online Products column of table 1 of Xuan et al. 2020.
func SOP() *Experiment {
	set := Dataset{Name: "sop", Title: "Stanford Online Products", Images: 120053,
		About: "Products with a handful of photos each, by the official split."}
	return products("sop", set, 78.0, 78.8)
}

// InShop is the In-Shop column of table 1 of Xuan et al. 2020.
func InShop() *Experiment {
	set := Dataset{Name: "inshop", Title: "In-Shop clothes", Images: 52712,
		About: "Clothes with the official queries and gallery."}
	return products("inshop", set, 87.1, 89.0)
}
