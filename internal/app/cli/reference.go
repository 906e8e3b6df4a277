package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// PrintReference prints the keys of the configuration with their meaning.
func PrintReference(w io.Writer) error {
	section := ""
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range run.Reference() {
		s, name, _ := strings.Cut(k.Name, ".")
		if s != section {
			fmt.Fprintf(tw, "%s:\n", s)
			section = s
		}
		fmt.Fprintf(tw, "  %s: %s\t# %s\n", name, k.Default, k.Help)
	}
	fmt.Fprintf(tw, "mine and loss:\tsee 'kindred loss --help'; also\n  loss.relation: %v\t# which labels make "+
		"positives: %s\n", objective.EqualLabel, strings.Join(objective.RelationRuleNames(), ", "))
	return tw.Flush()
}
