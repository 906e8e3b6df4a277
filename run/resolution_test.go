package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/run/internal/record"
)

// resolutionCase is a configuration whose resolution testdata/settled.txt holds.
type resolutionCase struct {
	name    string
	data    *data.Dataset
	weights func(context.Context, string) (Start, error)
	set     []string
}

// resolutionCases are runs of every kind that resolution tells apart: by the images or
// features, by the start, by what is frozen, by the batches.
func resolutionCases(t *testing.T) []resolutionCase {
	small, onnx := smallStart(t, 64), copyTinyModel(t)
	shots, grey := newPhotos(8, 10, 64), newBlobs(6, 12, 28)
	twoLevels := newBlobs(8, 12, 16)
	twoLevels.Columns = append(twoLevels.Columns, data.Column{Name: "coarse", Classes: []string{"x", "y"},
		Numbers: []int64{0, 1}})
	twoLevels.Coarse = "coarse"
	for _, id := range twoLevels.Columns[0].IDs {
		twoLevels.Columns[1].IDs = append(twoLevels.Columns[1].IDs, id%2)
	}
	w := []string{"network.width=16"}
	return []resolutionCase{
		{"grey", grey, nil, nil},
		{"drawings", newBlobs(6, 12, 105), nil, []string{"data.validation=images:0.2", "network.dim=3"}},
		{"thumbnails", newPhotos(4, 8, 32), small, w},
		{"photographs from scratch", newPhotos(6, 8, 64), nil, w},
		{"photographs", shots, small, w},
		{"photographs, with a head", shots, small, append(w, "network.dim=12")},
		{"photographs, held-out classes", shots, small, append(w, "data.split=classes")},
		{"photographs, set otherwise", shots, small, append(w, "data.pixels=clip", "data.fit=stretch", "data.size=48",
			"data.augment=strong", "data.validation=none", "train.lr=0.01", "train.depth=1", "train.patience=2",
			"train.average=none", "train.epochs=3", "data.chroma=repeat", "network.frozen_norm=false",
			"loss.margin=0.3", "mine.positives=random", "data.group=none")},
		{"weights by name on grey images", grey, smallStart(t, 28), append(w, "network.pretrained=small")},
		{"a frozen body", shots, small, append(w, "network.freeze=body")},
		{"a frozen body with views", shots, small, append(w, "network.freeze=body,fc", "data.augment=light")},
		{"a frozen body with a head", shots, small, append(w, "network.freeze=body", "network.dim=8")},
		{"random features", shots, small, append(w, "network.freeze=body", "network.pretrained=none",
			"network.name=conv4")},
		{"a file with its network", newPhotos(6, 8, 40), nil, []string{"network.pretrained=" + onnx}},
		{"a file with its network, frozen", newPhotos(6, 8, 40), nil, []string{"network.pretrained=" + onnx,
			"network.freeze=body", "data.size=48"}},
		{"features", newFeatures(4, 10, 6), small, nil},
		{"features, of a linear network", newFeatures(4, 10, 6), nil, []string{"network.name=linear",
			"loss.name=proxy-anchor", "data.validation=images:0.2"}},
		{"hierarchical batches", twoLevels, nil, []string{"sample.name=hierarchical", "sample.per_class=2",
			"data.label=coarse"}},
		{"a loss of pairs", grey, nil, []string{"loss.name=contrastive", "mine.negatives=hard", "train.best=none"}},
	}
}

// differences lists the keys of a configuration whose values are not the default's.
func differences(t *testing.T, cfg Config) string {
	t.Helper()
	def := Default()
	plain := map[string]string{}
	was, err := def.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range was {
		plain[s.Key] = s.Value
	}
	now, err := cfg.Settings()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range now {
		if v, ok := plain[s.Key]; !ok || v != s.Value {
			if s.Key == "network.pretrained" {
				s.Value = filepath.Base(s.Value)
			}
			fmt.Fprintf(&b, "  %s=%s\n", s.Key, s.Value)
		}
	}
	return b.String()
}

// resumedDifferences lists in which keys a run that is resumed by the configuration given
// goes on otherwise than it was begun, and the same of one whose folder says nothing.
func resumedDifferences(t *testing.T, c resolutionCase, given, begun Config) string {
	t.Helper()
	var b strings.Builder
	for _, text := range []string{string(begun.YAML()), "data:\n"} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, record.ConfigFile), text)
		tr, err := newPlan(t.Context(), given, Options{Dir: dir, Resume: true, Dataset: c.data, Weights: c.weights})
		if err != nil {
			fmt.Fprintf(&b, "    %v\n", err)
			continue
		}
		tr.close()
		was := differences(t, begun)
		for line := range strings.Lines(differences(t, tr.cfg)) {
			if !strings.Contains(was, line) {
				fmt.Fprintf(&b, "  %s", line)
			}
		}
		b.WriteString("    .\n")
	}
	return b.String()
}

