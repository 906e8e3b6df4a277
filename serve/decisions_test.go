package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve/api"
)

// Decisions on cards that there are, of the actions that there are, are taken; others are
// refused with what is wrong.
func TestDecisions(t *testing.T) {
	const at = "2026-01-02T03:04:05Z"
	one := func(card, action, label, time string) api.Decisions {
		return api.Decisions{Done: map[string]api.Decision{card: {Action: action, Label: label, At: time}}}
	}
	step := func(card int, was *api.Decision, time string) api.Decisions {
		return api.Decisions{Past: []api.Step{{Card: card, Was: was, At: time}}}
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
		{one("2", "relabel", "\xff", at), label}, {one("2", "eat", "", at), `action "eat": want accept, relabel, split or drop`},
		{one("5", "accept", "", at), "a decision on card 5 of 5"}, {one("-1", "accept", "", at), "card -1 of 5"},
		{one("01", "accept", "", at), `card "01", which is no number`}, {one("x", "accept", "", at), `card "x"`},
		{one("1", "accept", "", "yesterday"), `time is "yesterday": want it as 2006-01-02T15:04:05Z`},
		{step(4, nil, at), ""}, {step(0, &api.Decision{Action: "drop", At: at}, at), ""},
		{step(5, nil, at), "a decision on card 5 of 5"}, {step(-1, nil, at), "a decision on card -1 of 5"},
		{step(1, nil, "now"), `time is "now"`}, {step(1, &api.Decision{Action: "eat", At: at}, at), `action "eat"`},
		{api.Decisions{At: 4}, ""}, {api.Decisions{At: 5}, "at card 5 of 5"},
		{api.Decisions{At: -1}, "at card -1 of 5"},
		{api.Decisions{Version: -1}, "version -1: want 0 to 9007199254740991"},
		{api.Decisions{Version: 1<<53 - 1}, ""}, {api.Decisions{Version: 1 << 53}, "version 9007199254740992"},
		{api.Decisions{Version: 1<<63 - 1}, "version 9223372036854775807"},
		{api.Decisions{Past: make([]api.Step, mostSteps+1)}, fmt.Sprintf("%d decisions to undo, of at most 100000",
			mostSteps+1)},
	} {
		v := &reviewed{page: &review.Saved{Cards: 5}}
		err := v.check(&c.d)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if c.d.Done == nil || c.d.Past == nil {
			t.Error("nothing is no list")
		}
	}
	none := &reviewed{page: &review.Saved{}}
	if err := none.check(&api.Decisions{}); err != nil { // at the first card of none
		t.Error(err)
	}
}
