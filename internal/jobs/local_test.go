package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// list makes jobs of a kind with the given specs.
func list(t *testing.T, kind string, specs ...any) []Job {
	t.Helper()
	var all []Job
	for _, s := range specs {
		j, err := New(kind, s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	return all
}

func TestID(t *testing.T) {
	a := Job{Kind: "k", Spec: []byte(`{"a": 1, "b": [2]}`), Title: "one"}
	b := Job{Kind: "k", Spec: []byte("{\"a\":1,\n\"b\":[2]}"), Title: "other"}
	if a.ID() != b.ID() || len(a.ID()) != 32 {
		t.Errorf("%s and %s", a.ID(), b.ID())
	}
	for _, other := range []Job{{Kind: "l", Spec: a.Spec}, {Kind: "k", Spec: []byte(`{"a":1,"b":[3]}`)}} {
		if other.ID() == a.ID() {
			t.Errorf("%s has the name of %s", other.Spec, a.Spec)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, j := range []Job{
		{Kind: "", Spec: []byte("1")}, {Kind: "a.b", Spec: []byte("1")}, {Kind: "a>", Spec: []byte("1")},
		{Kind: strings.Repeat("a", 65), Spec: []byte("1")}, {Kind: "a"}, {Kind: "a", Spec: []byte("{")},
		{Kind: "a", Spec: []byte(`"` + strings.Repeat("a", MaxSpec) + `"`)},
	} {
		if err := j.Check(); err == nil {
			t.Errorf("%s %.20s passes", j.Kind, j.Spec)
		}
		if _, err := (&Local{}).Run(t.Context(), []Job{j}); err == nil {
			t.Errorf("%s %.20s is run", j.Kind, j.Spec)
		}
	}
	if _, err := New("a", func() {}); err == nil {
		t.Error("a function is a spec")
	}
	if err := (Job{Kind: "a", Spec: []byte(`{"b":1}`)}).Decode(&struct{ A int }{}); err == nil {
		t.Error("an unknown key is not noticed")
	}
}

// TestLocal: results come in the order of the jobs, the same job is done once, and
// those that fail keep nobody from the rest.
func TestLocal(t *testing.T) {
	var done atomic.Int64
	kinds := Kinds{"n": func(_ context.Context, t Task) ([]byte, error) {
		done.Add(1)
		var n int
		if err := t.Job().Decode(&n); err != nil {
			return nil, err
		}
		switch n {
		case 3:
			return nil, errors.New("three is bad")
		case 4:
			panic("four is worse")
		case 5:
			return nil, nil
		}
		return fmt.Append(nil, n), nil
	}}
	jobs := append(list(t, "n", 0, 1, 2, 3, 4, 5, 1, 6), list(t, "m", 0)...)
	for _, n := range []int{0, 3} {
		done.Store(0)
		var told []int
		l := Local{Kinds: kinds, Parallel: n, Done: func(i int, _ Result) { told = append(told, i) }}
		results, err := l.Run(t.Context(), jobs)
		var got []string
		for _, r := range results {
			got = append(got, string(r.Output))
		}
		if want := []string{"0", "1", "2", "", "", "", "1", "6", ""}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for _, want := range []string{"three is bad", "four is worse", "must return a result", `of kind "m"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		var f *FailedError
		if !errors.As(err, &f) || f.Tries != 1 || done.Load() != 7 {
			t.Errorf("%v after %d calls", f, done.Load())
		}
		if slices.Sort(told); !slices.Equal(told, []int{0, 1, 2, 6, 7}) {
			t.Errorf("told of %v", told)
		}
	}
	if r, err := (&Local{}).Run(t.Context(), nil); len(r) != 0 || err != nil {
		t.Error(r, err)
	}
}

// TestLocalGoesOn: a second process takes what the first has done, and goes on from
// its checkpoint.
func TestLocalGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ctx, stop := context.WithCancel(t.Context())
	begun := map[string]string{}
	kinds := Kinds{"n": func(ctx context.Context, t Task) ([]byte, error) {
		from := ""
		r, err := t.Restore(ctx)
		if err != nil {
			return nil, err
		}
		if r != nil {
			b, _ := io.ReadAll(r)
			r.Close()
			from = string(b)
		}
		begun[string(t.Job().Spec)] += "<" + from + ">"
		if string(t.Job().Spec) == "1" && from == "" {
			stop()
			err := t.Save(ctx, func(w io.Writer) error { _, err := io.WriteString(w, "half"); return err })
			return nil, errors.Join(err, ctx.Err())
		}
		return t.Job().Spec, nil
	}}
	l := Local{Kinds: kinds, Dir: dir}
	jobs := list(t, "n", 0, 1, 2)
	if _, err := l.Run(ctx, jobs); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	results, err := l.Run(t.Context(), jobs)
	if err != nil || string(results[1].Output) != "1" || !results[0].Cached || results[1].Cached {
		t.Fatal(results, err)
	}
	if begun["0"] != "<>" || begun["1"] != "<><half>" || begun["2"] != "<>" {
		t.Error(begun)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.checkpoint")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLocalFiles(t *testing.T) {
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	if _, err := (&Local{}).Store(t.Context(), hello); err == nil {
		t.Error("kept nowhere")
	}
	l := &Local{Dir: t.TempDir()}
	name, err := l.Store(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(r); string(b) != "hello" {
		t.Errorf("%q", b)
	}
	for _, bad := range []string{"", "../x", strings.ToUpper(name), strings.Repeat("0", 64)} {
		if _, err := l.Open(t.Context(), bad); err == nil {
			t.Errorf("%q opens", bad)
		}
	}
	if err := os.WriteFile(filepath.Join(l.Dir, name), []byte("hallo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}
