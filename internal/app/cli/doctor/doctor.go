// Package doctor examines what kindred finds on this machine.
package doctor

import (
	"os"
	"os/exec"
	"runtime"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// Report is what kindred doctor prints.
type Report struct {
	version.Info
	// BFloat16 is the level of the kernels that compute in bfloat16: amx, avx512 or go.
	BFloat16 string `json:"bfloat16"`
	Cores    int    `json:"cores"` // of the machine, as far as this process may use them
	Used     int    `json:"cores_used"`
	Memory   int64  `json:"memory_limit"` // bytes
	// DataDir and WeightsDir are folders; Sets and Weights list what is in them.
	DataDir    string   `json:"data_dir"`
	Sets       []string `json:"sets"`
	WeightsDir string   `json:"weights_dir"`
	Weights    []string `json:"weights"`
	Caches     []Cache  `json:"caches"`
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

// examineFolders looks into the folders of data, weights and caches.
func (h *Report) examineFolders() {
	problem := func(err error) {
		if err != nil {
			h.Problems = append(h.Problems, cli.Message(err))
		}
	}
	var err error
	h.DataDir, err = data.Home("")
	problem(err)
	if err == nil {
		for _, s := range datasets.List(h.DataDir) {
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
	h.Caches, err = Caches()
	problem(err)
	for i := range h.Caches {
		_, err := h.Caches[i].List()
		problem(err)
	}
}

// Examine examines this machine.
func Examine() *Report {
	h := Report{Info: version.Current(), BFloat16: bf16.Active().String(), Cores: runtime.NumCPU(),
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
	return &h
}

// environment lists the variables that kindred and Go read. The values of those in
// secrets are not printed.
var (
	environmentNames = []string{data.EnvHome, weights.EnvHome, "KINDRED_ISA", queues.SecretEnv, "GOMAXPROCS",
		"GOMEMLIMIT",
		"XDG_CACHE_HOME", "HTTPS_PROXY", "NO_PROXY", "AWS_ENDPOINT_URL", "AWS_REGION"}
	secretNames = []string{queues.SecretEnv, "HTTPS_PROXY"} // a proxy's address may hold a password
)
