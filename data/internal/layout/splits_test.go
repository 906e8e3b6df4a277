package layout

import (
	"strings"
	"testing"
)

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
		var s Set
		roles := s.shardRoles(strings.Fields(c.shards))
		note := strings.Join(s.Notes, "")
		var got []string
		for _, r := range roles {
			got = append(got, map[Role]string{0: "none", Train: "train", Test: "test", Query: "query",
				Gallery: "gallery"}[r])
		}
		if strings.Join(got, " ") != c.want || note != c.note {
			t.Errorf("%s: %q %q", c.shards, got, note)
		}
	}
}
