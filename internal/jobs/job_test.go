package jobs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The longest kind and the largest spec are jobs; a letter, or a byte, more is refused with
// what is allowed.
func TestLargestJob(t *testing.T) {
	kind := strings.Repeat("az09-", 13)
	spec := []byte(`"` + strings.Repeat("a", MaxSpec-2) + `"`)
	if err := (Job{Kind: kind[:64], Spec: spec}).Check(); err != nil {
		t.Errorf("%.80v", err)
	}
	for want, j := range map[string]Job{
		"want at most 64 small letters, digits and dashes": {Kind: kind, Spec: []byte("1")},
		`"a/b": want at most 64`:                           {Kind: "a/b", Spec: []byte("1")},
		"`":                                                {Kind: "a`b", Spec: []byte("1")},
		`"{a"`:                                             {Kind: "{a", Spec: []byte("1")},
		`"a:"`:                                             {Kind: "a:", Spec: []byte("1")},
		"the spec of a job a has 262145 bytes: want at most 262144": {Kind: "a", Spec: append(spec, ' ')},
		"the spec of a job a is not JSON":                           {Kind: "a", Spec: []byte("{")},
	} {
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80v, want %s", err, want)
		}
	}
}

// A job's name stays what it was, or what is done would be done again: half of the SHA-256
// of the kind and the spec without blanks.
func TestNameOfAJob(t *testing.T) {
	if id := (Job{Kind: "k", Spec: []byte(`{"a": 1}`)}).ID(); id != "a386acdffed7d32bacf3e3b51a4365c6" {
		t.Error(id)
	}
	if id := (Job{Kind: "k", Spec: []byte("{")}).ID(); len(id) != 32 || id == (Job{Kind: "k"}).ID() {
		t.Errorf("of no JSON: %s", id)
	}
}

// A spec that is none of its kind is told by the names of its fields, with no type of Go.
func TestDecode(t *testing.T) {
	var v struct {
		Shard struct {
			From int `json:"from"`
		} `json:"shard"`
	}
	for spec, want := range map[string]string{
		`{"shard":{"from":"x"}}`: "byte 20 of the JSON: shard.from is a string, which it cannot be",
		`{"shard":{"to":1}}`:     `unknown field "to"`,
		`[]`:                     "a value is an array",
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "more than 200 values within one another",
	} {
		err := (Job{Kind: "k", Spec: []byte(spec)}).Decode(&v)
		if err == nil || !strings.HasPrefix(err.Error(), "the spec of a job k: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", spec, err)
		}
	}
	if err := (Job{Kind: "k", Spec: []byte(`{"shard":{"from":3}}`)}).Decode(&v); err != nil || v.Shard.From != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A failure says which job it was, how often it was tried, and why.
func TestFailed(t *testing.T) {
	why := errors.New("the disk is full")
	j := Job{Kind: "k", Spec: []byte("1"), Title: "run 7"}
	for want, f := range map[string]*FailedError{
		"run 7 failed: the disk is full":            {j, 1, why},
		"run 7 failed 2 times: the disk is full":    {j, 2, why},
		"k " + j.ID() + " failed: the disk is full": {Job{Kind: "k", Spec: j.Spec}, 0, why},
		"k " + j.ID() + " failed 10 times: disk or other": {Job{Kind: "k", Spec: j.Spec}, 10,
			errors.New("disk or other")},
	} {
		if f.Error() != want || want[:3] == "run" && !errors.Is(f, why) {
			t.Errorf("%v, want %s", f, want)
		}
	}
}

// Who asks for a kind that nobody does is told of all that are done, in order.
func TestUnknownKind(t *testing.T) {
	none := func(context.Context, Task) ([]byte, error) { return []byte{}, nil }
	_, err := Kinds{"b": none, "c": none, "a": none}.Do(t.Context(), &localTask{job: Job{Kind: "d"}})
	if err == nil || err.Error() != `jobs of kind "d" cannot be done here: want one of a, b, c` {
		t.Error(err)
	}
	out, err := Kinds{"b": none}.Do(t.Context(), &localTask{job: Job{Kind: "b"}})
	if err != nil || out == nil || len(out) != 0 { // empty, and a result
		t.Errorf("%v, %v", out, err)
	}
}

// A result that may not be read is no reason to do the job again, nor is one that may not be
// written passed over; what a process that was killed has left half written goes.
func TestLocalFolder(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".kindred-0123456789abcdef.tmp")
	if err := os.WriteFile(left, []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	told := map[int]string{}
	l := Local{Dir: dir, Kinds: Kinds{"k": func(ctx context.Context, t Task) ([]byte, error) {
		r, err := t.Restore(ctx)
		if r != nil || err != nil { // nothing was saved
			return nil, errors.Join(err, errors.New("a checkpoint of nobody"))
		}
		t.Report("half way")
		err = t.Save(ctx, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err })
		return slices.Concat(t.Job().Spec, []byte("!")), err
	}}, Done: func(i int, r Result) {
		told[i] += string(r.Output) + r.Worker
		if r.Cached {
			told[i] += " kept"
		}
	}, Report: func(j Job, text string) {
		if text != "half way" || j.Kind != "k" {
			t.Errorf("%s of %s", text, j.Kind)
		}
	}}
	jobs := list(t, "k", 1, 2, 1)
	for range 2 {
		if _, err := l.Run(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is half written stays: %v", err)
	}
	if told[0] != "1!local1!local kept" || told[1] != "2!local2!local kept" || told[2] != told[0] {
		t.Errorf("%v", told)
	}
	third := list(t, "k", 3)
	if err := os.Mkdir(filepath.Join(dir, third[0].ID()+".result"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(t.Context(), third); err == nil {
		t.Error("a folder in place of a result passes")
	}
	if _, err := (&Local{Dir: left + "\x00"}).Run(t.Context(), nil); err == nil {
		t.Error("a folder that cannot be made passes")
	}
}
