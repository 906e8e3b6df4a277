package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/flags"
)

// Numbers that make no sense are refused by their flag's name before anything is
// computed, and those that would take more memory than there is with a figure.
func TestNumbersOfFlags(t *testing.T) {
	dir := makeHostileRun(t)
	e, y, out := filepath.Join(dir, "e.csv"), filepath.Join(dir, "labels.csv"), t.TempDir()
	set := writePhotos(t)
	eval := []string{"eval", "--embeddings", e, "--labels", y}
	neighbours := []string{"neighbours", "--embeddings", e, "--labels", y, "--out", out}
	diagnose := []string{"diagnose", e, "--labels", y}
	mapping := []string{"map", "--embeddings", e, "--labels", y, "--out", out}
	info := []string{"data", "info", set, "--sheet", filepath.Join(out, "sheet.png")}
	field, live := []string{"theory", "field", "--out", out},
		[]string{"theory", "live", "--embeddings", e, "--out", out}
	for _, c := range []struct {
		command []string
		flag    string
		values  []string
	}{
		{eval, "restarts", []string{"0", "-1", "x", "1e30"}},
		{eval, "iterations", []string{"0", "-1"}},
		{eval, "bootstrap", []string{"-1", "1000000000000", "9223372036854775807"}},
		{eval, "worst", []string{"-1"}},
		{eval, "batch", []string{"-1"}},
		{eval, "scratch", []string{"0", "-1", "9223372036854775807"}},
		{eval, "seed", []string{"-1", "nan"}},
		{neighbours, "queries", []string{"0", "-5"}},
		{neighbours, "neighbours", []string{"0", "-5"}},
		{neighbours, "scratch", []string{"0"}},
		{diagnose, "margin", []string{"nan", "NaN", "inf", "-inf", "0", "-0.1"}},
		{diagnose, "anchors", []string{"0", "-1"}},
		{diagnose, "classes", []string{"-1"}},
		{mapping, "perplexity", []string{"nan", "inf", "-inf", "0", "0.5", "-3"}},
		{mapping, "iterations", []string{"0", "-1"}},
		{info, "rows", []string{"0", "-1"}},
		{info, "cols", []string{"0", "-1"}},
		{[]string{"reproduce", "mnist", "--out", out}, "jobs", []string{"0", "-1"}},
		{[]string{"reproduce", "mnist", "--out", out}, "seeds", []string{"0", "-1"}},
		{[]string{"reproduce", "tune", "mnist", "--out", out}, "trials", []string{"0", "-1"}},
		{[]string{"reproduce", "tune", "mnist", "--out", out}, "jobs", []string{"0"}},
		{[]string{"reproduce", "mnist", "--out", out}, "size", []string{"-1"}},
		{field, "rate", []string{"nan", "inf", "0", "-1"}},
		{field, "gamma", []string{"nan", "2", "-1.5"}},
		{field, "p", []string{"nan", "inf", "-0.1", "1.5"}},
		{live, "p", []string{"nan", "2"}},
		{live, "anchors", []string{"0"}},
		{[]string{"theory", "noise", "--out", out}, "draws", []string{"1", "-1", "9223372036854775807"}},
		{[]string{"theory", "noise", "--out", out}, "restarts", []string{"0", "1000000000000"}},
		{[]string{"theory", "noise", "--out", out}, "dim", []string{"0", "1000000000000"}},
		{[]string{"theory", "isometry", "--out", out}, "sets", []string{"0", "1000000000000"}},
	} {
		for _, v := range c.values {
			args := append(append([]string{}, c.command...), "--"+c.flag+"="+v)
			code, _, errOut := runArgs(t, args...)
			named := strings.Contains(errOut, "--"+c.flag) || strings.Contains(errOut, `"`+c.flag+`"`)
			tooLarge := code == exitFailure && strings.Contains(errOut, "the limit is") // on memory
			if !(code == exitUsage && named) && !(tooLarge && len(v) > 9) {
				t.Errorf("%s --%s=%s: status %d, %q", c.command[0], c.flag, v, code, errOut)
			}
		}
	}
}

// As many columns as there are not: the sheet is as wide as its largest class.
func TestSheetOfMoreImagesThanThereAre(t *testing.T) {
	sheet := filepath.Join(t.TempDir(), "sheet.png")
	if code, _, errOut := runArgs(t, "data", "info", writePhotos(t), "--sheet", sheet, "--rows", "100000000", "--cols",
		"100000000"); code != exitOK {
		t.Errorf("status %d, %q", code, errOut)
	}
}

func TestBounds(t *testing.T) {
	for _, v := range []float64{0, 0.5, 1} {
		if err := flags.CheckBetween("p", v, 0, 1); err != nil {
			t.Errorf("%g: %v", v, err)
		}
	}
	for _, v := range []float64{math.Nextafter(0, -1), math.Nextafter(1, 2), math.NaN()} {
		if flags.CheckBetween("p", v, 0, 1) == nil {
			t.Errorf("%g passes", v)
		}
	}
	if flags.CheckMebibytes("x", 1) != nil || flags.CheckMebibytes("x", math.MaxInt64>>20) != nil ||
		flags.CheckMebibytes("x", math.MaxInt64>>20+1) == nil {
		t.Error("sizes in MiB")
	}
	if flags.CheckPositive("x", 5e-324) != nil || flags.CheckPositive("x", math.MaxFloat64) != nil {
		t.Error("small and large positive numbers")
	}
}

// Progress has no place in a file.
func TestProgressIsForTerminals(t *testing.T) {
	dir := makeHostileRun(t)
	e, y, out := filepath.Join(dir, "e.csv"), filepath.Join(dir, "labels.csv"), t.TempDir()
	for _, args := range [][]string{
		{"map", "--embeddings", e, "--labels", y, "--iterations", "30", "--out", out},
		{"theory", "field", "--loss", "first", "--gamma", "0.5", "--p", "0", "--out", out},
		{"data", "info", writePhotos(t)},
		{"eval", "--embeddings", e, "--labels", y, "--metrics", "recall@1,nmi"},
		{"diagnose", e, "--labels", y},
	} {
		if _, _, errOut := runArgs(t, args...); strings.ContainsAny(errOut, "\r\x1b") {
			t.Errorf("%s: progress in %q", args[0], errOut)
		}
	}
}
