package run

import (
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
)

// TestChooseLoss: the loss and the number of views, by what the configuration leaves open and by the start.
func TestChooseLoss(t *testing.T) {
	tuned := lossFacts{fineTunes: true}
	for name, c := range map[string]struct {
		set       []string
		facts     lossFacts
		want      string
		views     int
		isDefault bool
	}{
		"scratch":     {nil, lossFacts{}, "triplet", 1, false},
		"grey images": {nil, lossFacts{spread: true}, "supcon", 2, false},
		"pretrained":  {[]string{"network.pretrained=a"}, tuned, classificationLoss, 1, true},
		"resumed":     {[]string{"network.pretrained=a"}, lossFacts{}, pairLoss, 1, false},
		"features": {[]string{"network.pretrained=a"}, lossFacts{fineTunes: true, hasFeatures: true},
			pairLoss, 1, false},
		"program's own": {[]string{"network.pretrained=a"}, lossFacts{fineTunes: true, isCustom: true},
			pairLoss, 1, false},
		"frozen body":       {[]string{"network.pretrained=a", "network.freeze=[body]"}, tuned, pairLoss, 1, false},
		"mining":            {[]string{"network.pretrained=a", "mine.positives=easy"}, tuned, pairLoss, 1, false},
		"nested":            {[]string{"network.pretrained=a", "loss.nested=[8]"}, tuned, pairLoss, 1, false},
		"another key":       {[]string{"network.pretrained=a", "loss.margin=0.1"}, tuned, "triplet", 1, false},
		"a name":            {[]string{"network.pretrained=a", "loss.name=margin"}, tuned, "margin", 1, false},
		"views as they are": {[]string{"sample.views=3"}, lossFacts{spread: true}, "supcon", 3, false},
	} {
		cfg, err := Parse("", nil, c.set...)
		if err != nil {
			t.Fatal(name, err)
		}
		isDefault := chooseLoss(&cfg, c.facts)
		if cfg.Loss["name"] != c.want || cfg.Sample.Views != c.views || isDefault != c.isDefault {
			t.Errorf("%s: loss %v, %d views, default %v, want %+v", name, cfg.Loss["name"], cfg.Sample.Views, isDefault,
				c)
		}
	}
}

