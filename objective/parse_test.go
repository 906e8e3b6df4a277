package objective

import (
	"context"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
)

func TestParseDefaults(t *testing.T) {
	o, err := Parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := o.Loss.(loss.Triplet); !ok || o.Mine.Positives != EasyPositive ||
		o.Mine.Negatives != FaceNetNegative || o.Normalize {
		t.Errorf("%+v", o)
	}
	for _, name := range LossNames() {
		o, err := Parse(nil, map[string]any{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		o.Classes, o.Dim = 3, 2
		if _, err := New(o); err != nil {
			t.Errorf("%s with its customary mining: %v", name, err)
		}
	}
	if _, err := Parse(nil, map[string]any{"name": "ms"}); err != nil {
		t.Errorf("an alias: %v", err)
	}
}

// Every key a loss lists reaches it: another value gives another loss.
func TestEveryKeyMatters(t *testing.T) {
	e, labels := gaussian(20, 5, 4, 9)
	for _, info := range Losses() {
		run := func(set map[string]any) float64 {
			flat := map[string]any{"loss": info.Name, "normalize": true}
			if info.Mining.Negatives == FaceNetNegative || info.Mining.Negatives == DistanceNegative {
				flat["positives"], flat["negatives"] = "hard", "hard"
			}
			for k, v := range set {
				flat[k] = v
			}
			o, err := ParseFlat(flat)
			if err != nil {
				t.Fatalf("%s %v: %v", info.Name, set, err)
			}
			o.Classes, o.Dim = 4, 5
			obj, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			r, err := obj.Step(context.Background(), e, batchFor(o.Loss, labels), nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.Value
		}
		want := run(nil)
		for _, key := range info.Keys {
			var v any = 0.77
			switch key {
			case "rate", "single":
				continue // about learning, not about the value
			case "momentum":
				if info.Name == "dynamic-soft-margin" {
					continue // of the first batch it takes all
				}
			case "reduce":
				v = "sum"
			case "distance":
				v = "euclidean"
				if info.Name != "triplet" {
					v = "squared"
				}
			case "bins", "centers", "k", "hidden":
				v = 7
			case "parts":
				v = []any{2, 2, 1}
			case "degrees":
				v = 30
			case "pos_weight", "neg_weight", "beta":
				v = 3
			}
			if got := run(map[string]any{key: v}); got == want {
				t.Errorf("%s: %s changes nothing", info.Name, key)
			}
		}
	}
}

func TestParseMistakes(t *testing.T) {
	for _, tc := range []struct {
		mine, loss map[string]any
		says       []string
	}{
		{nil, map[string]any{"name": "tripplet"}, []string{"loss.name", `"tripplet"`, `did you mean "triplet"`}},
		{nil, map[string]any{"margn": 1}, []string{"loss.margn", `did you mean "margin"`}},
		{nil, map[string]any{"margin": "wide"}, []string{"loss.margin", `"wide" is not a number`}},
		{nil, map[string]any{"margin": math.NaN()}, []string{"loss.margin", "not finite"}},
		{nil, map[string]any{"margin": []any{1}}, []string{"loss.margin", "not a number"}},
		{nil, map[string]any{"reduce": "avg"}, []string{"loss.reduce", "mean-active"}},
		{nil, map[string]any{"distance": "euclidian"}, []string{`did you mean "euclidean"`}},
		{nil, map[string]any{"normalize": "perhaps"}, []string{"loss.normalize", "must be true or false"}},
		{nil, map[string]any{"name": "ms", "alpha": 0}, []string{"loss.alpha", "not above 0"}},
		{nil, map[string]any{"memory": 1.5}, []string{"loss.memory", "whole number"}},
		{nil, map[string]any{"name": 3}, []string{"loss.name"}},
		{nil, map[string]any{"plus": "triplet"}, []string{"loss.plus", "not a list"}},
		{nil, map[string]any{"plus": []any{map[string]any{"name": "nca", "wieght": 2}}},
			[]string{"loss.plus[0].wieght", `did you mean "weight"`}},
		{map[string]any{"positives": "facenet"}, nil, []string{"mine.positives", "easy, random, hard, all, ms"}},
		{map[string]any{"positives": "semihard", "negatives": "semihard"}, nil,
			[]string{"mine.positives: semihard", "mine.negatives, semihard"}},
		{map[string]any{"positives": "semihard"}, nil, []string{"mine.positives: semihard", "mine.negatives, facenet"}},
		{map[string]any{"positives": "semihard"}, map[string]any{"name": "margin", "plus": []any{map[string]any{
			"name": "triplet", "positives": "semihard", "negatives": "angular"}}},
			[]string{"loss.plus[0].positives: semihard", "loss.plus[0].negatives, angular"}},
		{map[string]any{"negative": "hard"}, nil, []string{"mine.negative", `did you mean "negatives"`}},
		{map[string]any{"max_weight": -1}, nil, []string{"mine.max_weight: -1 is not above 0"}},
		{map[string]any{"max_weight": 0}, nil, []string{"mine.max_weight"}},
		{map[string]any{"cutoff": "-0.5"}, nil, []string{"mine.cutoff: -0.5 is not above 0"}},
		{map[string]any{"nearest": -0.1}, nil, []string{"mine.nearest: -0.1 is negative"}},
		{map[string]any{"nearest": 1.5}, nil, []string{"mine.nearest: 1.5 is beyond the cutoff, 1.4"}},
		{map[string]any{"epsilon": -1}, nil, []string{"mine.epsilon: -1 is negative"}},
		{map[string]any{"max_weight": math.Inf(1)}, nil, []string{"mine.max_weight: +Inf is not finite"}},
		{map[string]any{"cutoff": "nan"}, nil, []string{"mine.cutoff: NaN is not finite"}},
		{nil, map[string]any{"margin": -0.2}, []string{"loss.margin: -0.2 is negative"}},
		{nil, map[string]any{"trim": 1}, []string{"loss.trim: 1 is not below 1"}},
		{nil, map[string]any{"l2": -1}, []string{"loss.l2"}},
		{nil, map[string]any{"zero_mean": -1}, []string{"loss.zero_mean"}},
		{nil, map[string]any{"name": "angular", "degrees": 90}, []string{"loss.degrees: 90 is not between 0 and 90"}},
		{nil, map[string]any{"name": "ranked-list", "imbalance": 1.5},
			[]string{"loss.imbalance: 1.5 is not from 0 to 1"}},
		{nil, map[string]any{"name": "ranked-list", "neg_weight": -1}, []string{"loss.neg_weight"}},
		{nil, map[string]any{"name": "margin", "beta": -1}, []string{"loss.beta"}},
		{nil, map[string]any{"name": "arcface", "rate": -1}, []string{"loss.rate"}},
		{nil, map[string]any{"plus": []any{map[string]any{"name": "nca", "weight": -2}}},
			[]string{"loss.plus[0].weight: -2 is negative"}},
		{map[string]any{"positives_from": 0.5, "positives_to": 0.4}, nil,
			[]string{"mine.positives_from: 0.5 is beyond mine.positives_to, 0.4"}},
		{map[string]any{"negatives_from": 2, "negatives_to": "1.5"}, nil,
			[]string{"mine.negatives_from: 2 is beyond mine.negatives_to, 1.5"}},
		{map[string]any{"negatives_from": -2, "negatives_to": -3}, nil,
			[]string{"mine.negatives_from: -2 is negative", "mine.negatives_to: -3 is negative"}},
		{map[string]any{"negatives_till": 2}, nil, []string{"mine.negatives_till: unknown key"}},
		{nil, map[string]any{"plus": []any{map[string]any{"name": "nca", "positives_from": 2, "positives_to": 1}}},
			[]string{"loss.plus[0].positives_from: 2 is beyond loss.plus[0].positives_to, 1"}},
		{map[string]any{"fallback": "soft"}, nil, []string{"mine.fallback", "none, hard"}},
	} {
		_, err := Parse(tc.mine, tc.loss)
		if err == nil {
			t.Errorf("%v %v: no error", tc.mine, tc.loss)
			continue
		}
		if lines := strings.Split(err.Error(),
			"\n"); len(slices.Compact(slices.Sorted(slices.Values(lines)))) < len(lines) {
			t.Errorf("%v %v: said twice: %v", tc.mine, tc.loss, err)
		}
		for _, s := range tc.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%v %v: %q does not say %q", tc.mine, tc.loss, err, s)
			}
		}
	}
}

// TestParseBorders: the ends of every range, those that belong to it and those
// that do not.
func TestParseBorders(t *testing.T) {
	for _, tc := range []struct {
		loss, key string
		in, out   []any
	}{
		{"triplet", "margin", []any{0, 1e9, int64(2), uint64(2), "0.5", nil},
			[]any{-1e-9, math.Inf(1), math.Inf(-1), "", "x"}},
		{"triplet", "trim", []any{0, 0.999}, []any{1, -0.001}},
		{"triplet", "memory", []any{0, 1, 1 << 31}, []any{-1, 0.5, 1<<31 + 1}},
		{"triplet", "l2", []any{0, 2}, []any{-1e-9}},
		{"triplet", "nearest", []any{0, 1.4}, []any{-1e-9, 1.41}},
		{"triplet", "cutoff", []any{1e-9, 5, 0.2}, []any{0, -1}},
		{"triplet", "max_weight", []any{1e-9, 5}, []any{0, -1}},
		{"triplet", "positives_from", []any{0, 0.3, 1e9, "0.5", nil}, []any{-1e-9, math.Inf(1), "x"}},
		{"triplet", "positives_to", []any{0, 0.3, 1e9}, []any{-1e-9, math.NaN()}},
		{"triplet", "negatives_from", []any{0, 0.3, 1e9}, []any{-1e-9, []any{1}}},
		{"triplet", "negatives_to", []any{0, 0.3, 1e9}, []any{-1e-9, math.Inf(1)}},
		{"triplet", "angle", []any{1e-9, 89.9}, []any{0, 90, -1}},
		{"triplet", "bands", []any{0, 1, 1 << 16}, []any{-1, 0.5, 1<<16 + 1}},
		{"triplet", "normalize", []any{true, "false", "1"}, []any{1, "2", "yes"}},
		{"ms", "alpha", []any{1e-9, 100}, []any{0, -1}},
		{"ms", "lambda", []any{-3, 0, 3}, []any{math.NaN()}},
		{"angular", "degrees", []any{1e-9, 89.9}, []any{0, 90, -1}},
		{"ranked-list", "imbalance", []any{0, 1}, []any{-0.001, 1.001}},
	} {
		parse := func(v any) error {
			_, err := ParseFlat(map[string]any{"loss": tc.loss, tc.key: v})
			return err
		}
		for _, v := range tc.in {
			if err := parse(v); err != nil {
				t.Errorf("%s of %v: %v", tc.key, v, err)
			}
		}
		for _, v := range tc.out {
			if err := parse(v); err == nil || strings.Count(err.Error(), "\n") > 0 ||
				!strings.Contains(err.Error(), "."+tc.key+": ") {
				t.Errorf("%s of %v: %v", tc.key, v, err)
			}
		}
	}
	// Both given.
	if _, err := ParseFlat(map[string]any{"cutoff": 0.7, "nearest": 0.7}); err != nil {
		t.Error(err)
	}
	if _, err := ParseFlat(map[string]any{"cutoff": 0.7, "nearest": 0.71}); err == nil {
		t.Error("nearest beyond a given cutoff")
	}
}

// TestMiningMeasuresLikeTheLoss: FaceNet's margin is in the distance of the
// loss, unless the configuration names one.
func TestMiningMeasuresLikeTheLoss(t *testing.T) {
	for _, name := range LossNames() {
		o := mustParse(t, "loss", name)
		if got, want := o.Mine.Euclidean, o.Loss.Traits().Measure == loss.Euclidean; got != want {
			t.Errorf("%s: Euclidean mining %v, loss %v", name, got, want)
		}
		for distance, euclidean := range map[string]bool{"euclidean": true, "squared": false} {
			if o := mustParse(t, "loss", name, "distance", distance); o.Mine.Euclidean != euclidean {
				t.Errorf("%s in %s distances: Euclidean mining %v", name, distance, o.Mine.Euclidean)
			}
		}
	}
	o, err := Parse(map[string]any{"epsilon": 0.3}, map[string]any{"epsilon": 0.4, "margin": 0.6})
	if err != nil || option.OrDefault(o.Mine.Epsilon, 0.1) != 0.3 || option.OrDefault(o.Mine.Margin, 0.2) != 0.6 {
		t.Errorf("%+v, %v: mine's own epsilon goes before the loss's", o.Mine, err)
	}
	if o := mustParse(t, "epsilon", 0.4); option.OrDefault(o.Mine.Epsilon, 0.1) != 0.4 || o.Mine.HardFallback {
		t.Errorf("%+v", o.Mine)
	}
	if o := mustParse(t, "fallback", "hard"); !o.Mine.HardFallback {
		t.Error("no fallback")
	}
}

// TestFurtherLossesMineAlike: a further loss takes over the numbers of mining,
// but not the policies, which are its own or its customary ones.
func TestFurtherLossesMineAlike(t *testing.T) {
	for _, tc := range []struct {
		mine, plus map[string]any
		want       MiningConfig
	}{
		{nil, map[string]any{"name": "triplet"},
			MiningConfig{Positives: EasyPositive, Negatives: FaceNetNegative}},
		{nil, map[string]any{"name": "triplet", "negatives": "hard"},
			MiningConfig{Positives: EasyPositive, Negatives: HardNegative}},
		{map[string]any{"positives": "hard", "negatives": "easy", "fallback": "hard", "nearest": 0.7},
			map[string]any{"name": "triplet"},
			MiningConfig{Positives: EasyPositive, Negatives: FaceNetNegative, HardFallback: true,
				Nearest: new(0.7)}},
		{map[string]any{"cutoff": 1.2}, map[string]any{"name": "npair", "positives": "easy"},
			MiningConfig{Positives: EasyPositive, Negatives: AllNegatives, Cutoff: new(1.2)}},
		{map[string]any{"positives_from": 0.1, "positives_to": 1, "negatives_from": 0.2, "negatives_to": 1.9},
			map[string]any{"name": "npair", "negatives_from": 0.4}, // ranges are of the policies
			MiningConfig{Positives: AllPositives, Negatives: AllNegatives,
				NegativeRange: DistanceRange{From: new(0.4)}}},
	} {
		before := maps.Clone(tc.plus)
		o, err := Parse(tc.mine, map[string]any{"name": "contrastive", "plus": []any{tc.plus}})
		if err != nil {
			t.Errorf("%v, %v: %v", tc.mine, tc.plus, err)
			continue
		}
		if len(o.Plus) != 1 || !reflect.DeepEqual(o.Plus[0].Options.Mine, tc.want) || o.Plus[0].Weight != 1 {
			t.Errorf("%v, %v: %+v, want %+v", tc.mine, tc.plus, o.Plus, tc.want)
		}
		if !maps.Equal(before, tc.plus) {
			t.Errorf("the configuration was changed to %v", tc.plus)
		}
	}
}

func TestNewMistakes(t *testing.T) {
	for name, o := range map[string]Options{
		"trim of 1":             {Trim: 1},
		"trim of anchors":       {Trim: 0.1, Loss: loss.NPair{}},
		"negative memory":       {Memory: -1},
		"negative max_weight":   {Mine: MiningConfig{MaxWeight: new(-1.0)}},
		"a cutoff of 0":         {Mine: MiningConfig{Cutoff: new(0.0)}},
		"nearest beyond cutoff": {Mine: MiningConfig{Nearest: new(1.41)}},
		"nearest is NaN":        {Mine: MiningConfig{Nearest: new(math.NaN())}},
		"negative epsilon":      {Mine: MiningConfig{Epsilon: new(-0.1)}},
		"range of all pairs": {Loss: loss.Lifted{}, Mine: MiningConfig{Positives: AllPositives,
			Negatives: AllNegatives, PositiveRange: DistanceRange{To: new(1.0)}}},
		"range that ends before it begins": {Mine: MiningConfig{NegativeRange: DistanceRange{From: new(1.0),
			To: new(0.9)}}},
		"semi-hard on both sides": {Mine: MiningConfig{Positives: SemiHardPositive,
			Negatives: SemiHardNegative}},
		"infinite margin":    {Mine: MiningConfig{Margin: new(math.Inf(1))}},
		"negative l2":        {L2: -1},
		"negative weight":    {Plus: []Weighted{{-1, Options{}}}},
		"proxies and memory": {Memory: 4, Loss: &loss.ProxyNCA{}, Classes: 2, Dim: 2},
		"proxies of no classes": {Loss: &loss.ProxyNCA{},
			Mine: MiningConfig{Positives: AllPositives, Negatives: AllNegatives}},
		"angular on one":     {Loss: loss.Angular{}},
		"sum of sums":        {Plus: []Weighted{{1, Options{Plus: []Weighted{{}}}}}},
		"a bad further loss": {Plus: []Weighted{{1, Options{Trim: 2}}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	o := mustParse(t, "loss", "proxynca")
	o.Classes, o.Dim = 3, 2
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := gaussian(2, 2, 1, 1)
	if _, err := obj.Step(context.Background(), e, Batch{Labels: []int64{0, 3}}, nil); err == nil ||
		!strings.Contains(err.Error(), "sample 1 has label 3") {
		t.Errorf("a label without a class: %v", err)
	}
	if err := obj.SetMining(MiningConfig{}); err == nil {
		t.Error("proxies took mined tuples")
	}
}

func TestClassIndices(t *testing.T) {
	for _, tc := range []struct {
		labels  []int64
		classes int
		want    []int64
		n       int
	}{
		{[]int64{5, -1, 5, 9}, 0, []int64{1, 0, 1, 2}, 3},
		{[]int64{0, 2}, 3, []int64{0, 2}, 3},
		{[]int64{10, 30}, 2, []int64{0, 1}, 2},
		{[]int64{10, 30}, 3, nil, 0},
	} {
		got, n, err := ClassIndices(tc.labels, tc.classes)
		if (err != nil) != (tc.want == nil) || n != tc.n {
			t.Errorf("%v of %d: %v, %d, %v", tc.labels, tc.classes, got, n, err)
			continue
		}
		for k := range tc.want {
			if got[k] != tc.want[k] {
				t.Errorf("%v of %d: %v", tc.labels, tc.classes, got)
			}
		}
	}
}

// Keys lists what Parse asks for: of one loss less than of all, and words that are taken.
func TestKeys(t *testing.T) {
	mining, all := Keys("")
	if names := MiningKeys(); len(mining) != len(names) {
		t.Errorf("%d keys of mining, %d names", len(mining), len(names))
	}
	for _, loss := range LossNames() {
		_, of := Keys(loss)
		if len(of) >= len(all) {
			t.Errorf("%s has %d keys of %d", loss, len(of), len(all))
		}
		for _, k := range of {
			for _, word := range k.Values {
				if k.Name == "name" {
					continue
				}
				values := map[string]any{"name": loss, k.Name: word}
				if _, err := Parse(nil, values); err != nil {
					t.Errorf("%v: %v", values, err)
				}
			}
			// A text that is no word of a list is refused for its value, not as a key.
			if _, err := Parse(nil, map[string]any{"name": loss, k.Name: "no such word"}); err == nil ||
				strings.Contains(err.Error(), "unknown key") {
				t.Errorf("loss.%s: %v", k.Name, err)
			}
		}
	}
}
