package datasets

import (
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
)

// Listed is one line of 'kindred data list'.
type Listed struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Present bool   `json:"present"`
	About   string `json:"about"`
	Home    string `json:"home"`
	Place   string `json:"place"`
}

// List returns the known sets and the other sets in the data folder.
func List(home string) []Listed {
	var sets []Listed
	known := make(map[string]bool)
	for _, s := range Catalog() {
		known[s.Name] = true
		l := Listed{Name: s.Name, About: s.About, Home: s.Home, Place: s.Place}
		for _, base := range []string{home, data.DebianHome} {
			path := filepath.Join(base, s.Name)
			if _, err := os.Stat(path); err == nil && !l.Present {
				l.Present, l.Path = true, path
			}
		}
		sets = append(sets, l)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return sets // no folder yet: nothing more to list
	}
	for _, e := range entries {
		if e.IsDir() && !known[e.Name()] && e.Name()[0] != '.' {
			sets = append(sets, Listed{Name: e.Name(), Path: filepath.Join(home, e.Name()), Present: true,
				About: "a folder of your own"})
		}
	}
	return sets
}