// TestChooseRecipe: augmentation, validation, norms and rates by depth, by the start.
func TestChooseRecipe(t *testing.T) {
	type recipe struct {
		augment, validation, chroma string
		norm                        Switch
		depth                       float64
		views                       int
	}
	for name, c := range map[string]struct {
		set   []string
		facts lossFacts
		want  recipe
	}{
		"scratch":     {nil, lossFacts{}, recipe{none, none, "", Off, 1, 0}},
		"grey images": {nil, lossFacts{spread: true}, recipe{"characters", none, "", Off, 1, 0}},
		"pretrained":  {nil, lossFacts{fineTunes: true}, recipe{"light", "as-test:0.2", smoothChroma, On, 0.1, 0}},
		"resumed":     {nil, lossFacts{hasFile: true}, recipe{none, none, smoothChroma, Off, 1, 0}},
		"frozen body": {[]string{"network.freeze=[body]"}, lossFacts{fineTunes: true},
			recipe{none, "as-test:0.2", smoothChroma, Off, 1, 0}},
		"frozen body in views": {[]string{"network.freeze=[body]", "data.augment=light"}, lossFacts{fineTunes: true},
			recipe{"light", "as-test:0.2", smoothChroma, Off, 1, 4}},
		"as it is set": {[]string{"data.augment=none", "data.validation=none", "data.chroma=repeat", "train.depth=0.5",
			"network.frozen_norm=false"}, lossFacts{fineTunes: true}, recipe{none, none, repeatChroma, Off, 0.5, 0}},
	} {
		cfg, err := Parse("", nil, c.set...)
		if err != nil {
			t.Fatal(name, err)
		}
		chooseRecipe(&cfg, c.facts)
		got := recipe{cfg.Data.Augment, cfg.Data.Validation, cfg.Data.Chroma, cfg.Network.FrozenNorm, cfg.Train.Depth,
			cfg.Data.Views}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestDefaultRateAndBest: the learning rate and the score that chooses the epoch.
func TestDefaultRateAndBest(t *testing.T) {
	scratch, tuned := &networkStart{}, &networkStart{fineTunes: true}
	given, open := &lossChoice{}, &lossChoice{isDefault: true}
	for _, c := range []struct {
		start       *networkStart
		loss        *lossChoice
		frozen, few bool
		want        float64
	}{
		{scratch, given, false, true, 1e-3}, {tuned, given, false, false, 1e-4}, {tuned, given, false, true, 3e-5},
		{tuned, given, true, true, 3e-4}, {tuned, open, false, false, 3e-4}, {tuned, open, false, true, 1e-4},
	} {
		if got := defaultLR(c.start, c.loss, c.frozen, c.few); got != c.want {
			t.Errorf("%+v: rate %v", c, got)
		}
	}
	a, b := &data.Part{}, &data.Part{}
	for _, c := range []struct {
		parts split.Parts
		loss  *lossChoice
		want  string
	}{
		{split.Parts{}, open, none}, {split.Parts{Validation: a, ValidationGallery: b}, open, marginKey},
		{split.Parts{Validation: a, ValidationGallery: a}, open, validationMAPKey},
		{split.Parts{Validation: a, ValidationGallery: a}, given, marginDistractorsKey},
	} {
		if got := defaultBest(&c.parts, c.loss); got != c.want {
			t.Errorf("best by %q, want %q", got, c.want)
		}
	}
}

// TestSettleSchedule: the length of a run by its start, its loss and its batches.
func TestSettleSchedule(t *testing.T) {
	tuned := scheduleFacts{fineTunes: true, steps: 8, batch: 128, samples: 5000}
	withLoss, onEngine := tuned, tuned
	withLoss.defaultLoss, onEngine.engine = true, true
	type length struct {
		schedule string
		epochs   int
		patience int
		warmup   float64
		average  string
	}
	for name, c := range map[string]struct {
		set   []string
		facts scheduleFacts
		want  length
	}{
		"scratch":      {nil, scheduleFacts{steps: 8, batch: 128, samples: 5000}, length{"constant", 10, 0, 0, none}},
		"pretrained":   {[]string{"network.pretrained=a"}, tuned, length{"constant", 97, 12, 0, "48 steps"}},
		"default loss": {[]string{"network.pretrained=a"}, withLoss, length{"cosine", 58, 12, 2, "48 steps"}},
		"an engine":    {[]string{"network.pretrained=a"}, onEngine, length{"constant", 97, 12, 0, none}},
		"two epochs": {[]string{"network.pretrained=a", "train.epochs=2"}, withLoss,
			length{"cosine", 2, 12, 1, "48 steps"}},
		"only warm-up": {[]string{"network.pretrained=a", "train.epochs=2", "train.warmup=2"}, withLoss,
			length{"constant", 2, 12, 2, "48 steps"}},
		"minutes": {[]string{"network.pretrained=a", "train.minutes=3"}, tuned, length{"cosine", 58, 0, 0, "48 steps"}},
	} {
		cfg, err := Parse("", nil, c.set...)
		if err != nil {
			t.Fatal(name, err)
		}
		s, tr := settleSchedule(&cfg, c.facts), &cfg.Train
		if got := (length{tr.Schedule, tr.Epochs, tr.Patience, tr.Warmup, tr.Average}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if want := c.facts.defaultLoss && name != "only warm-up"; s.choosesWarmup != want {
			t.Errorf("%s: the recipe chooses the warm-up: %v", name, s.choosesWarmup)
		}
	}
}

// TestChooseProxyStart: proxies start at random from scratch, and as means from a pretrained start.
func TestChooseProxyStart(t *testing.T) {
	for _, c := range []struct {
		set        string
		numProxies int
		fineTunes  bool
		want       string // "" without proxies
	}{
		{"", 1, false, randomProxies}, {"", 1, true, meanProxies}, {randomProxies, 1, true, randomProxies},
		{meanProxies, 2, false, meanProxies}, {"", 0, true, ""},
	} {
		cfg := Default()
		cfg.Train.Proxies = c.set
		if err := chooseProxyStart(&cfg, c.numProxies, c.fineTunes); err != nil || cfg.Train.Proxies != c.want {
			t.Errorf("%+v: %q, %v", c, cfg.Train.Proxies, err)
		}
	}
	cfg := Default()
	cfg.Train.Proxies = meanProxies
	if err := chooseProxyStart(&cfg, 0, true); err == nil {
		t.Error("proxies of a loss without any")
	}
}
