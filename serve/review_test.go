package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve/api"
)

// reviewFolder is a folder with a page of three cards.
func reviewFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	p := review.Page{Title: "Suspects", Lead: "Three labels & more."}
	for _, name := range []string{"a", "b", "c"} {
		p.Items = append(p.Items, review.Item{Path: name, Name: name, Label: "bird"})
		p.Cards = append(p.Cards, review.Card{Items: []int{len(p.Cards)}, Title: name, Suggested: "fish"})
	}
	if err := p.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

const decidedAt = "2026-01-02T03:04:05Z"

// decisionsAfter are decisions that follow a version.
func decisionsAfter(version int64) api.Decisions {
	was := api.Decision{Action: "accept", At: decidedAt}
	return api.Decisions{Version: version, NextCard: 2, Done: map[string]api.Decision{
		"0": {Action: "relabel", Label: "fish", At: decidedAt}, "1": {Action: "drop", At: decidedAt}},
		History: []api.Step{{Card: 0, At: decidedAt}, {Card: 1, Previous: &was, At: decidedAt}}}
}

// checkReview brings about the answers of the routes of a review.
func checkReview(t *testing.T, contract *contract) {
	dir := reviewFolder(t)
	s := newServer(t, Options{Review: dir, Limits: Limits{Body: 1 << 16}})
	do := &caller{t: t, s: s, contract: contract}
	var page api.Review
	do.get("/v1/review").want(t, 200).into(t, &page)
	if page.Title != "Suspects" || page.Lead != "Three labels & more." || page.Cards != 3 ||
		!strings.Contains(string(page.Data), `"paths":["a","b","c"]`) {
		t.Errorf("%+v", page)
	}
	var info api.Info
	do.get("/v1/info").want(t, 200).into(t, &info)
	if info.Review != "Suspects" {
		t.Errorf("the server says %q of its review", info.Review)
	}
	const target = "/v1/review/decisions"
	var d api.Decisions
	do.get(target).want(t, 200).into(t, &d)
	if d.Version != 0 || d.Done == nil || d.History == nil {
		t.Errorf("nothing is decided: %+v", d)
	}
	do.json("PUT", target, decisionsAfter(0)).want(t, 200).into(t, &d)
	if d.Version != 1 || d.Done["0"].Label != "fish" || d.NextCard != 2 || len(d.History) != 2 ||
		d.History[1].Previous == nil {
		t.Errorf("%+v", d)
	}
	do.json("PUT", target, decisionsAfter(0)).want(t, 409, "conflict")
	do.do("PUT", target, "application/json", []byte(`{`)).want(t, 400, "bad_request")
	do.do("PUT", target, "text/plain", []byte(`{}`)).want(t, 415, "unsupported_media_type")
	do.do("PUT", target, "application/json", make([]byte, 1<<17)).want(t, 413, "too_large")
	as := func(action string) api.Decision { return api.Decision{Action: action, At: decidedAt} }
	for name, spoil := range map[string]func(d *api.Decisions){
		"a card that is not there": func(d *api.Decisions) { d.Done["3"] = d.Done["1"] },
		"no number":                func(d *api.Decisions) { d.Done["01"] = d.Done["1"] },
		"no action":                func(d *api.Decisions) { d.Done["2"] = as("burn") },
		"no label":                 func(d *api.Decisions) { d.Done["2"] = as("split") },
		"a long label": func(d *api.Decisions) {
			d.Done["2"] = api.Decision{Action: "split", Label: strings.Repeat("x", maxLabelBytes+1), At: decidedAt}
		},
		"no time":      func(d *api.Decisions) { d.Done["2"] = api.Decision{Action: "drop", At: "yesterday"} },
		"a past card":  func(d *api.Decisions) { d.History[0].Card = -1 },
		"a past label": func(d *api.Decisions) { d.History[1].Previous.Label = "x" },
		"beyond":       func(d *api.Decisions) { d.NextCard = 3 },
		"below":        func(d *api.Decisions) { d.Version = -1 },
	} {
		bad := decisionsAfter(1)
		spoil(&bad)
		if a := do.json("PUT", target, bad); a.StatusCode != 422 {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	for _, part := range []string{"version", "done", "past", "at"} { // nothing is undone by what is not sent
		parts := map[string]any{"version": 1, "done": map[string]any{}, "past": []any{}, "at": 0}
		delete(parts, part)
		do.json("PUT", target, parts).want(t, 422, "invalid")
		parts[part] = nil
		if a := do.json("PUT", target, parts); a.StatusCode != 400 && a.StatusCode != 422 {
			t.Errorf("%s null: %d %s", part, a.StatusCode, a.body)
		}
	}
	do.do("PUT", target, "application/json", []byte("null")).want(t, 422, "invalid")
	s.review.write = func(string, func(io.Writer) error) error {
		return &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	do.json("PUT", target, decisionsAfter(1)).want(t, 507, "disk_full")
	s.review.write = func(string, func(io.Writer) error) error { return errors.New("the disk is on fire") }
	do.json("PUT", target, decisionsAfter(1)).want(t, 500, "internal")
	do.get(target).want(t, 200).into(t, &d)
	if d.Version != 1 || d.Done["1"].Action != "drop" {
		t.Errorf("after writes that failed: %+v", d)
	}
}

// TestReviewIsKept: another server finds what was decided, and none takes decisions on
// another page for its own.
func TestReviewIsKept(t *testing.T) {
	dir := reviewFolder(t)
	first := &caller{t: t, s: newServer(t, Options{Review: dir})}
	first.json("PUT", "/v1/review/decisions", decisionsAfter(0)).want(t, 200)
	second := &caller{t: t, s: newServer(t, Options{Review: filepath.Join(dir, review.FileName)})}
	var d api.Decisions
	second.get("/v1/review/decisions").want(t, 200).into(t, &d)
	if d.Version != 1 || d.Done["0"].Label != "fish" {
		t.Errorf("%+v", d)
	}
	if a := (&caller{t: t, s: newServer(t, Options{Review: dir, ReadOnly: true})}); true {
		a.get("/v1/review/decisions").want(t, 200)
		a.json("PUT", "/v1/review/decisions", decisionsAfter(1)).want(t, 403, "forbidden")
	}
	collections := []Collection{{Name: "things", Store: newFilledStore(t, 2)}}
	fails := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, decisionsFile)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Review: dir, Collections: collections}); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fails("another page", `{"page":"kindred-review-0000000000000000","version":1,"done":{},"past":[],"at":0}`)
	fails("cut off", `{"page":"kindr`)
	fails("a card that is not there", `{"page":"`+first.s.review.page.Key+`","version":1,"done":{"9":{"action":"drop",`+
		`"at":"`+decidedAt+`"}},"past":[],"at":0}`)
	versioned := func(n string) string {
		return `{"page":"` + first.s.review.page.Key + `","version":` + n + `,"done":{},"past":[],"at":0}`
	}
	fails("a version beyond all counting", versioned("9223372036854775807"))
	fails("a version that pages do not count to", versioned("9007199254740992"))
	if _, err := New(Options{Review: t.TempDir(), Collections: collections}); err == nil {
		t.Error("a folder without a page")
	}
	// The last version stays as it is: a decision on it is refused, and the file can be read again.
	last := versioned("9007199254740991")
	if err := os.WriteFile(filepath.Join(dir, decisionsFile), []byte(last), 0o666); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, s: newServer(t, Options{Review: dir})}
	do.json("PUT", "/v1/review/decisions", decisionsAfter(1<<53-1)).want(t, 422, "invalid")
	if text, err := os.ReadFile(filepath.Join(dir, decisionsFile)); err != nil || string(text) != last {
		t.Errorf("%s, %v", text, err)
	}
}

