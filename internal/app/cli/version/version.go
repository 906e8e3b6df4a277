// Package version says which build of kindred this is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Info describes this build of kindred and what it runs on.
type Info struct {
	Version string `json:"version"` // of the module; (devel) for a build from a folder
	// Commit is the commit of the source, with +dirty if files differed from it. It is empty
	// if the build did not know it.
	Commit   string `json:"commit"`
	Time     string `json:"commit_time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// ISA is the level of the kernels in use: avx512, avx2 or go.
	ISA string `json:"isa"`
}

// New reads what the Go tool wrote into the program.
func New(info *debug.BuildInfo) Info {
	v := Info{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ISA: simd.Active().String()}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && v.Commit != "" {
		v.Commit += "+dirty"
	}
	return v
}

// Current is the version of the running program.
func Current() Info {
	info, _ := debug.ReadBuildInfo()
	return New(info)
}

// String is the text of kindred version.
func (v Info) String() string {
	return fmt.Sprintf("kindred %s\ncommit  %s\n%s, %s\nkernels %s\n", v.Version,
		cmp.Or(v.Commit, "unknown (built outside a checkout, or without -buildvcs)"), v.Go, v.Platform, v.ISA)
}
