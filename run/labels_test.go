package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/run/internal/record"
)

// A run's config.yaml decides, not the sizes of the folders. Earlier versions left the choice of the top folders empty.
func TestLabelsOfSavedRun(t *testing.T) {
	for _, c := range []struct {
		text, label, fine string
	}{
		{"data: {path: photos}", "coarse", "fine"},
		{"data: {path: photos, label: coarse}", "coarse", "fine"},
		{"data: {path: photos, label: fine, fine: fine}", "fine", "fine"},
		{"data: {path: photos, label: coarse, fine: coarse}", "coarse", "coarse"},
		{"data: {path: photos, label: parity}", "parity", "fine"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, record.ConfigFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := f.Config()
		if err != nil {
			t.Fatal(err)
		}
		var resumed Config
		resumed.useRecordedSettings(dir)
		for _, chosen := range []string{"fine", "coarse"} { // by the sizes
			d := &data.Dataset{Levels: &data.Levels{Label: chosen, Scored: chosen}}
			for _, cfg := range []Config{saved, resumed} {
				if label, fine := cfg.Data.LabelColumns(d); label != c.label || fine != c.fine {
					t.Errorf("%s: columns %s and %s, want %s and %s", c.text, label, fine, c.label, c.fine)
				}
			}
		}
		one := &data.Dataset{}
		if label, fine := saved.Data.LabelColumns(one); label != saved.Data.Label || fine != saved.Data.Fine {
			t.Errorf("%s: one level has the columns %q and %q", c.text, label, fine)
		}
	}
	var fresh Config
	d := &data.Dataset{Levels: &data.Levels{Label: "fine", Scored: "fine"}}
	if label, fine := fresh.Data.LabelColumns(d); label != "fine" || fine != "fine" {
		t.Errorf("a new run: %s and %s", label, fine)
	}
}
