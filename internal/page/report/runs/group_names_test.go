package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// writeRun is a run in a folder with a configuration and one epoch.
func writeRun(t *testing.T, name, config string) *Run {
	t.Helper()
	r, err := Load(writeFolder(t, name, config, head+"1,10,0.1,2.5,100,40,0,0.5,0.9\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// writeLossRuns are runs of three losses, with the settings that follow from the loss, twice each; data
// spells the data's folder.
func writeLossRuns(t *testing.T, data func(seed int) string, more string) (all []*Run) {
	t.Helper()
	for _, l := range []struct{ name, positives, negatives string }{
		{"triplet", "easy", "facenet"}, {"multisimilarity", "ms", "ms"}, {"softtriple", "all", "all"},
	} {
		for seed := range 2 {
			all = append(all, writeRun(t, fmt.Sprintf("%s-%d", l.name, seed), fmt.Sprintf("data: {path: %q}\nmine: "+
				"{negatives: %s, positives: %s}\nloss: {name: %s}\ntrain: {seed: %d%s}\n", data(seed), l.negatives,
				l.positives, l.name, seed, more)))
		}
	}
	return all
}

func groupNames(c *Comparison) string {
	var out []string
	for _, g := range c.Groups {
		out = append(out, g.Name)
	}
	return strings.Join(out, " | ")
}

// TestNamesByLoss: the loss names the rows, not what follows from it, and two spellings of one folder are no
// difference.
func TestNamesByLoss(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("photos", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("photos", "link"); err != nil {
		t.Fatal(err)
	}
	for _, spellings := range [][2]string{{"photos", "./photos/"}, {"photos", filepath.Join(dir, "photos")},
		{"photos", "link"}, {"s3://bucket/photos", "s3://bucket/photos"}, {"gone/./x", "gone/x"}} {
		c := Compare(writeLossRuns(t, func(seed int) string { return spellings[seed] }, ""))
		if got := groupNames(c); got != "triplet | multisimilarity | softtriple" {
			t.Errorf("%q: %s", spellings, got)
		}
		if got := fmt.Sprint(c.Differ); got != "[loss.name mine.negatives mine.positives]" {
			t.Errorf("%q: %s", spellings, got)
		}
	}
	c := Compare(writeLossRuns(t, func(seed int) string { return []string{"photos", "other"}[seed] }, ""))
	if len(c.Groups) != 6 {
		t.Errorf("two folders are one: %s", groupNames(c))
	}
	c = Compare(writeLossRuns(t, func(int) string { return "" }, ", best: none"))
	if got := groupNames(c); got != "triplet | multisimilarity | softtriple" {
		t.Error(got)
	}
}

// TestNamesBySettings: a name has as many settings as tell the rows apart, the loss before others, and no setting that
// says nothing more.
func TestNamesBySettings(t *testing.T) {
	var all []*Run
	for _, loss := range []string{"triplet", "arcface"} {
		for _, lr := range []string{"0.1", "0.01"} {
			for seed := range 2 {
				net := map[string]string{"triplet": "", "arcface": "nets/a.onnx"}[loss]
				all = append(all, writeRun(t, "r", fmt.Sprintf("network: {pretrained: %q, width: %s}\n"+
					"train: {lr: %s, seed: %d}\nloss: {name: %s}\n", net, lr, lr, seed, loss)))
			}
		}
	}
	c := Compare(all)
	const want = "triplet, width 0.1 | triplet, width 0.01 | arcface, width 0.1 | arcface, width 0.01"
	if got := groupNames(c); got != want {
		t.Error(got)
	}
	if got := fmt.Sprint(c.Differ); got != "[loss.name network.width network.pretrained train.lr]" {
		t.Error(got)
	}
	for i := range all {
		all[i] = writeRun(t, "r", fmt.Sprintf("network: {pretrained: %q}\ntrain: {seed: %d}\n",
			[]string{"", "nets/a.onnx"}[i/4], i%4))
	}
	if got := groupNames(Compare(all)); got != "no pretrained | pretrained a.onnx" {
		t.Error(got)
	}
	if got := groupNames(Compare(all[:3])); got != "all seeds" {
		t.Error(got)
	}
	// Both folders are called r.
	if got := groupNames(Compare([]*Run{all[0], all[4]})); got != "no pretrained | pretrained a.onnx" {
		t.Error(got)
	}
}

func TestRename(t *testing.T) {
	all := writeLossRuns(t, func(int) string { return "photos" }, "")
	c := Compare(all)
	t.Chdir(filepath.Dir(all[2].Dir()))
	ms := "./" + filepath.Base(all[2].Dir()) + "/"
	if err := c.renameGroups([]string{all[1].Dir() + "=Triplet = ours", ms + "=MS"}); err != nil {
		t.Fatal(err)
	}
	if got := groupNames(c); got != "Triplet = ours | MS | softtriple" {
		t.Error(got)
	}
	for want, names := range map[string][]string{
		"want RUN=NAME":              {"photos=x"},
		"after = is empty":           {all[0].Dir() + "= "},
		`are called "a" already`:     {all[0].Dir() + "=a", all[1].Dir() + "=b"},
		"two rows have this name":    {all[0].Dir() + "=softtriple"},
		`"x": want RUN=NAME`:         {"x"},
		"runs.View.Names \"=\": wan": {"="},
	} {
		if err := Compare(all).renameGroups(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", names, err, want)
		}
	}
	err := Compare(all).renameGroups([]string{"x"})
	if got := option.Text(err, func(string) string { return "--name" }); !strings.HasPrefix(got, `--name "x": want`) {
		t.Error(got)
	}
}
