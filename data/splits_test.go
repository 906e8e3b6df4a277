package data

import (
	"strings"
	"testing"
)

// A manifest's column split follows the same rules.
func TestSplitColumn(t *testing.T) {
	for _, c := range []struct{ rows, want, note string }{
		{"a,x,train b,x,val", "a x train|b x test", noteValidation},
		{"a,x,train b,x,Validation c,x,test", "a x train|b x none|c x test", ""},
		{"a,x,train b,y,train", "a x|b y", ""},
		{"a,x,query b,x,gallery", "a x query|b x gallery", ""},
	} {
		text := "path,label,split\n" + strings.ReplaceAll(c.rows, " ", "\n")
		d := open(t, layoutFiles{"manifest.csv": []byte(text)}.folder(t))
		if got := strings.ReplaceAll(summary(t, d), "\n", "|"); got != c.want || strings.Join(d.Notes, "") != c.note {
			t.Errorf("%s: %s %q", c.rows, got, d.Notes)
		}
	}
}

// The names of shards follow the same rules.
func TestShardRoles(t *testing.T) {
	for _, c := range []struct{ shards, want, note string }{
		{"data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet data/validation-00000-of-00001.parquet",
			"train train test", noteValidation},
		{"val/0.tar train/0.tar test/0.tar", "none train test", ""},
		{"set-train-0.tar set-train-1.tar", "", ""},
		{"query.tar gallery.tar", "query gallery", ""},
		{"train-0.tar other-0.tar", "", ""},
	} {
		roles, note := shardRoles(strings.Fields(c.shards))
		var got []string
		for _, r := range roles {
			got = append(got, r.String())
		}
		if strings.Join(got, " ") != c.want || note != c.note {
			t.Errorf("%s: %q %q", c.shards, got, note)
		}
	}
}
