package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzJob: a job is the same job, with the same spec, after it has travelled as JSON,
// and what is wrong with it is said before.
func FuzzJob(f *testing.F) {
	f.Add("embed", `{"data":"birds","from":0,"to":9}`, "embed: birds")
	f.Add("rank", `{"queries": "<&>", "to":`+"\n"+`1e3}`, "")
	f.Add("sweep", `"\u2028 and the same itself: `+"\u2028"+`"`, "\xff\xfe")
	f.Add("rank", `{"a":1,"a":2}`, "twice")
	f.Add("a b", `{}`, "")
	f.Add("x", `[`+strings.Repeat("[", 20000), "")
	f.Fuzz(func(t *testing.T, kind, spec, title string) {
		j := Job{Kind: kind, Spec: json.RawMessage(spec), Title: title}
		if err := j.Check(); err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("%d bytes of message", len(err.Error()))
			}
			return
		}
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var there Job
		if err := json.Unmarshal(text, &there); err != nil {
			t.Fatal(err)
		}
		if err := there.Check(); err != nil {
			t.Fatalf("%s passed before it was sent: %v", spec, err)
		}
		if there.Kind != j.Kind || there.ID() != j.ID() {
			t.Fatalf("%s of kind %s has become another job, %s", spec, kind, there.Spec)
		}
		var sent, got any
		if err := errors.Join(j.Decode(&sent), there.Decode(&got)); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(sent)
		if b, _ := json.Marshal(got); !bytes.Equal(a, b) {
			t.Fatalf("%s is read as %s, sent as %s", spec, a, b)
		}
		var known struct {
			From int    `json:"from"`
			Data string `json:"data"`
		}
		if err := there.Decode(&known); err != nil && !strings.Contains(err.Error(), kind) {
			t.Fatalf("%v names no job", err)
		}
	})
}

// TestIDOfAnySpec: a spec that is not written as this program writes JSON is the same
// job before and after its way to a worker.
func TestIDOfAnySpec(t *testing.T) {
	for _, spec := range []string{`{"filter":"a < b && c > d"}`, "\"\u2028\"", `"\u003c"`} {
		j := Job{Kind: "k", Spec: []byte(spec)}
		text, err := json.Marshal(j)
		var there Job
		if err == nil {
			err = json.Unmarshal(text, &there)
		}
		if err != nil || there.ID() != j.ID() {
			t.Errorf("%s: %v, sent as %s", spec, err, there.Spec)
		}
	}
	// What counts is the length that it travels with.
	long := slices.Concat([]byte(`"`), bytes.Repeat([]byte("<"), MaxSpec/4), []byte(`"`))
	if err := (Job{Kind: "k", Spec: long}).Check(); err == nil || !strings.Contains(err.Error(), "into a file") {
		t.Errorf("%v", err)
	}
}
