package qdrant

import (
	"strings"
	"testing"
)

// What an address may say of a store, from the least to the most, and what it says where it
// does not.
func TestAddress(t *testing.T) {
	for text, want := range map[string]*Store{
		"": {replication: 1, level: "quorum"}, "?replication=1&ef=1": {replication: 1, ef: 1, level: "quorum"},
		"?replication=99&ef=10000&consistency=all": {replication: 99, ef: 10_000, level: "all"},
	} {
		s, err := connect("qdrant://127.0.0.1:1"+text, "a")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.replication != want.replication || s.ef != want.ef || s.level != want.level ||
			s.collection != "kindred_a" {
			t.Errorf("%q: replication %d, ef %d, consistency %s, collection %s", text, s.replication, s.ef, s.level,
				s.collection)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for text, key := range map[string]string{"?replication=0": "replication", "?replication=100": "replication",
		"?ef=0": "ef", "?ef=10001": "ef", "?consistency=some": "consistency"} {
		if _, err := connect("qdrant://127.0.0.1:1"+text, "a"); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
