package ladder

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A file of a kernel that not every machine builds says in its name which does: what is
// generated is kernels_ARCH; the choice between levels is dispatch_ARCH, or CONCEPT_ARCH
// if it is one concept's; vector is all that have kernels, other is plain Go.
var kernelFile = regexp.MustCompile(`^([a-z0-9]+_)+(amd64|arm64|vector|other|linux)\.go$`)

func TestKernelFilesSayWhoBuildsThem(t *testing.T) {
	files, err := filepath.Glob("../../internal/kernel/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constrained := 0
	for _, path := range files {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || !hasConstraint(t, path) {
			continue
		}
		constrained++
		generic := strings.HasPrefix(name, "kernels_") && !strings.HasSuffix(name, "64.go")
		if !kernelFile.MatchString(name) || generic {
			t.Errorf("%s: name it dispatch_ or after its concept, then _amd64, _arm64, _vector or _other", path)
		}
	}
	if constrained < 20 {
		t.Fatalf("only %d files with constraints seen", constrained)
	}
}

// hasConstraint tells whether a file says before its package clause who builds it.
func hasConstraint(t *testing.T, path string) bool {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "//go:build "):
			return true
		case strings.HasPrefix(line, "package "):
			return false
		}
	}
	return false
}
