package home

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	user := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, user)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(cache, "kindred", "things")
	const env = "KINDRED_HOME_TEST"
	for _, c := range []struct{ chosen, env, value, want string }{
		{"", "", "", own},
		{"", env, "", own},
		{"", env, "set", "set"},
		{"flag", env, "set", "flag"},
		{"flag", "", "", "flag"},
		{"", "", "set", own}, // a variable that nobody asks for
	} {
		t.Setenv(env, c.value)
		if got, err := Folder("things", c.chosen, c.env); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if entries, err := os.ReadDir(user); err != nil || len(entries) != 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}

// Without a cache folder there is an error, but not for who says where.
func TestNoFolder(t *testing.T) {
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	if got, err := Folder("things", "", ""); err == nil {
		t.Errorf("%q", got)
	}
	if got, err := Folder("things", "flag", ""); err != nil || got != "flag" {
		t.Errorf("%q, %v", got, err)
	}
}
