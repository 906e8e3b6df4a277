package ladder

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The name of a kernel's file that only some machines build says which ones. Generated files
// are kernels_ARCH. The choice between levels is in dispatch_ARCH, or in CONCEPT_ARCH for one
// concept. ARCH is vector for all architectures with kernels, and other for plain Go.
var kernelFile = regexp.MustCompile(`^([a-z0-9]+_)+(amd64|arm64|vector|other|linux)\.go$`)

func TestKernelFilesSayWhoBuildsThem(t *testing.T) {
	files, err := filepath.Glob("../../kernel/*/*.go")
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

// hasConstraint reports whether a file has a build constraint before its package clause.
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
