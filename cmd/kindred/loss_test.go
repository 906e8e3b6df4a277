package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli/explain"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// TestLossGolden runs all golden losses through the command.
func TestLossGolden(t *testing.T) {
	dir := refdata.Path(t, "golden")
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Kind string
		Config     map[string]any
		Value      float64
		Extra      []string
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Kind == "eval" || c.Kind == "clustering" {
			continue
		}
		path := func(suffix string) string { return filepath.Join(dir, c.Name+suffix) }
		grad := filepath.Join(t.TempDir(), "g.npy")
		args := []string{"loss", "--embeddings", path(".x.npy"), "--labels", path(".y.npy"), "--grad", grad, "--json"}
		for k, v := range c.Config {
			switch k {
			case "loss", "positives", "negatives":
				args = append(args, "--"+k, fmt.Sprint(v))
			default:
				args = append(args, "--set", fmt.Sprintf("%s=%v", strings.TrimSuffix(k, "_"), v))
			}
		}
		for _, e := range c.Extra {
			args = append(args, "--"+e, path("."+e+".npy"))
		}
		code, out, errOut := runArgs(t, args...)
		if code != exitOK {
			t.Errorf("%s: status %d: %s", c.Name, code, errOut)
			continue
		}
		var rep explain.Report
		if err := json.Unmarshal([]byte(out), &rep); err != nil {
			t.Fatalf("%s: %v in %q", c.Name, err, out)
		}
		if math.Abs(rep.Value-c.Value) > 1e-5*math.Abs(c.Value) {
			t.Errorf("%s: value %v, want %v", c.Name, rep.Value, c.Value)
		}
		got, err := embedding.ReadNPYFile(grad)
		if err != nil {
			t.Fatal(err)
		}
		want, err := embedding.ReadNPYFile(path(".grad.npy"))
		if err != nil {
			t.Fatal(err)
		}
		for k, w := range want.Floats {
			if d := math.Abs(float64(got.Floats[k] - w)); d > 1e-6+1e-4*math.Abs(float64(w)) {
				t.Errorf("%s: gradient %d is %v, want %v", c.Name, k, got.Floats[k], w)
				break
			}
		}
	}
}

func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLossByHand(t *testing.T) {
	e := writeText(t, "e.csv", "embedding_0,embedding_1,label\n0,0,1\n1,0,1\n0,2,7\n")
	// Anchor 0: positive at 1, negative at 4, D² 1 - 4 + 5 = 2. Anchor 1: 1 - 5 + 5 = 1.
	code, out, errOut := runArgs(t, "loss", "--embeddings", e, "--loss", "triplet", "--positives", "easy",
		"--negatives", "hard",
		"--set", "margin=5", "--set", "normalize=false", "--json")
	var rep explain.Report
	if code != exitOK || json.Unmarshal([]byte(out), &rep) != nil {
		t.Fatalf("status %d, %q, %q", code, out, errOut)
	}
	if rep.Value != 1.5 || rep.Tuples != 2 || rep.Active != 2 || rep.NoPositive != 1 || rep.Anchors != 2 {
		t.Errorf("%+v", rep)
	}
}

func TestLossMistakes(t *testing.T) {
	e := writeText(t, "e.csv", "embedding_0,embedding_1,label\n0,0,1\n1,0,1\n0,2,7\n")
	nan := writeText(t, "nan.csv", "embedding_0,embedding_1,label\n0,0,1\n1,NaN,1\n")
	short := writeText(t, "y.csv", "label\n1\n2\n")
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitUsage, "--embeddings"},
		{[]string{"--embeddings", e, "--loss", "tripet"}, exitUsage, `did you mean "triplet"`},
		{[]string{"--embeddings", e, "--set", "magin=1"}, exitUsage, `did you mean "margin"`},
		{[]string{"--embeddings", e, "--set", "margin"}, exitUsage, "key=value"},
		{[]string{"--embeddings", e, "--set", "margin=wide"}, exitUsage, "not a number"},
		{[]string{"--embeddings", e, "--positives", "esay"}, exitUsage, `did you mean "easy"`},
		{[]string{"--embeddings", e, "--proxies", e}, exitUsage, "has no proxies"},
		{[]string{"--embeddings", e, "--loss", "angular", "--negatives", "all", "--positives", "easy"}, exitUsage,
			"all positives"},
		{[]string{"--embeddings", e, "--labels", short}, exitFailure, "2 labels in " + short + " for 3 embeddings in " +
			e},
		{[]string{"--embeddings", nan}, exitFailure, "embedding 1 is not finite"},
		{[]string{"--embeddings", e + "x"}, exitFailure, "e.csvx"},
	} {
		code, _, errOut := runArgs(t, append([]string{"loss"}, tc.args...)...)
		if code != tc.code || !strings.Contains(errOut, tc.says) {
			t.Errorf("%q: status %d, stderr %q; want %d and %q", tc.args, code, errOut, tc.code, tc.says)
		}
	}
}

// Rows of one sample are no pair: without --ids the copy is the easy positive.
func TestLossIDs(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := path("e.csv", "label,embedding_0,embedding_1\n0,1,0\n0,1,0\n0,0.6,0.8\n1,0.8,0.6\n1,0,1\n")
	ids := path("ids.csv", "id\n7\n7\nb\nc\nd\n")
	report := func(args ...string) (rep explain.Report) {
		code, out, errOut := runArgs(t, append([]string{"loss", "--embeddings", e, "--positives", "easy", "--negatives",
			"hard", "--json"}, args...)...)
		if code != exitOK {
			t.Fatalf("status %d: %s", code, errOut)
		}
		if err := json.Unmarshal([]byte(out), &rep); err != nil {
			t.Fatal(err)
		}
		return rep
	}
	// The copies' terms are 0 as each other's positives, 0.6 with the third.
	without, with := report(), report("--ids", ids)
	if math.Abs(without.Value-0.488) > 1e-6 || math.Abs(with.Value-0.728) > 1e-6 {
		t.Errorf("value %v without identities, %v with; want 0.488 and 0.728", without.Value, with.Value)
	}
	if r := report("--loss", "spread", "--ids", ids); r.Tuples != 2 || r.NoPositive != 3 {
		t.Errorf("spread: %+v, want one pair of views, in both directions", r)
	}
	if code, _, errOut := runArgs(t, "loss", "--embeddings", e, "--loss", "spread"); code != exitUsage ||
		!strings.Contains(errOut, "missing --ids") {
		t.Errorf("spread without identities: status %d: %s", code, errOut)
	}
	short := path("short.csv", "id\n1\n2\n")
	if code, _, errOut := runArgs(t, "loss", "--embeddings", e, "--ids", short); code == exitOK ||
		!strings.Contains(errOut, "2 labels in ") {
		t.Errorf("status %d: %s", code, errOut)
	}
}
