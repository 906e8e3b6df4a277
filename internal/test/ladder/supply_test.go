package ladder

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSupply checks that actions of continuous integration are named by commits, because
// tags can be moved, that the image names a release of its base, and that its user is not
// root.
func TestSupply(t *testing.T) {
	flows, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(flows) == 0 {
		t.Fatal(flows, err)
	}
	pinned := regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, path := range flows {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, action, ok := strings.Cut(line, "uses: "); ok && !pinned.MatchString(strings.TrimSpace(action)) {
				t.Errorf("%s: %s is not a commit with its release behind it", path, strings.TrimSpace(action))
			}
		}
	}
	text, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ARG GO_IMAGE=golang:\d+\.\d+\.\d+$`).Match(text) {
		t.Error("Dockerfile: the base is not a release")
	}
	_, last, _ := strings.Cut(string(text), "\nFROM scratch\n")
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(last)
	if user == nil || user[1] == "0" || user[2] == "0" {
		t.Errorf("Dockerfile: the user of the image is %q", user)
	}
}
