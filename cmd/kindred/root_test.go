package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/version"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/matrix"
)

// runArgs runs one command line as main would.
func runArgs(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(context.Background(), args, &o, &e)
	return code, o.String(), e.String()
}

// panicHostile panics with text that would clear a terminal.
func panicHostile() { panic("boom \x1b[2J") }

func TestExitStatus(t *testing.T) {
	saved := commandGroups
	defer func() { commandGroups = saved }()
	result := errors.New("nothing")
	commandGroups = []commandGroup{{"Tests",
		[]func(*console.Console) *cobra.Command{func(*console.Console) *cobra.Command {
			return &cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error {
				if result == nil {
					panicHostile()
				}
				return result
			}}
		}}}}
	for _, tc := range []struct {
		name string
		args []string
		err  error
		code int
		says string
	}{
		{"help", []string{"--help"}, nil, exitOK, ""},
		{"unknown command", []string{"tyr"}, nil, exitUsage, "tyr"},
		{"unknown flag", []string{"try", "--nope"}, nil, exitUsage, "kindred try --help"},
		{"bad flag value", []string{"try", "--seed", "x"}, nil, exitUsage, "seed"},
		{"failure", []string{"try"}, errors.New("disk on fire"), exitFailure, "disk on fire"},
		{"usage", []string{"try"}, cli.Usagef("k must be positive, got %d", -1), exitUsage,
			"k must be positive, got -1"},
		{"interrupt", []string{"try"}, context.Canceled, exitFailure, "interrupted"},
		{"panic", []string{"try"}, nil, exitFailure, `internal error: boom \x1b[2J` + "\n"},
		{"stack of a panic", []string{"try"}, nil, exitFailure, "kindred.panicHostile("},
		{"version of a panic", []string{"try"}, nil, exitFailure, version.Current().String() + "command kindred try\n"},
		{"command of a panic", []string{"try", "--memory", "9GiB"}, nil, exitFailure, "kindred try --memory 9GiB\n"},
	} {
		result = tc.err
		code, out, errOut := runArgs(t, tc.args...)
		if code != tc.code || !strings.Contains(errOut, tc.says) {
			t.Errorf("%s: status %d, stderr %q; want %d and %q", tc.name, code, errOut, tc.code, tc.says)
		}
		if tc.code != exitOK && out != "" {
			t.Errorf("%s: an error printed %q on standard output", tc.name, out)
		}
	}
}

func TestUnknownWordAfterAGroupIsAUsageError(t *testing.T) {
	code, out, errOut := runArgs(t, "data", "gte")
	if code != exitUsage || out != "" || !strings.Contains(errOut, `"gte"`) ||
		!strings.Contains(errOut, "get, info, list") {
		t.Errorf("status %d, stdout %q, stderr %q", code, out, errOut)
	}
	if code, out, _ := runArgs(t, "data"); code != exitOK || !strings.Contains(out, "list") {
		t.Errorf("the group alone: status %d, stdout %q", code, out)
	}
}

func TestMemoryFlagIsTheLimitOfOneCommandLine(t *testing.T) {
	saved, before := commandGroups, budget.Limit()
	defer func() { commandGroups = saved }()
	var seen int64
	commandGroups = []commandGroup{{"Tests",
		[]func(*console.Console) *cobra.Command{func(*console.Console) *cobra.Command {
			return &cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error {
				seen = budget.Limit()
				return nil
			}}
		}}}}
	if code, _, errOut := runArgs(t, "try", "--memory", "96MiB"); code != exitOK || seen != 96<<20 {
		t.Errorf("status %d, limit %d, stderr %q", code, seen, errOut)
	}
	if now := budget.Limit(); now != before {
		t.Errorf("the limit stayed at %d, was %d", now, before)
	}
	if code, _, errOut := runArgs(t, "try", "--memory", "lots"); code != exitUsage ||
		!strings.Contains(errOut, `"lots" is not a size`) {
		t.Errorf("status %d, stderr %q", code, errOut)
	}
	if code, _, errOut := runArgs(t, "try", "--memory", "256"); code != exitUsage ||
		!strings.Contains(errOut, "256 B is less than kindred itself needs") {
		t.Errorf("status %d, stderr %q", code, errOut)
	}
	if code, _, errOut := runArgs(t, "try", "--memory", "16MiB"); code != exitOK || seen != 16<<20 {
		t.Errorf("status %d, limit %d, stderr %q", code, seen, errOut)
	}
}

// runProgram runs one command line that must succeed.
func runProgram(t *testing.T, line string) (out, errOut string) {
	t.Helper()
	code, out, errOut := runArgs(t, strings.Fields(line)...)
	if code != exitOK {
		t.Fatalf("kindred %s: status %d\n%s", line, code, errOut)
	}
	return out, errOut
}

// makeFeatureSet goes to an empty folder and writes features.npy, of four classes of
// ten samples, with labels.csv.
func makeFeatureSet(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 1))
	x := matrix.New(40, 6)
	labels := "label,split\n"
	for i := range x.Rows {
		for j := range x.Cols {
			x.Row(i)[j] = float32(i%4*j) + rng.Float32()
		}
		labels += fmt.Sprintf("%c,%s\n", 'a'+i%4, []string{"train", "test"}[i/20])
	}
	f, err := os.Create("features.npy")
	if err != nil {
		t.Fatal(err)
	}
	if err := embedding.WriteNPY(f, x); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("labels.csv", []byte(labels), 0o666); err != nil {
		t.Fatal(err)
	}
}
