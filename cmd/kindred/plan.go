package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/plan"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

func newPlan(a *console.Console) *cobra.Command {
	var l plan.Load
	var m plan.Machine
	var memory string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Compute what a large collection would need on each engine",
		Long: `plan computes the bytes, memory, machines and hours that a number of vectors needs as an
index folder, in PostgreSQL with pgvector and in Weaviate, and that embedding the
images needs. It multiplies constants that were measured with up to a million vectors of
128 numbers. A table shows the measurements beside the formula's values for the same
sizes; --json has each constant with the command that measured it and the machine. At
other sizes the results are computed, not measured.

Everything is for one copy: n copies need n times as much. Qdrant was not measured.`,
		Example: `  kindred plan --vectors 1e9 --images 1e8
  kindred plan --vectors 5e6 --dim 512 --queries 20 --cores 8 --memory-of-a-machine 32GiB`,
		Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			n, err := budget.Parse(memory)
			if err != nil {
				return cli.Usagef("--memory-of-a-machine: %v", err)
			}
			m.Memory = float64(n)
			r, err := plan.Compute(l, m)
			if err != nil {
				return cli.Usagef("--%v", err)
			}
			return a.PrintResult(r, func() error { return printPlan(a, r) })
		},
	}
	fs := flags.New(cmd)
	fs.Float64Var(&l.Vectors, "vectors", 1e9, "vectors to hold")
	fs.IntVar(&l.Dim, "dim", 128, "length of a vector")
	fs.Float64Var(&l.Queries, "queries", 100, "searches per second")
	fs.Float64Var(&l.Images, "images", 1e8, "images to embed")
	fs.Float64Var(&l.ImageBytes, "image-bytes", 100_000, "size of an image file")
	fs.Text(&l.Network, "network", "resnet50-224", "network that embeds them: "+
		strings.Join(plan.Networks(), ", "), complete.Network)
	fs.IntVar(&m.Cores, "cores", 32, "cores of a machine")
	fs.Text(&memory, "memory-of-a-machine", "256GiB", "its memory", complete.Words("64GiB", "256GiB"))
	return cmd
}

// printPlan writes a plan as tables.
func printPlan(a *console.Console, r *plan.Report) error {
	l := r.Load
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%.4g vectors of %d numbers, %.4g searches a second; machines of %d cores and %s\n", l.Vectors,
		l.Dim, l.Queries, r.Machine.Cores, formatSize(r.Machine.Memory))
	fmt.Fprintln(w, "ENGINE\tDISK\tMEMORY\tMACHINES\tFOR MEMORY\tFOR SEARCHES\tA SEARCH\tTO WRITE, HOURS OF A CORE\t")
	for _, e := range r.Engines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.3g ms\t%.3g\t\n", e.Engine, formatSize(e.Disk),
			formatSize(e.Memory),
			e.Machines, e.ByMemory, e.ByQueries, 1000*e.Search, e.Fill/3600)
	}
	fmt.Fprint(w, "Qdrant, HNSW\tnot measured\n\n")
	for _, e := range r.Engines {
		fmt.Fprintf(w, "%s: %s\n", e.Engine, e.Note)
	}
	e := r.Embedding
	fmt.Fprintf(w, "\n%.4g images by %s: %.3g hours of a machine (%.3g hours of a core for the network, "+
		"%.3g to decode),\n%s, which one object store gives in %.3g hours\n\n", l.Images, l.Network, e.Hours,
		e.Compute/3600, e.Decode/3600, formatSize(e.Bytes), e.Stream/3600)
	fmt.Fprintln(w, "ENGINE\tVECTORS OF 128\tWHAT\tMEASURED\tFORMULA\tUNIT\t")
	for _, p := range r.Points {
		fmt.Fprintf(w, "%s\t%.0f\t%s\t%.4g\t%.4g\t%s\t\n", p.Engine, p.Vectors, p.What, p.Measured, p.Formula, p.Unit)
	}
	return w.Flush()
}

// formatSize prints bytes in the unit with the fewest digits.
func formatSize(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; bytes >= 1000 && i < len(units)-1; i++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%.3g %s", bytes, units[i])
}
