package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

// maxComparedText is the longest text, in bytes, whose spelling is compared with that of ids.
const maxComparedText = 64

// SimilarIDs returns up to limit ids that are similar to a text, as suggestions for an id that does not
// exist. It ignores case. First come ids that contain the text, then ids that contain the
// name of its file (the part after the last slash), ids that differ from it in at most a
// third of its letters, and ids in its folder. Among equals, shorter ids come first.
func (x *Index) SimilarIDs(text string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, inputf("a list of %d ids: must be at least 1", limit)
	}
	v, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	sets, err := v.matchingRows(nil)
	if err != nil {
		return nil, err
	}
	l := newSimilarIDs(text, limit)
	err = mappedfile.Access(func() {
		for at, set := range sets {
			set.visitRows(func(row int) bool {
				l.add(v.id(at, row))
				return true
			})
		}
	})
	return l.ids(), err
}

// similarIDs keeps the ids that are most similar to a text.
type similarIDs struct {
	text, name, folder string // in small letters
	maxDistance        int    // most letters that may differ
	limit              int
	found              []similarID
}

// similarID is an id with its distance from the text.
type similarID struct {
	distance int
	id       string
}

// folderDistance is the distance of an id that shares only its folder with the text.
const folderDistance = maxComparedText

func newSimilarIDs(text string, limit int) *similarIDs {
	l := &similarIDs{text: strings.ToLower(strings.TrimSpace(text)), limit: limit}
	cut := strings.LastIndexByte(l.text, '/') + 1
	l.folder, l.name = l.text[:cut], l.text[cut:]
	if len(l.text) <= maxComparedText {
		l.maxDistance = 1 + len(l.text)/3
	}
	return l
}

// add compares an id. It does not keep the id's memory.
func (l *similarIDs) add(id string) {
	if far, ok := l.distance(strings.ToLower(id)); ok {
		if l.found = append(l.found, similarID{far, strings.Clone(id)}); len(l.found) >= 2*l.limit+100 {
			l.trim()
		}
	}
}

func (l *similarIDs) distance(id string) (distance int, ok bool) {
	switch {
	case l.text == "":
		return 0, false
	case strings.Contains(id, l.text):
		return 0, true
	case l.name != "" && strings.Contains(id, l.name):
		return 1, true
	}
	if max(len(id)-len(l.text), len(l.text)-len(id)) <= l.maxDistance {
		if d := enum.EditDistance(id, l.text); d <= l.maxDistance {
			return 1 + d, true
		}
	}
	return folderDistance, l.folder != "" && strings.HasPrefix(id, l.folder)
}

// trim keeps as many ids as are wanted.
func (l *similarIDs) trim() {
	slices.SortFunc(l.found, func(a, b similarID) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	l.found = l.found[:min(l.limit, len(l.found))]
}

func (l *similarIDs) ids() []string {
	l.trim()
	out := make([]string, len(l.found))
	for i, k := range l.found {
		out[i] = k.id
	}
	return out
}
