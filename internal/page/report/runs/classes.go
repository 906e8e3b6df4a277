package runs

import (
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/run"
)

// scoredClasses lists the classes on which the group's runs were scored. It has several entries
// if seeds draw different classes for the test. names are the classes of the first run. A
// run whose labels cannot be read is left out.
func (g *Group) scoredClasses(set run.Set, names []string) []string {
	lists := []string{joinClasses(names)}
	for _, r := range g.Runs[1:] {
		_, labels := r.EmbeddingFiles(set)
		t, err := embedding.Formats{}.ReadLabels(labels)
		if err == nil {
			t, err = t.Select()
		}
		if err != nil {
			continue
		}
		_, names := maps.NumberClasses(&t.Columns[0])
		lists = append(lists, joinClasses(names))
	}
	slices.Sort(lists)
	return slices.Compact(lists)
}

func joinClasses(names []string) string {
	return fmt.Sprintf("%q", slices.Sorted(slices.Values(names)))
}

// hasSameClasses reports whether the groups' scores of a set are of the same classes. A set
// without kept embeddings comes from the test's split and is treated like the test.
func (c *Comparison) hasSameClasses(set string) bool {
	of := func(g *Group) []string {
		if list, ok := g.classes[set]; ok {
			return list
		}
		return g.classes[run.TestSet.String()]
	}
	for i := range c.Groups {
		if !slices.Equal(of(&c.Groups[i]), of(&c.Groups[0])) {
			return false
		}
	}
	return true
}