// TestLinkedDecisions: a link in place of the decisions is neither written through nor taken
// for them, whether it is there at the start or comes later; a server that changes nothing
// shows what it leads to.
func TestLinkedDecisions(t *testing.T) {
	dir := reviewFolder(t)
	first := newServer(t, Options{Review: dir})
	do := &caller{t: t, s: first}
	do.json("PUT", "/v1/review/decisions", decisionsAfter(0)).want(t, 200)
	own, other := filepath.Join(dir, decisionsFile), filepath.Join(t.TempDir(), "precious")
	rename(t, own, other)
	before, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	link(t, other, own)
	do.json("PUT", "/v1/review/decisions", decisionsAfter(1)).want(t, 500, "internal")
	if after, err := os.ReadFile(other); err != nil || string(after) != string(before) {
		t.Errorf("written through a link: %s, %v", after, err)
	}
	if _, err := New(Options{Review: dir}); err == nil || !strings.Contains(err.Error(), own+" is a link") {
		t.Errorf("opened with a link: %v", err)
	}
	var d api.Decisions
	shown := &caller{t: t, s: newServer(t, Options{Review: dir, ReadOnly: true})}
	shown.get("/v1/review/decisions").want(t, 200).into(t, &d)
	if d.Version != 1 {
		t.Errorf("%+v", d)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	do.json("PUT", "/v1/review/decisions", decisionsAfter(1)).want(t, 200)
}

// Decisions on cards that there are, of the actions that there are, are taken; others are
// refused with what is wrong.
func TestDecisions(t *testing.T) {
	const at = "2026-01-02T03:04:05Z"
	one := func(card, action, label, time string) api.Decisions {
		return api.Decisions{Done: map[string]api.Decision{card: {Action: action, Label: label, At: time}}}
	}
	step := func(card int, was *api.Decision, time string) api.Decisions {
		return api.Decisions{History: []api.Step{{Card: card, Previous: was, At: time}}}
	}
	const label = "relabel and split need a label"
	for _, c := range []struct {
		d    api.Decisions
		want string // "" for none
	}{
		{api.Decisions{}, ""}, {one("0", "accept", "", at), ""}, {one("4", "drop", "", at), ""},
		{one("2", "relabel", "cat", at), ""}, {one("2", "split", strings.Repeat("c", 1000), at), ""},
		{one("2", "split", strings.Repeat("c", 1001), at), label}, {one("2", "split", "", at), label},
		{one("2", "relabel", "", at), label}, {one("2", "accept", "cat", at), label},
		{one("2", "relabel", "\xff", at), label},
		{one("2", "eat", "", at), `action "eat": must be accept, relabel, split or drop`},
		{one("5", "accept", "", at), "a decision has card 5, but there are 5 cards"},
		{one("-1", "accept", "", at), "card -1, but there are 5"},
		{one("01", "accept", "", at), `card "01": must be a number`}, {one("x", "accept", "", at), `card "x"`},
		{one("1", "accept", "", "yesterday"), `is "yesterday": must have the form 2006-01-02T15:04:05Z`},
		{step(4, nil, at), ""}, {step(0, &api.Decision{Action: "drop", At: at}, at), ""},
		{step(5, nil, at), "a decision has card 5, but there are 5"},
		{step(-1, nil, at), "a decision has card -1, but there are 5"},
		{step(1, nil, "now"), `time of a decision is "now"`}, {step(1, &api.Decision{Action: "eat", At: at}, at), `action "eat"`},
		{api.Decisions{NextCard: 4}, ""}, {api.Decisions{NextCard: 5}, "the next card is 5 of 5"},
		{api.Decisions{NextCard: -1}, "the next card is -1 of 5"},
		{api.Decisions{Version: -1}, "version -1: must be 0 to 9007199254740991"},
		{api.Decisions{Version: 1<<53 - 1}, ""}, {api.Decisions{Version: 1 << 53}, "version 9007199254740992"},
		{api.Decisions{Version: 1<<63 - 1}, "version 9223372036854775807"},
		{api.Decisions{History: make([]api.Step, maxSteps+1)},
			fmt.Sprintf("%d decisions to undo: must be at most 100000",
				maxSteps+1)},
	} {
		v := &reviewState{page: &review.Saved{Cards: 5}}
		err := v.checkDecisions(&c.d)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if c.d.Done == nil || c.d.History == nil {
			t.Error("nothing is no list")
		}
	}
	none := &reviewState{page: &review.Saved{}}
	if err := none.checkDecisions(&api.Decisions{}); err != nil { // at the first card of none
		t.Error(err)
	}
}
