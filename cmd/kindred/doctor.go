package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/doctor"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

func newDoctor(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what kindred finds on this machine, for a bug report",
		Long: `doctor prints what kindred runs on: its version, the instruction sets in use, the
cores and the memory that it may use, its folders and their contents, the environment
variables that it reads, and the programs that it works with. It changes nothing. The
exit status is 1 if a folder cannot be used.`,
		Example: `  kindred doctor
  kindred doctor --json`,
		Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			h := doctor.Examine()
			err := a.PrintResult(h, func() error { return printHealth(a, h) })
			if err == nil && len(h.Problems) > 0 {
				return errors.New(strings.Join(h.Problems, "; "))
			}
			return err
		},
	}
}

func printHealth(a *console.Console, h *doctor.Report) error {
	fmt.Fprint(a.Out, h.Info)
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", what, escape.Name(fmt.Sprintf(format, args...)))
	}
	line("bfloat16", "%s", h.BFloat16)
	line("cores", "%d of %d", h.Used, h.Cores)
	line("memory", "at most %s for a file or a setting", budget.Format(h.Memory))
	line("data sets", "%s: %s", h.DataDir, joinNames(h.Sets))
	line("weights", "%s: %s", h.WeightsDir, joinNames(h.Weights))
	for _, c := range h.Caches {
		line(c.Name, "%s: %s, %s", c.Dir, enum.Count(c.Files, "file"), budget.Format(c.Bytes))
	}
	for _, v := range h.Environment {
		line("set", "%s", v)
	}
	for _, p := range h.Programs {
		if p.Path == "" {
			line(p.Name, "not found (%s)", p.For)
		} else {
			line(p.Name, "%s", p.Path)
		}
	}
	return w.Flush()
}

// joinNames joins names, or says that there are none.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	return strings.Join(names, ", ")
}
