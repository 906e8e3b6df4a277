package paper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/run"
)

// groupFamilies groups classes by the last word of their names: Ivory_Gull is a Gull.
func groupFamilies(names []string) string {
	members := map[string][]string{}
	for _, n := range names {
		family := n[strings.LastIndexByte(n, '_')+1:]
		members[family] = append(members[family], n)
	}
	var groups []string
	for _, m := range members {
		groups = append(groups, strings.Join(m, ","))
	}
	slices.Sort(groups)
	return "groups:" + strings.Join(groups, "|")
}

// TestWhichLabelsAreCoarse asks of real data sets, by the features of a network
// pretrained on photographs, what decides which positives are trained with: whether
// labels hold several kinds. -v prints what the table in docs/design/finetune.md has.
// Labels of unrelated species are told from species, if there are enough of them; where
// labels hold dozens of kinds (alphabets) or related ones (families), the test states
// nothing.
//
// Long: a third of it is the list of sets.
func TestWhichLabelsAreCoarse(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("set %s=1 to count the kinds in the labels of the reference data, minutes", longVariable)
	}
	weights := refdata.Path(t, "models", "mobilenet_v1_075_224.onnx")
	home := filepath.Dir(refdata.Path(t, "data", "cub100"))
	const either = "either" // where the answer is not known beforehand
	sets := []struct {
		name   string
		size   int
		labels map[string]string // rule: what it should come to
	}{
		{"cub100", 128,
			map[string]string{"fine": "fine", neighboursRule(2): "coarse", neighboursRule(3): "coarse",
				neighboursRule(5): "fine", // too few to tell
				"families":        either, "groups": either}},
		{"omniglot", 96, map[string]string{"fine": "fine", "coarse": either}},
		{"mnist", 96, map[string]string{"fine": either, "parity": either}},
	}
	if dir := os.Getenv("KINDRED_FASHION"); dir != "" { // a folder with Fashion-MNIST's files
		// Tops, trousers, shoes, bag.
		sets = append(sets, sets[2])
		last := &sets[len(sets)-1]
		last.name, last.labels = dir, map[string]string{"fine": either, "groups:0,2-4,6|1|5,7,9|8": either}
	}
	for _, set := range sets {
		path := filepath.Join(home, set.name)
		if filepath.IsAbs(set.name) {
			path = set.name
		}
		d, err := data.Open(t.Context(), path, data.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		m, _, err := run.Import(weights, "", run.DataConfig{Size: set.size})
		if err != nil {
			t.Fatal(err)
		}
		all, err := split.Select(t.Context(), d, split.Selection{Split: "images:0.2", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var pos []int
		for i := 0; i < all.Train.Len(); i += max(1, all.Train.Len()/5000) {
			pos = append(pos, i)
		}
		part := all.Train.Subset(pos)
		e, err := m.EmbedPart(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		x := eval.NormalizeRows(e.X)
		for rule, want := range set.labels {
			name := rule
			switch rule {
			case "families":
				rule = groupFamilies(part.FineClasses)
			case "groups":
				rule = groupsRule(t)
			}
			column, err := d.Labels(rule)
			if err != nil {
				t.Fatal(err)
			}
			var labels []int64
			for _, pos := range e.Pos {
				labels = append(labels, column.IDs[part.Index[pos]])
			}
			k, err := discover.Judge(t.Context(), x, labels, discover.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			got := "fine"
			if k.HasCoarseLabels() {
				got = "coarse"
			}
			t.Logf("%s, %d images, %.20s (%d classes): %v: %s", set.name, len(labels), name, len(column.Classes), k,
				got)
			if want != either && got != want {
				t.Errorf("%s, %.20s: %s, want %s", set.name, name, got, want)
			}
		}
	}
}
