package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// versionInfo describes this build of kindred and what it runs on.
type versionInfo struct {
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

// newVersion reads what the Go tool wrote into the program.
func newVersion(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
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

// newVersionCommand returns kindred --version as a command, which is what many type first.
func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, Go version and instruction set in use",
		Args:  exactArgs(),
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	v := currentVersion()
	return a.printResultf(v, "%s", v)
}

// currentVersion is the version of the running program.
func currentVersion() versionInfo {
	info, _ := debug.ReadBuildInfo()
	return newVersion(info)
}

// String is the text of kindred version.
func (v versionInfo) String() string {
	return fmt.Sprintf("kindred %s\ncommit  %s\n%s, %s\nkernels %s\n", v.Version,
		cmp.Or(v.Commit, "unknown (built outside a checkout, or without -buildvcs)"), v.Go, v.Platform, v.ISA)
}
