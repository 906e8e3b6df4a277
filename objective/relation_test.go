package objective

import (
	"strings"
	"testing"
)

func TestRelationsInText(t *testing.T) {
	for k, name := range RelationRuleNames() {
		r, back := RelationRule(k), CoarseOnly
		text, err := r.MarshalText()
		if err != nil || string(text) != name || r.String() != name || back.UnmarshalText(text) != nil || back != r {
			t.Errorf("%v is written as %s, %v and reads as %v", r, text, err, back)
		}
	}
	for k, name := range []string{"negative", "positive", "ignored"} {
		r, back := Relation(k), Ignored
		text, err := r.MarshalText()
		if err != nil || string(text) != name || r.String() != name || back.UnmarshalText(text) != nil || back != r {
			t.Errorf("%v is written as %s, %v and reads as %v", r, text, err, back)
		}
	}
	rule, relation := SharedLabel, Positive
	for text, says := range map[string]string{"share-label": `mean "shares-label"?`, "": "there are equal"} {
		if err := rule.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	if err := relation.UnmarshalText([]byte("postive")); err == nil ||
		!strings.Contains(err.Error(), `mean "positive"?`) {
		t.Errorf("postive: %v", err)
	}
	if rule != SharedLabel || relation != Positive {
		t.Errorf("what could not be read changed the values to %v and %v", rule, relation)
	}
	if _, err := RelationRule(7).MarshalText(); err == nil {
		t.Error("rule 7 is written")
	}
	if _, err := DefaultMining("triplt"); err == nil || !strings.Contains(err.Error(), `mean "triplet"?`) {
		t.Errorf("triplt: %v", err)
	}
}
