package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// flawedModule has a test that fails at every second run, a test that ends the process if GOMAXPROCS is
// 1, and a test that needs the folder of settings.
const flawedModule = `package flawed

import (
	"os"
	"runtime"
	"testing"
)

func TestSound(t *testing.T) {}

func TestParts(t *testing.T) {
	t.Run("sound", func(t *testing.T) {})
	t.Run("flawed", func(t *testing.T) {
		if os.Remove("mark") != nil {
			os.WriteFile("mark", nil, 0o666)
			t.Error("every second run")
		}
	})
}

func TestHome(t *testing.T) {
	if os.Getenv("XDG_CONFIG_HOME") == "" {
		t.Error("no folder")
	}
}

func TestOne(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 && os.Getenv("GOMAXPROCS") == "1" {
		os.Exit(3)
	}
}
`

// writeModule makes a folder with two packages, one of them with tests, and makes it the working folder.
func writeModule(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":                "module example.org/m\n\ngo 1.26\n",
		"m.go":                  "package m\n",
		"flawed/flawed.go":      "package flawed\n",
		"flawed/flawed_test.go": flawedModule,
		"broken/broken_test.go": "package broken\n\nvar x int = \"\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStress(t *testing.T) {
	writeModule(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var said bytes.Buffer
	o := options{said: &said, runs: 8, pattern: ".", out: "out", limit: time.Minute}
	failed, err := stress(t.Context(), o, "one,gc,home,four", []string{".", "./flawed"})
	if err != nil || !failed {
		t.Fatalf("%v, %v\n%s", failed, err, &said)
	}
	for _, want := range []string{
		"flawed TestHome failed in 2 of 8 runs: home 2 of 2\n",
		"flawed TestOne failed in 2 of 8 runs: one 2 of 2\n",
		"flawed TestParts/flawed failed in 4 of 8 runs: ",
		"8 failures in 8 runs of 1 packages\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &said)
		}
	}
	if strings.Contains(said.String(), "TestSound") {
		t.Errorf("a sound test is named:\n%s", &said)
	}
	kept, err := filepath.Glob("out/flawed-home-*.txt")
	if err != nil || len(kept) != 2 {
		t.Fatal(kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !bytes.Contains(text, []byte("no folder")) {
		t.Errorf("%v: %s", err, text)
	}
	said.Reset()
	o.pattern = "Sound"
	if failed, err := stress(t.Context(), o, "one,home", []string{"./flawed"}); err != nil || failed {
		t.Errorf("%v, %v\n%s", failed, err, &said)
	}
}

// frozenModule has a test that passes once it notices that it was stopped.
const frozenModule = `package flawed

import (
	"testing"
	"time"
)

func TestFrozen(t *testing.T) {
	for last, end := time.Now(), time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now := time.Now()
		if now.Sub(last) > 300*time.Millisecond {
			return
		}
		if last = now; now.After(end) {
			t.Fatal("never stood still")
		}
	}
}
`

func TestFreeze(t *testing.T) {
	if !canFreeze {
		t.Skip("no signals to stop a process")
	}
	writeModule(t)
	if err := os.WriteFile("flawed/flawed_test.go", []byte(frozenModule), 0o666); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o := options{said: &said, runs: 1, pattern: ".", out: "out", limit: 2 * time.Minute}
	if failed, err := stress(t.Context(), o, "freeze", []string{"./flawed"}); err != nil || failed {
		t.Fatalf("%v, %v\n%s", failed, err, &said)
	}
	if !regexp.MustCompile(`flawed 1 of 1, freeze, [\d.]+ s: ok`).Match(said.Bytes()) {
		t.Errorf("said %s", &said)
	}
}

func TestStressRefuses(t *testing.T) {
	writeModule(t)
	for _, tc := range []struct {
		names    string
		packages []string
		runs     int
		want     string
	}{
		{"", nil, 1, "want packages"},
		{"", []string{"."}, 0, "at least one run"},
		{"one,earthquake", []string{"."}, 1, `"earthquake" is not a condition`},
		{"one", []string{"./broken"}, 1, "broken does not compile"},
		{"one", []string{"./nothing"}, 1, "go list"},
	} {
		var said bytes.Buffer
		o := options{said: &said, runs: tc.runs, pattern: ".", out: "out", limit: time.Minute}
		_, err := stress(t.Context(), o, tc.names, tc.packages)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %s", tc.packages, err, tc.want)
		}
	}
}

// A test that has begun and not ended when the process ends has failed.
func TestFailures(t *testing.T) {
	for _, tc := range []struct{ output, want string }{
		{"\x16=== RUN   TestA\n\x16--- PASS: TestA (0.0s)\n\x16=== RUN   TestB\npanic: x\n", "TestB"},
		{"\x16=== RUN   TestA\n\x16=== RUN   TestA/b\nhalf a line\x16--- FAIL: TestA/b (0.0s)\n" +
			"\x16--- FAIL: TestA (0.0s)\n", "TestA/b"},
		{"\x16=== RUN   TestA\n    \x16--- SKIP: TestA (0.0s)\nexit status 2\n", processFailed},
		{"", processFailed},
	} {
		if got := strings.Join(failures([]byte(tc.output)), " "); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.output, got, tc.want)
		}
	}
}
