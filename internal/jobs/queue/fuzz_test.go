package queue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// FuzzGiven: what a queue holds as a job is either refused, with a message of a line or
// two, or the very job that was signed.
func FuzzGiven(f *testing.F) {
	q := &Queue{o: Options{Secret: secret(1)}, lane: "0123456789ab"}
	put := func(kind, spec, title string) (key string, text []byte) {
		j := jobs.Job{Kind: kind, Spec: json.RawMessage(spec), Title: title}
		if err := j.Check(); err != nil {
			return "", nil
		}
		key = q.key(j)
		text, err := json.Marshal(jobValue{j, q.lane, q.signJob(key, j)})
		if err != nil {
			f.Fatal(err)
		}
		return key, text
	}
	const kind, spec, title = "embed", `{"data":"a<b","to":9}`, "embed: birds"
	key, text := put(kind, spec, title)
	f.Add(kind, spec, title, text)
	f.Add("rank", "[1, 2]", "a file of \xff\xfe bytes", []byte(strings.Replace(string(text), "9", "8", 1)))
	f.Add("rank", `"`+"\u2029"+`"`, "", []byte(strings.Replace(string(text), "birds", "bird", 1)))
	f.Add("", "{", "", []byte(`{"job":{"kind":"embed","spec":null},"signature":""}`))
	want := jobs.Job{Kind: kind, Spec: json.RawMessage(spec), Title: title}
	f.Fuzz(func(t *testing.T, kind, spec, title string, foreign []byte) {
		if key, text := put(kind, spec, title); text != nil {
			g, err := parseJobValue(text)
			if err != nil {
				if !strings.Contains(err.Error(), "within one another") {
					t.Fatal(err)
				}
				return
			}
			if err := q.verify(key, g); err != nil {
				t.Fatalf("%s %s, %q: %v", kind, spec, title, err)
			}
		}
		g, err := parseJobValue(foreign)
		if err != nil {
			return
		}
		err = q.verify(key, g)
		switch {
		case err != nil && len(err.Error()) > 1000:
			t.Fatalf("%d bytes of message", len(err.Error()))
		case err == nil && (g.Job.ID() != want.ID() || g.Job.Title != want.Title):
			t.Fatalf("%s is believed", foreign)
		}
	})
}

// FuzzRecord: the state of a job is read as it was written, or called damaged.
func FuzzRecord(f *testing.F) {
	whole, err := json.Marshal(&record{State: Done, Kind: "embed", Title: "t", Lane: "l", Tries: 2, Worker: "w",
		Token: "x", Inline: []byte("result"), OutputSignature: "s"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"state":"lost"}`))
	f.Add([]byte(`{"tries":-1e9}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text)
		if err != nil {
			if !strings.Contains(err.Error(), "damaged") || len(err.Error()) > 1000+len(text) {
				t.Fatal(err)
			}
			return
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRecord(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(written) {
			t.Fatalf("%s, then %s: %v", written, second, err)
		}
	})
}

// TestTitleOfAnyBytes: a job whose title is no UTF-8 passes for what it is.
func TestTitleOfAnyBytes(t *testing.T) {
	q := &Queue{o: Options{Secret: secret(1)}, lane: "0123456789ab"}
	j := jobs.Job{Kind: "embed", Spec: []byte(`{"filter":"a < b"}`), Title: "embed: \xff\xfebirds"}
	key := q.key(j)
	text, err := json.Marshal(jobValue{j, q.lane, q.signJob(key, j)})
	if err != nil {
		t.Fatal(err)
	}
	var g jobValue
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if err := q.verify(key, &g); err != nil {
		t.Error(err)
	}
	g.Job.Title += "."
	if err := q.verify(key, &g); err == nil {
		t.Error("another title passes")
	}
}
