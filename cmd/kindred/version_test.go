package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

func TestVersion(t *testing.T) {
	code, out, _ := runArgs(t, "--version")
	for _, want := range []string{"kindred ", "commit ", runtime.Version(), "kernels " + simd.Active().String()} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, %q lacks %q", code, out, want)
		}
	}
	if code, same, _ := runArgs(t, "version"); code != exitOK || same != out {
		t.Errorf("kindred version: status %d, %q, not %q", code, same, out)
	}
	code, out, _ = runArgs(t, "--version", "--json")
	var v version.Info
	if err := json.Unmarshal([]byte(out), &v); code != exitOK || err != nil || v.ISA != simd.Active().String() ||
		v.Go != runtime.Version() || v.Version == "" {
		t.Errorf("status %d, %v: %s", code, err, out)
	}
	if code, out, _ := runArgs(t); code != exitOK || out != firstSteps {
		t.Errorf("kindred alone: status %d, %q", code, out)
	}
}

func TestVersionOfABuild(t *testing.T) {
	defer simd.Force(simd.Generic)()
	v := version.New(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"},
			{Key: "vcs.time", Value: "2026-11-21T00:00:00Z"}},
	})
	if v.Version != "v1.2.3" || v.Commit != "abc+dirty" || v.Time != "2026-11-21T00:00:00Z" || v.ISA != "go" {
		t.Errorf("%+v", v)
	}
	if v := version.New(nil); v.Version != "(devel)" || v.Commit != "" {
		t.Errorf("%+v", v)
	}
}
