package ladder

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// flagPattern is a flag of a command, in a message or in a comment.
var flagPattern = regexp.MustCompile(`(^|[^-\w])--[a-z][a-z-]+`)

// TestLibraryNamesNoFlags checks that the library's messages and comments use the library's
// names of options. A flag may appear only after the name of its command. Errors name options
// through package internal/base/option.
func TestLibraryNamesNoFlags(t *testing.T) {
	seen := 0
	for _, p := range Packages() {
		if !isPublic(p.Path) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(p.Path), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			seen++
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for k, line := range strings.Split(string(text), "\n") {
				if strayFlag(line) {
					t.Errorf("%s:%d: %s: call the option by its field, as option.Option does", path, k+1,
						strings.TrimSpace(line))
				}
			}
		}
	}
	if seen < 200 {
		t.Fatalf("only %d files seen", seen)
	}
}

// strayFlag reports a line with a flag but without the flag's command.
func strayFlag(line string) bool {
	return flagPattern.MatchString(line) && !strings.Contains(line, "kindred ") && !strings.Contains(line, "#SBATCH")
}

func TestStrayFlag(t *testing.T) {
	for line, want := range map[string]bool{
		`"choose another folder with --out"`:   true,
		`// --resume goes on`:                  true,
		`return "--set " + s`:                  true,
		`// kindred train --resume goes on`:    false,
		`b.WriteString("#SBATCH --requeue\n")`: false,
		`i--`:                                  false,
		`// a -- b, --, ---ruler, --Upper`:     false,
	} {
		if strayFlag(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}
