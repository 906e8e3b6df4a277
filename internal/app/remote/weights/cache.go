package weights

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// EnvHome is the environment variable that names the cache folder.
const EnvHome = "KINDRED_WEIGHTS"

// Home returns the cache folder: dir if not empty, else $KINDRED_WEIGHTS, else
// kindred/weights in the user's cache folder.
func Home(dir string) (string, error) {
	dir, err := home.Folder("weights", dir, EnvHome)
	if err != nil {
		return "", option.Errorf("no folder for weights: %w; set %s or "+
			"$%s", err, option.Option("weights.Home"), EnvHome)
	}
	return dir, nil
}

// Find returns the entry called name. The error names the nearest, and all.
func Find(name string) (Entry, error) { return findEntry(Catalog(), name) }

func findEntry(all []Entry, name string) (Entry, error) {
	const most = 64 // bytes of a name that are looked at
	if len(name) > most {
		name = name[:most] + "..."
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	k, err := enum.Index("weights", name, names)
	if err != nil {
		return Entry{}, err
	}
	return all[k], nil
}

// Path is where the file lies in the cache folder home, once it is there.
func (e *Entry) Path(home string) string { return filepath.Join(home, e.File) }

// Cached reports whether a file of the entry's size is in the cache folder home.
// It gets its name there only after its digest was compared, so that this is not
// done again for every run; 'kindred weights get' does.
func (e *Entry) Cached(home string) bool {
	st, err := os.Stat(e.Path(home))
	return err == nil && st.Mode().IsRegular() && e.matchesSize(st.Size())
}

// matchesSize tells whether a file of n bytes can be the entry's.
func (e *Entry) matchesSize(n int64) bool {
	if e.Exact {
		return n == e.Bytes
	}
	return n > e.Bytes-e.Bytes/50 && n <= e.maxBytes()
}

// maxBytes is the size of the largest file that can be the entry's.
func (e *Entry) maxBytes() int64 {
	if e.Exact {
		return e.Bytes
	}
	return e.Bytes + e.Bytes/50
}

// Cached lists the entries whose files are in the cache folder home, the smallest
// file first.
func Cached(home string) []Entry {
	list := slices.DeleteFunc(Catalog(), func(e Entry) bool { return !e.Cached(home) })
	slices.SortStableFunc(list, func(a, b Entry) int { return int(a.Bytes - b.Bytes) })
	return list
}

// startName is the network that training on photographs begins with: small enough to be
// fetched and fine-tuned on two cores without asking (14 MB; a training image of 128
// pixels takes 16 ms of one core). mobilenet_v3_small is 4 MB less and a fifth of
// the arithmetic (0.057 against 0.3 billion multiply-adds at 224 pixels), but 4.2
// points behind on ImageNet, with 576 features instead of 1280.
const startName = "mobilenet_v2"

// DefaultStart chooses the pretrained network with which training on photographs begins
// when nobody names one: the usual one, or, if that is not in the cache folder
// home and others are, the smallest of those. cached tells whether its file is
// there or has to be fetched.
func DefaultStart(home string) (e Entry, cached bool) {
	e, err := Find(startName)
	if err != nil {
		panic("weights: " + err.Error()) // a test looks it up
	}
	if e.Cached(home) {
		return e, true
	}
	if list := Cached(home); len(list) > 0 {
		return list[0], true
	}
	return e, false
}
