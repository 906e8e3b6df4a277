package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// healthReport is what kindred doctor prints.
type healthReport struct {
	versionInfo
	// BFloat16 is the level of the kernels that compute in bfloat16: amx, avx512 or go.
	BFloat16 string `json:"bfloat16"`
	Cores    int    `json:"cores"` // of the machine, as far as this process may use them
	Used     int    `json:"cores_used"`
	Memory   int64  `json:"memory_limit"` // bytes
	// DataDir and WeightsDir are folders; Sets and Weights list what is in them.
	DataDir    string          `json:"data_dir"`
	Sets       []string        `json:"sets"`
	WeightsDir string          `json:"weights_dir"`
	Weights    []string        `json:"weights"`
	Caches     []trainingCache `json:"caches"`
	// Environment lists the environment variables that kindred reads.
	Environment []string `json:"environment"`
	// Programs lists the programs that kindred works with; their path is "" if not found.
	Programs []helperProgram `json:"programs"`
	Problems []string        `json:"problems"`
}

// helperProgram is a program that kindred works with.
type helperProgram struct {
	Name string `json:"name"`
	Path string `json:"path"`
	For  string `json:"for"`
}

func newDoctor(a *app) *cobra.Command {
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
		RunE: func(*cobra.Command, []string) error { return a.runDoctor() },
	}
}

func (a *app) runDoctor() error {
	h := healthReport{versionInfo: currentVersion(), BFloat16: bf16.Active().String(), Cores: runtime.NumCPU(),
		Used: runtime.GOMAXPROCS(0), Memory: budget.Limit(), Sets: []string{}, Weights: []string{},
		Environment: []string{}, Problems: []string{}}
	h.examineFolders()
	for _, name := range environmentNames {
		if v, ok := os.LookupEnv(name); ok {
			if slices.Contains(secretNames, name) {
				v = "(set)"
			}
			h.Environment = append(h.Environment, name+"="+v)
		}
	}
	for _, p := range []helperProgram{
		{Name: "npm", For: "kindred data get, if the official address cannot be reached"},
		{Name: "chromium", For: "tests of the pages"},
		{Name: "kindred-gpu", For: "training on an accelerator"},
	} {
		p.Path, _ = exec.LookPath(p.Name)
		h.Programs = append(h.Programs, p)
	}
	err := a.printResult(h, func() error { return a.printHealth(&h) })
	if err == nil && len(h.Problems) > 0 {
		return errors.New(strings.Join(h.Problems, "; "))
	}
	return err
}

// environment lists the variables that kindred and Go read. The values of those in
// secrets are not printed.
var (
	environmentNames = []string{data.EnvHome, weights.EnvHome, "KINDRED_ISA", secretEnv, "GOMAXPROCS", "GOMEMLIMIT",
		"XDG_CACHE_HOME", "HTTPS_PROXY", "NO_PROXY", "AWS_ENDPOINT_URL", "AWS_REGION"}
	secretNames = []string{secretEnv, "HTTPS_PROXY"} // a proxy's address may hold a password
)

// examineFolders looks into the folders of data, weights and caches.
func (h *healthReport) examineFolders() {
	problem := func(err error) {
		if err != nil {
			h.Problems = append(h.Problems, cli.Message(err))
		}
	}
	var err error
	h.DataDir, err = data.Home("")
	problem(err)
	if err == nil {
		for _, s := range listSets(h.DataDir) {
			if s.Present {
				h.Sets = append(h.Sets, s.Name)
			}
		}
	}
	h.WeightsDir, err = weights.Home("")
	problem(err)
	if err == nil {
		for _, e := range weights.Catalog() {
			if e.Cached(h.WeightsDir) {
				h.Weights = append(h.Weights, e.Name)
			}
		}
	}
	h.Caches, err = listCaches()
	problem(err)
	for i := range h.Caches {
		_, err := h.Caches[i].files()
		problem(err)
	}
}

func (a *app) printHealth(h *healthReport) error {
	fmt.Fprint(a.out, h.versionInfo)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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