// TestSettled compares what configurations come to, and how init writes the first of
// them, with testdata/settled.txt; KINDRED_UPDATE=1 rewrites it.
func TestSettled(t *testing.T) {
	setCacheDir(t, t.TempDir())
	var b bytes.Buffer
	for i, c := range resolutionCases(t) {
		given, err := Parse("", nil, c.set...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Plan(t.Context(), given, Options{Dataset: c.data, Weights: c.weights})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i := range table.Keys {
			if k := &table.Keys[i]; table.Unset(&given, k) && !table.Unset(&s.Config, k) && k.UseRecorded == nil {
				t.Errorf("%s: %s is settled, and anew when the run is resumed", c.name, k.Name)
			}
		}
		fmt.Fprintf(&b, "%s\n%s", c.name, differences(t, s.Config))
		fmt.Fprintf(&b, "  resumed\n%s", resumedDifferences(t, c, given, s.Config))
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n%s\n", s.Config.YAML(), s.Config.Annotate(given))
		}
	}
	compareGolden(t, "settled.txt", b.Bytes())
}

// compareGolden compares text with a file of testdata; KINDRED_UPDATE=1 rewrites it.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KINDRED_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is no longer\n%s", path, got)
	}
}

// mistakes are configurations with something wrong in them.
var mistakes = []string{
	"data:\n  name: a/b\n  path: c\n", "data:\n  size: -1\n", "data: {size: 4097}", "data: {channels: 2}",
	"data: {fit: fill}", "data: {shorter: -1}", "data: {augment: lite}", "data: {pixels: imagnet}",
	"data: {views: 2}", "data: {views: -1}\nnetwork: {freeze: body}", "data: {train_limit: -1}",
	"data: {test_limit: -2}",
	"data: {chroma: rough}", "data: {crop: perhaps}", "data: {skip_corrupt: maybe}",
	"network: {name: conv4, pretrained: a.onnx}", "network: {cut: x}", "network: {dim: -1}", "network: {head: x}",
	"network: {precision: half}", "network: {pretrained: a.onnx, pool: gem}",
	"network: {pretrained: a.onnx,\n  patch: 8}", "network: {pretrained: a.onnx, registers: 4}",
	"network: {pretrained: a.onnx, drop_path: 0.1}", "network: {resample: x}", "network: {pool: x}",
	"network: {patch: -1}", "network: {registers: -1}", "network: {drop_path: 1}", "network: {width: -1}",
	"network: {multiple: -0.5}", "network: {dropout: 1}", "network: {normalize: maybe}", "network: {freeze: [[a]]}",
	"sample: {classes: -1}", "sample: {per_class: -1}", "sample: {batches: -1}", "sample: {views: -1}",
	"sample: {coarse: -1, name: hierarchical}", "sample: {fine: -1, name: hierarchical}", "sample: {name: balanaced}",
	"sample: {name: hierarchical,\n  classes: 4}", "sample: {coarse: 2}", "sample: {fine: 2}", "train: {epochs: -1}",
	"train: {budget: soon}", "train: {budget: -3m}", "train: {average: some}",
	"train: {smooth: -1}", "train: {average: 0}", "train: {line: -1}",
	"train: {line: 101}", "train: {optimizer: lion}", "train: {schedule: linear}", "train: {lr: -1}", "train: {lr: x}",
	"train: {depth: -1}", "train: {depth: 2}", "train: {patience: -1}", "train: {loss_lr: -1}", "train: {momentum: 1}",
	"train: {weight_decay: -1}", "train: {clip: -1}", "train:\n  schedule: step\n", "train: {steps: [2, 1]}",
	"train: {steps: 0}", "train: {gamma: 0}", "train: {warmup: -1}", "train: {chunk: -1}", "train: {checkpoint: -1}",
	"train: {groups: [{scale: 1}]}", "train: {groups: [{prefix: a, scale: -1}, {scale: -2}]}",
	"train: {groups: [{prefx: a}]}", "train: {groups: [{prefix: a, scale: x}]}", "train: {groups: 3}",
	"train: {seed: -1}", "train: {epochs: 1.5}", "train: {epochs: 99999999999}", "train: {epochs: [1, 2]}",
	"train: {tensorboard: 2}", "eval: {recall: []}", "eval: {recall: [1, 0, -1]}", "eval: {recall: [1, x]}",
	"eval: {every: 0}", "eval: {train: -2}", "eval: {batch: 0}", "eval: {distance: far}",
	"eval: {metrics: [coarse:nmi, recal@1]}", "eval: {keep: 1.0}",
	"loss: {name: triplt}", "loss:\n  margn: 1\n", "loss: {margin: -1}", "mine: {positives: esy}",
	"mine: {fallback: x}", "mine: {positives: semihard, negatives: facenet}", "trian: {epochs: 3}",
	"train: {epoch: 3}", "sample: {epochs: 3}", "train: 3", "nothing", "train: {lr: -1}\neval: {every: 0}",
}

// TestMistakes compares what is said about them, and about a value of a wrong type for every key, with
// testdata/mistakes.txt.
func TestMistakes(t *testing.T) {
	var b bytes.Buffer
	wrong := slices.Clone(mistakes)
	for _, k := range Keys() {
		section, name, _ := strings.Cut(k.Name, ".")
		if section == "loss" || section == "mine" { // which package objective reads
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s: {%s: {no: value}}", section, name))
	}
	for _, text := range wrong {
		_, err := Parse("run.yaml", []byte(text))
		if err == nil {
			t.Errorf("%q: no error", text)
		}
		fmt.Fprintf(&b, "%s\n  %s\n", strings.TrimSpace(text), strings.ReplaceAll(fmt.Sprint(err), "\n", "\n  "))
	}
	compareGolden(t, "mistakes.txt", b.Bytes())
}
