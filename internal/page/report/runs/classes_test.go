package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// Scores of different classes have no best, however alike the sets are in size.
func TestNoBestAcrossClasses(t *testing.T) {
	list := func(first int) (names []string) {
		for i := range 18 {
			names = append(names, fmt.Sprintf("class %d/%02d.png", first+i/6, i))
		}
		return names
	}
	load := func(name string, epochs, seed, first int) *Run {
		dir := writeFolder(t, name, fmt.Sprintf("data: {path: gone}\ntrain: {epochs: %d, seed: %d}\n", epochs, seed),
			"epoch,loss,test_recall@1,validation_recall@1\n1,2,0.2,0.3\n")
		writeEmbeddings(t, dir+"/", list(first), 1)
		r, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := load("a", 1, 1, 0), load("b", 2, 1, 0)
	other, again := load("other", 3, 1, 1), load("again", 1, 2, 1)
	for name, c := range map[string]struct {
		runs []*Run
		best report.Best
	}{
		"the same":            {[]*Run{a, b}, report.Highest},
		"other classes":       {[]*Run{a, other}, report.NoBest},
		"a seed of others":    {[]*Run{a, again, b}, report.NoBest},
		"the other way round": {[]*Run{b, a, again}, report.NoBest},
	} {
		all := Compare(c.runs)
		if err := all.ReadEmbeddings(t.Context(), PageOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(all.Groups) != 2 || len(all.Unseen) == 0 {
			t.Errorf("%s: %d groups, photos of %v", name, len(all.Groups), all.Unseen)
		}
		tables := all.Scores()
		for _, table := range tables[:len(tables)-1] {
			last := table.Columns[len(table.Columns)-1]
			if last.Best != c.best || strings.Contains(table.Note, "different classes") != (c.best == report.NoBest) {
				t.Errorf("%s: %s marks %v: %s", name, table.Caption, last.Best, table.Note)
			}
		}
		if len(tables) != 3 {
			t.Errorf("%s: %d tables", name, len(tables))
		}
	}
}
