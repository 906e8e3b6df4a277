package main

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/pages"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
)

// Keys of all documents are written alike: small letters, digits and underscores.
// Below the keys named here stand names that users and papers give, such as those of
// metrics and classes, which stay as they are. What goes to standard error beside
// them can be kept in a log: it draws nothing.
func TestKeysOfDocuments(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KINDRED_DATA", t.TempDir())
	t.Setenv("KINDRED_WEIGHTS", t.TempDir())
	writeShapes(t, "photos", 2, 2, 6)
	runProgram(t, "train --data photos --set train.epochs=1 --set eval.keep=true --out runs/tried")
	runProgram(t, "embed --run runs/tried --data photos --out E.npy --labels Y.csv")
	named := strings.Fields("metrics values splits")
	style := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	writeBytes(t, filepath.Join("field", "index.html"), []byte("mine")) // which --force replaces
	for _, line := range []string{
		"theory field --gamma 0.5 --p 0 --loss first --force --out field",
		"theory live --run runs/tried --anchors 4 --out live",
		"data list", "data info photos", "weights list", "init photos --out init.yaml",
		"train --data photos --set train.epochs=1 --out runs/again", "train --print-config",
		"embed --run runs/tried --data photos --out F.npy",
		"eval --embeddings E.npy --labels Y.csv --worst 2 --out eval",
		"diagnose runs/tried --margin 0.3", "discover runs/tried --out kinds",
		"clean runs/tried --out suspects", "loss --embeddings E.npy --labels Y.csv",
		"map --embeddings E.npy --labels Y.csv --method pca --out map",
		"neighbours --embeddings E.npy --labels Y.csv --data photos --queries 2 --out neighbours",
		"search photos --run runs/tried --in photos --neighbours 2 --out found",
		"report runs/tried runs/again --out report", "reproduce list", "bench triplet-n128-d128 --record record.json",
		"--version", "man man"} {
		code, out, errOut := runArgs(t, append(strings.Fields(line), "--json")...)
		if code != exitOK {
			t.Errorf("%s: status %d, %s", line, code, errOut)
			continue
		}
		if strings.ContainsAny(errOut, "\r\x1b") {
			t.Errorf("%s: draws on what is no terminal: %q", line, errOut)
		}
		var doc any
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v[:min(len(v), 3)] {
					walk(path, e)
				}
			case map[string]any:
				for k, e := range v {
					if !style.MatchString(k) && !slices.Contains(named, path[strings.LastIndex(path, ".")+1:]) {
						t.Errorf("%s: key %q below %q", line, k, path)
					}
					walk(path+"."+k, e)
				}
			}
		}
		walk("", doc)
	}
	if _, err := os.Stat("record.json"); err != nil {
		t.Error(err)
	}
	if page, err := os.ReadFile(filepath.Join("field", "index.html")); err != nil || len(page) < 100 {
		t.Errorf("theory field --force left %q, %v", page, err)
	}
}

// The smallest sizes of theory noise pass its checks, and numbers below them do not. What it
// computes takes seconds, whatever the sizes, and is tested in internal/app/experiments/theory/pages.
func TestTheoryNoiseSizes(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	smallest := []string{"--classes=2", "--per-class=1", "--dim=1", "--restarts=1", "--draws=2"}
	for i, below := range append([]string{""}, "--classes=1", "--per-class=0", "--dim=0", "--restarts=0", "--draws=1") {
		args := append([]string{"theory", "noise", "--out", fmt.Sprint("noise", i)}, smallest...)
		want := exitFailure
		if below != "" {
			args, want = append(args, below), exitUsage
		}
		var errOut strings.Builder
		if code := execute(ctx, args, io.Discard, &errOut); code != want ||
			strings.Contains(errOut.String(), "interrupted") != (want == exitFailure) {
			t.Errorf("%v: status %d, want %d: %s", args, code, want, &errOut)
		}
	}
}

// The same of documents that take long to make, by their types.
func TestKeysOfTypes(t *testing.T) {
	style := regexp.MustCompile(`^([a-z0-9]+(_[a-z0-9]+)*|-)$`)
	seen := map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array ||
			typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ.Implements(reflect.TypeFor[json.Marshaler]()) ||
			typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && !f.Anonymous && !style.MatchString(name) {
				t.Errorf("%s.%s: key %q", path, f.Name, name)
			}
			if name != "-" && (f.IsExported() || f.Anonymous) {
				walk(path+"."+f.Name, f.Type)
			}
		}
	}
	walk("theory noise", reflect.TypeFor[pages.NoiseResult]())
	walk("reproduce", reflect.TypeFor[paper.Outcome]())
	walk("bench", reflect.TypeFor[bench.Record]())
	walk("data get", reflect.TypeFor[datasets.Result]())
	walk("weights get", reflect.TypeFor[weights.Result]())
}
